package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"pixd/cmd/terminal"

	"github.com/jedib0t/go-pretty/v6/table"
)

// delivery is a delivery of a webhook in the API's answer.
type delivery struct {
	ID        string
	Account   string `json:"account_id"`
	Webhook   string `json:"webhook_id"`
	Event     string `json:"event_id"`
	Type      string
	Sequence  uint64
	Status    string
	CreatedAt string  `json:"created_at"`
	NextAt    *string `json:"next_attempt_at"`
	Attempts  []attempt
}

// attempt is one attempt to deliver a webhook.
type attempt struct {
	At       string
	Code     *int    `json:"status_code"` // nil: no answer came
	Error    *string // nil: an answer came
	Duration int64   `json:"duration_ms"`
}

// result says what came of an attempt: the answer's HTTP status, or why there was none.
func (a *attempt) result() string {
	var parts []string
	if a.Code != nil {
		parts = append(parts, strconv.Itoa(*a.Code))
	}
	if a.Error != nil {
		parts = append(parts, terminal.Plain(*a.Error))
	}
	return cmp.Or(strings.Join(parts, " "), "no answer")
}

func (d *delivery) facts() string {
	all := []fact{
		{"delivery", terminal.Plain(d.ID)},
		{"account", terminal.Plain(d.Account)},
		{"subscription", terminal.Plain(d.Webhook)},
		{"event", terminal.Plain(d.Event)},
		{"type", terminal.Plain(d.Type)},
		{"sequence", strconv.FormatUint(d.Sequence, 10)},
		{"status", terminal.Plain(d.Status)},
		{"created", moment(d.CreatedAt)},
		{"next attempt", none(d.NextAt)},
	}
	for i := range d.Attempts {
		a := &d.Attempts[i]
		all = append(all, fact{fmt.Sprintf("attempt %d", i+1), fmt.Sprintf("%s, %d ms: %s", moment(a.At), a.Duration, a.result())})
	}
	return facts(all)
}

// none shows a time, or a dash for nil.
func none(at *string) string {
	if at == nil {
		return "–"
	}
	return moment(*at)
}

const (
	longestURL    = 60 // characters of a URL in a table
	longestResult = 60 // characters of an attempt's result in a table
)

func deliveries(all []delivery) string {
	if len(all) == 0 {
		return "no deliveries\n"
	}
	t := terminal.NewTable()
	t.AppendHeader(table.Row{"delivery", "type", "status", "created", "next attempt", "attempts", "last result"})
	terminal.RightAligned(t, "attempts")
	for i := range all {
		d := &all[i]
		last := "–"
		if n := len(d.Attempts); n > 0 {
			last = cut(d.Attempts[n-1].result(), longestResult)
		}
		t.AppendRow(table.Row{terminal.Plain(d.ID), terminal.Plain(d.Type), terminal.Plain(d.Status), moment(d.CreatedAt), none(d.NextAt), len(d.Attempts), last})
	}
	return t.Render() + "\n"
}

// subscription is a webhook subscription in the API's answer.
type subscription struct {
	ID            string
	Account       string `json:"account_id"`
	URL           string
	Events        []string
	Active        bool
	Removed       bool
	CreatedAt     string `json:"created_at"`
	Pending, Dead uint64 // number of deliveries
}

func (s *subscription) state() string {
	switch {
	case s.Removed:
		return "removed"
	case s.Active:
		return "active"
	}
	return "stopped"
}

func subscriptions(all []subscription) string {
	if len(all) == 0 {
		return "no subscriptions\n"
	}
	t := terminal.NewTable()
	t.AppendHeader(table.Row{"subscription", "account", "state", "pending", "dead", "created", "url", "events"})
	terminal.RightAligned(t, "pending", "dead")
	for i := range all {
		s := &all[i]
		t.AppendRow(table.Row{
			terminal.Plain(s.ID), terminal.Plain(s.Account), s.state(), s.Pending, s.Dead, moment(s.CreatedAt), cut(terminal.Plain(s.URL), longestURL), terminal.Plain(strings.Join(s.Events, ",")),
		})
	}
	return t.Render() + "\n"
}
