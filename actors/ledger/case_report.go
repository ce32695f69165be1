package ledger

import (
	"fmt"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// OpenCase opens a special-return case (MED): a payer has reported a payment that the
// account received.
type OpenCase struct {
	Infraction string     // the scheme's id of the report; a second report under the same id opens nothing
	EndToEnd   string     // end-to-end id of the payment
	Amount     pix.Amount // the disputed amount, base units, positive
	Situation  string     // the directory's word for the fraud
}

// CancelCase withdraws the report that opened a case.
type CancelCase struct {
	Infraction string
	EndToEnd   string
}

// returnDays is the number of days after a payment within which the scheme takes its return.
// Source: PIX regulation, special return (MED), and DT05 of the SPI catalogue.
const returnDays = 90

// returnEnd is engine time until which the scheme takes returns of a received payment. It
// counts from the scheme's date of the payment where the payment was told a day late or more.
func returnEnd(t *Transaction, now pix.Reading) pix.Millis {
	if t.PaidAt > 0 {
		return t.PaidAt + returnDays*day
	}
	return now.Since(max(t.BookedAt, t.ID.Time()), t.Doubted) + returnDays*day
}

// reportFacts are what the decision about a report needs beside the case that it opened before and
// the payment that it is about.
type reportFacts struct {
	OpenCase
	elsewhere bool // another account has a case for the same report
}

// gather reads the payment, which the account must have received, and the case that the report
// opened before.
func (c OpenCase) gather(g *gathering) (decider, error) {
	t, err := g.received(c.EndToEnd)
	if err == nil && (t == nil || t.Kind != pix.TxCharge && t.Kind != pix.TxReceipt) {
		err = ErrUnknownTransfer
	}
	if err != nil {
		return nil, err
	}
	if err := g.originalIs(t); err != nil {
		return nil, err
	}
	f := &reportFacts{OpenCase: c}
	lo, hi := layout.InfractionRange(c.Infraction)
	err = g.Scan(lo, hi, func(k, _ []byte) (bool, error) {
		f.elsewhere = f.elsewhere || string(k) != string(layout.InfractionKey(c.Infraction, g.account.ID))
		return !f.elsewhere, nil
	})
	if err == nil {
		g.cases.Case, err = g.caseOfReport(c.Infraction)
	}
	return f, err
}

// decide opens a case and holds the disputed amount at once, as far as it was not refunded
// or held before, also where there is less money. A report under an id that was told before
// opens nothing.
func (c *reportFacts) decide(d *draft) Decision {
	f := &d.facts
	if first := f.Case; first != nil || c.elsewhere {
		if c.elsewhere || first.EndToEnd != c.EndToEnd {
			d.alert(AlertContradiction, f.Original, "the scheme reports it under "+printable(c.Infraction)+", which is the report of another payment; nothing is changed")
		}
		return d.unchangedCase(first)
	}
	o, sums, terms, now := f.Original, f.Sums, &d.stamp.Terms, d.stamp.Clock
	if d.stamp.Doubted {
		now = d.stamp.Time // the later of the two times that may be right
	}
	k := Case{
		ID: pix.CaseID(d.stamp.ID), Ordinal: d.totals.Cases + 1, Infraction: c.Infraction, Original: o.ID, EndToEnd: o.EndToEnd,
		Amount: c.Amount, Held: min(c.Amount, sums.Left()), Situation: c.Situation, Status: pix.CaseOpen,
		OpenedAt: d.stamp.Time, DeadlineAt: now + terms.MEDDeadline, AnalysisAt: now + terms.MEDAnalysis,
		ReleaseAt: returnEnd(o, d.stamp.Reading), Doubted: d.stamp.Doubted, Epoch: terms.epochOf(o),
	}
	k.DueAt = k.DeadlineAt
	sums.Held += k.Held
	if r := d.addCase(CaseOpened, &k, &sums, pix.EventRefundRequested); r != nil {
		return refuseWith(r)
	}
	return d.doneCase(&k)
}

// gather reads the case that the report opened, and the case's payment. A report that opened
// no case yet is unknown: its own notice comes again.
func (c CancelCase) gather(g *gathering) (decider, error) {
	g.stakes.frees = true
	var err error
	if g.cases.Case, err = g.caseOfReport(c.Infraction); err == nil && g.cases.Case == nil {
		err = ErrUnknownTransfer
	}
	if err != nil {
		return nil, err
	}
	return c, g.readPayment()
}

// caseOfReport reads the case that a report opened in this account; nil where there is none.
func (g *gathering) caseOfReport(infraction string) (*Case, error) {
	ordinal, ok, err := layout.Find(g, layout.InfractionKey(infraction, g.account.ID), layout.DecodeInfractionRow)
	if err != nil || !ok {
		return nil, err
	}
	k, err := g.caseAt(ordinal)
	if err == nil && k.Infraction != infraction {
		err = fmt.Errorf("case %d of %v is of another report", k.Ordinal, g.account.ID)
	}
	return k, err
}

// decide ends a case whose report was withdrawn, and releases its hold.
func (c CancelCase) decide(d *draft) Decision {
	k := *d.facts.Case
	switch {
	case k.EndToEnd != c.EndToEnd:
		d.alert(AlertContradiction, d.facts.Original, "the scheme withdraws "+printable(c.Infraction)+" for another payment than it reported; nothing is changed")
		return d.unchangedCase(&k)
	case k.Status == pix.CaseClosed && k.Result == pix.Agreed:
		d.alert(AlertContradiction, d.facts.Original, "the scheme withdraws the report of a case that was closed as agreed; nothing is changed")
		return d.unchangedCase(&k)
	case k.Status.Decided():
		return d.unchangedCase(&k)
	}
	k.Status, k.ClosedAt = pix.CaseCancelled, d.stamp.Time
	d.release(CaseWithdrawn, &k, pix.EventCaseClosed)
	return d.doneCase(&k)
}
