package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

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
		parts = append(parts, *a.Error)
	}
	return cmp.Or(strings.Join(parts, " "), "no answer")
}

var printDelivery = printing("something else", (*delivery).facts)

func (d *delivery) facts() string {
	all := []fact{
		{"delivery", d.ID},
		{"account", d.Account},
		{"subscription", d.Webhook},
		{"event", d.Event},
		{"type", d.Type},
		{"sequence", strconv.FormatUint(d.Sequence, 10)},
		{"status", d.Status},
		{"created", moment(d.CreatedAt)},
		{"next attempt", orElse(d.NextAt, "–", moment)},
	}
	for i := range d.Attempts {
		a := &d.Attempts[i]
		all = append(all, fact{fmt.Sprintf("attempt %d", i+1), fmt.Sprintf("%s, %d ms: %s", moment(a.At), a.Duration, a.result())})
	}
	return facts(all)
}

const (
	longestURL    = 60 // characters of a URL in a table
	longestResult = 60 // characters of an attempt's result in a table
)

func deliveries(all []delivery) string {
	if len(all) == 0 {
		return "no deliveries\n"
	}
	columns := []string{"delivery", "type", "status", "created", "next attempt", ">attempts", "last result"}
	return rows(columns, all, func(d *delivery) table.Row {
		last := "–"
		if n := len(d.Attempts); n > 0 {
			last = cut(d.Attempts[n-1].result(), longestResult)
		}
		return table.Row{d.ID, d.Type, d.Status, moment(d.CreatedAt), orElse(d.NextAt, "–", moment), len(d.Attempts), last}
	})
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
	columns := []string{"subscription", "account", "state", ">pending", ">dead", "created", "url", "events"}
	return rows(columns, all, func(s *subscription) table.Row {
		return table.Row{
			s.ID, s.Account, s.state(), s.Pending, s.Dead, moment(s.CreatedAt), cut(s.URL, longestURL), strings.Join(s.Events, ","),
		}
	})
}
