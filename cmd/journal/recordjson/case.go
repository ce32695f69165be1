package recordjson

import (
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

func (l *line) specialReturn(c *ledger.Case) {
	if c.ID != (pix.CaseID{}) {
		l.text("id", c.ID.String())
	}
	l.count("ordinal", c.Ordinal)
	l.text("infraction_id", c.Infraction)
	l.original(c.Original, pix.TxReceipt)
	l.text("original_end_to_end_id", c.EndToEnd)
	l.amount("amount", c.Amount)
	l.amount("held", c.Held)
	l.amount("covered", c.Covered)
	l.amount("refunded", c.Refunded)
	l.text("situation", c.Situation)
	said(l, "status", c.Status, lastCaseStatus)
	said(l, "result", c.Result, lastResult)
	l.text("details", c.Details)
	if d := c.Defense; d != nil {
		l.object("defense", func() {
			l.text("justification", d.Justification)
			said(l, "result", d.Result, lastResult)
			l.text("contact", d.Contact)
			l.instant("submitted_at", d.SubmittedAt)
		})
	}
	l.instant("opened_at", c.OpenedAt)
	l.instant("deadline_at", c.DeadlineAt)
	l.instant("analysis_due_at", c.AnalysisAt)
	l.instant("closed_at", c.ClosedAt)
	l.instant("release_at", c.ReleaseAt)
	l.instant("due_at", c.DueAt)
	l.flag("stopped", c.Stopped)
	l.flag("doubted", c.Doubted)
	l.amount("short", c.Short)
	l.count("parts", c.Parts)
	l.text("operator", c.Operator)
	l.instant("unsure_until", c.Unsure)
	l.count("epoch", c.Epoch)
	l.flag("awaits_operator", c.Awaits)
}

func (l *line) subscription(s *ledger.Subscription) {
	if s.ID != (pix.SubscriptionID{}) {
		l.text("id", s.ID.String())
	}
	l.text(urlName, masked(s.URL))
	l.bits("events", uint32(s.Events), func(i int) string { return nameOf(pix.EventKind(i), lastEvent) })
	l.secret("secret", len(s.Secret) > 0)
	word(l, "status", s.Status, subscriptionStatuses[:])
	l.instant("created_at", s.CreatedAt)
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
