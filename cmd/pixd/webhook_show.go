package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"pixd/httpapi/admin"
)

// attempted says what came of an attempt: the answer's HTTP status, or why there was none.
func attempted(a *admin.Attempt) string {
	var parts []string
	if a.Status != nil {
		parts = append(parts, strconv.Itoa(*a.Status))
	}
	if a.Err != nil {
		parts = append(parts, *a.Err)
	}
	return cmp.Or(strings.Join(parts, " "), "no answer")
}

// nextAttempt says when a delivery is attempted next.
func nextAttempt(d *admin.Delivery) string {
	if d.Held {
		return "none before pixd webhook retry"
	}
	return orElse(d.Next, "–", moment)
}

var printDelivery = printing("something else", deliveryFacts)

func deliveryFacts(d *admin.Delivery) string {
	all := []fact{
		{"delivery", d.ID},
		{"account", d.Account},
		{"subscription", d.Webhook},
		{"event", d.Event},
		{"type", d.Type},
		{"sequence", strconv.FormatUint(d.Sequence, 10)},
		{"status", d.Status},
		{"created", moment(d.CreatedAt)},
		{"next attempt", nextAttempt(d)},
	}
	if d.Reason != nil {
		all = append(all, fact{"reason", *d.Reason})
	}
	for i := range d.Attempts {
		a := &d.Attempts[i]
		all = append(all, fact{fmt.Sprintf("attempt %d", i+1), fmt.Sprintf("%s, %d ms: %s", moment(a.At), a.Duration, attempted(a))})
	}
	return facts(all)
}

const (
	longestURL    = 60 // characters of a URL in a table
	longestResult = 60 // characters of an attempt's result in a table
)

func deliveries(all []admin.Delivery) string {
	if len(all) == 0 {
		return "no deliveries\n"
	}
	columns := []string{"delivery", "account", "subscription", "type", "status", "created", "next attempt", ">attempts", "last result"}
	return rows(columns, all, func(d *admin.Delivery) table.Row {
		last := "–"
		if n := len(d.Attempts); n > 0 {
			last = cut(attempted(&d.Attempts[n-1]), longestResult)
		}
		return table.Row{d.ID, d.Account, d.Webhook, d.Type, d.Status, moment(d.CreatedAt), nextAttempt(d), len(d.Attempts), last}
	})
}

func subscriptionState(s *admin.Webhook) string {
	switch {
	case s.Removed:
		return "removed"
	case s.Active:
		return "active"
	}
	return "stopped"
}

var printSubscription = printing("something else", func(s *admin.Webhook) string {
	return facts([]fact{
		{"subscription", s.ID},
		{"account", s.Account},
		{"state", subscriptionState(s)},
		{"url", s.URL},
		{"events", strings.Join(s.Events, ",")},
		{"pending", fmt.Sprint(s.Pending)},
		{"dead", fmt.Sprint(s.Dead)},
		{"created", moment(s.CreatedAt)},
	})
})

func subscriptions(all []admin.Webhook) string {
	if len(all) == 0 {
		return "no subscriptions\n"
	}
	columns := []string{"subscription", "account", "state", ">pending", ">dead", "created", "url", "events"}
	return rows(columns, all, func(s *admin.Webhook) table.Row {
		return table.Row{
			s.ID, s.Account, subscriptionState(s), s.Pending, s.Dead, moment(s.CreatedAt), cut(s.URL, longestURL), strings.Join(s.Events, ","),
		}
	})
}
