package recordjson

import (
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

func (l *line) specialReturn(c *ledger.Case) {
	l.add("id", c.ID)
	l.add("ordinal", c.Ordinal)
	l.add("infraction_id", c.Infraction)
	l.original(c.Original, pix.TxReceipt)
	l.add("original_end_to_end_id", c.EndToEnd)
	l.add("amount", c.Amount)
	l.add("held", c.Held)
	l.add("covered", c.Covered)
	l.add("refunded", c.Refunded)
	l.add("situation", c.Situation)
	said(l, "status", c.Status, lastCaseStatus)
	said(l, "result", c.Result, lastResult)
	l.add("details", c.Details)
	optional(l, "defense", c.Defense, func(d *ledger.Defense) {
		l.add("justification", d.Justification)
		said(l, "result", d.Result, lastResult)
		l.add("contact", d.Contact)
		l.add("submitted_at", d.SubmittedAt)
	})
	l.add("opened_at", c.OpenedAt)
	l.add("deadline_at", c.DeadlineAt)
	l.add("analysis_due_at", c.AnalysisAt)
	l.add("closed_at", c.ClosedAt)
	l.add("release_at", c.ReleaseAt)
	l.add("due_at", c.DueAt)
	l.add("stopped", c.Stopped)
	l.add("doubted", c.Doubted)
	l.add("short", c.Short)
	l.add("parts", c.Parts)
	l.add("operator", c.Operator)
	l.add("unsure_until", c.Unsure)
	l.add("epoch", c.Epoch)
	l.add("awaits_operator", c.Awaits)
}

func (l *line) subscription(s *ledger.Subscription) {
	l.add("id", s.ID)
	l.add(urlName, masked(s.URL))
	l.bits("events", uint32(s.Events), func(i int) string { return nameOf(pix.EventKind(i), lastEvent) })
	l.secret("secret", len(s.Secret) > 0)
	word(l, "status", s.Status, subscriptionStatuses[:])
	l.add("created_at", s.CreatedAt)
}

// bits writes a set as the list of its members; of returns the name of a bit's member.
func (l *line) bits(name string, set uint32, of func(bit int) string) {
	var all []string
	for bit := range 32 {
		if set>>bit&1 == 1 {
			all = append(all, of(bit))
		}
	}
	l.texts(name, all)
}
