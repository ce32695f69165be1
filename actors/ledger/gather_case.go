package ledger

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// originalIs takes the received payment of a case and its refund sums into the facts.
func (g *gathering) originalIs(f *Facts, t *Transaction) (err error) {
	f.Original = t
	f.Sums, err = g.sums(t.ID, t.Amount)
	return err
}

// holdersOf finds the cases that hold money of one payment, the oldest first. No row leads
// from a payment to them: only a refund of a payment that a case holds asks.
func (g *gathering) holdersOf(s *RefundSums) (all []*Case, err error) {
	left := s.Held
	lo, hi := HoldingsOf(g.account.ID)
	err = g.Own(lo, hi, func(k, _ []byte) (bool, error) {
		ordinal, err := CaseOrdinal(k)
		if err != nil {
			return false, err
		}
		c, err := g.caseAt(ordinal)
		if err == nil && c.Original == s.Original {
			all = append(all, c)
			left -= c.Held
		}
		return left > 0, err
	})
	if err != nil {
		return nil, fmt.Errorf("cases of %v that hold money: %w", s.Original, err)
	}
	return all, nil
}

// caseWith reads the account's case with that id; nil where it has none.
func (g *gathering) caseWith(id CaseID) (*Case, error) {
	row, ok, err := g.Row(CaseIDKey(id))
	if err != nil || !ok {
		return nil, err
	}
	at, err := DecodeCaseIDRow(row)
	if err != nil || at.Account != g.account.ID {
		return nil, err
	}
	return g.caseAt(at.Ordinal)
}

// caseAt reads the account's case with that ordinal, which must exist.
func (g *gathering) caseAt(ordinal uint64) (*Case, error) {
	row, ok, err := g.Row(CaseKey(g.account.ID, ordinal))
	if err == nil && !ok {
		err = fmt.Errorf("case %d of %v has no row", ordinal, g.account.ID)
	}
	if err != nil {
		return nil, err
	}
	at, err := DecodeCaseRow(row)
	if err != nil {
		return nil, err
	}
	r, err := g.Record(g.account.ID, at.Seq)
	if err != nil {
		return nil, err
	}
	if r.Case == nil || r.Case.Ordinal != ordinal {
		return nil, fmt.Errorf("record %d of %v is not about case %d", at.Seq, g.account.ID, ordinal)
	}
	return r.Case, nil
}

// caseByID reads the case that a command names and, where there is one, its payment.
func (g *gathering) caseByID(f *Facts, id CaseID) (err error) {
	if f.Case, err = g.caseWith(id); err != nil || f.Case == nil {
		return err
	}
	return g.payment(f)
}

// payment reads the payment of the case in the facts, which must exist.
func (g *gathering) payment(f *Facts) error {
	t, err := g.shown(f.Case.Original.Short())
	if err == nil && t == nil {
		err = fmt.Errorf("the payment of %v has no row", f.Case.ID)
	}
	if err != nil {
		return err
	}
	return g.originalIs(f, t)
}

// dueCase reads the case of a due task, which must exist.
func (g *gathering) dueCase(f *Facts, id CaseID) error {
	err := g.caseByID(f, id)
	if err == nil && f.Case == nil {
		err = fmt.Errorf("%v is due and has no row", id)
	}
	return err
}

// reported reads the facts about a report: the case that it opened before, else the payment
// that it is about, which the account must have received.
func (g *gathering) reported(f *Facts, c *OpenCase) error {
	t, err := g.received(c.EndToEnd)
	if err != nil {
		return err
	}
	if t == nil || t.Kind != TxCharge && t.Kind != TxReceipt {
		return ErrUnknownTransfer
	}
	if err := g.originalIs(f, t); err != nil {
		return err
	}
	lo, hi := InfractionRange(c.Infraction)
	err = g.Scan(lo, hi, func(k, _ []byte) (bool, error) {
		f.Elsewhere = f.Elsewhere || string(k) != string(InfractionKey(c.Infraction, g.account.ID))
		return !f.Elsewhere, nil
	})
	if err != nil {
		return err
	}
	f.Case, err = g.caseOfReport(c.Infraction)
	return err
}

// withdrawn reads the case that a report opened, and the case's payment. A report that opened
// no case yet is unknown: its own notice comes again.
func (g *gathering) withdrawn(f *Facts, infraction string) (err error) {
	if f.Case, err = g.caseOfReport(infraction); err == nil && f.Case == nil {
		err = ErrUnknownTransfer
	}
	if err != nil {
		return err
	}
	return g.payment(f)
}

// caseOfReport reads the case that a report opened in this account; nil where there is none.
func (g *gathering) caseOfReport(infraction string) (*Case, error) {
	row, ok, err := g.Row(InfractionKey(infraction, g.account.ID))
	if err != nil || !ok {
		return nil, err
	}
	if len(row) != 8 {
		return nil, shortRow("infraction", row)
	}
	k, err := g.caseAt(binary.BigEndian.Uint64(row))
	if err == nil && k.Infraction != infraction {
		err = fmt.Errorf("case %d of %v is of another report", k.Ordinal, g.account.ID)
	}
	return k, err
}

// frees tells whether a command may free a part of a received payment, which other cases of
// the payment then hold.
func frees(c Command) bool {
	switch c := c.(type) {
	case CancelCase, CloseCase, ResumeCase:
		return true
	case Attend:
		return c.Kind == DueCase
	case ResolveTransfer:
		return c.Result == TransferIsRejected || c.Result == TransferIsVoided || c.Refusal != RefuseNothing
	}
	return false
}

// lacking reads the cases that dispute more of the payment in question than they hold and, where
// the holds of any cases may grow, the payment.
func (g *gathering) lacking(f *Facts) error {
	original := f.Sums.Original
	if original == (TxID{}) {
		return nil
	}
	lo, hi := LackingOf(g.account.ID, original)
	err := g.Own(lo, hi, func(k, _ []byte) (bool, error) {
		ordinal, err := lackingOrdinal(k)
		if err != nil {
			return false, err
		}
		c, err := g.caseAt(ordinal)
		f.Lacking = append(f.Lacking, c)
		return true, err
	})
	if err == nil && len(f.Lacking)+len(f.Counted) > 0 && f.Original == nil {
		f.Original, err = g.shown(original.Short())
	}
	if err != nil {
		return fmt.Errorf("cases of %v that lack money: %w", original, err)
	}
	return nil
}

// owing reads which cases hold money, oldest first, and the cases for which refunds must be
// made. Most commands need neither: only where refunds are owed may more money mean a refund,
// and only where there is too little money for all cases does it matter which case is older.
func (g *gathering) owing(f *Facts, c Command) error {
	t := &g.account.Totals
	short := f.Case != nil && t.MEDHeld > t.Balance-t.Held
	_, resumes := c.(ResumeCase) // what it finds lowers the balance
	raises := resumes || frees(c) && len(f.Lacking)+len(f.Counted) > 0 || f.Case != nil && f.Case.Lacks() > 0 && f.Sums.Left() > 0
	if !short && t.Owed == 0 && !raises || quiet(c) {
		return nil
	}
	if f.Case == nil && !raises && g.unreachable(f, c) {
		return nil
	}
	newest := uint64(0) // ordinal of the newest case that the decision may be about
	if f.Case != nil {
		newest = f.Case.Ordinal
	}
	for _, k := range slices.Concat(f.Lacking, f.Counted) { // a decision may raise their holds
		newest = max(newest, k.Ordinal)
	}
	left, owed := t.Balance+incoming(c), t.Owed
	if f.Case != nil {
		left += f.Case.Held // the command may release this hold, and newer cases then get the money
	}
	f.Holding = []Holding{}
	behind, reached := Amount(0), false
	lo, hi := HoldingsOf(g.account.ID)
	err := g.Own(lo, hi, func(k, v []byte) (bool, error) {
		h, err := DecodeHolding(k, v)
		if err != nil {
			return false, err
		}
		f.Holding = append(f.Holding, h)
		left -= h.Held
		if h.Owed {
			owed, reached = owed-h.Held, true
		}
		if !reached {
			behind += h.Held
		}
		// Cases that are newer than all that matter need not be read.
		last := owed == 0 && h.Ordinal >= newest
		return left > 0 && !last, nil
	})
	if err != nil {
		return fmt.Errorf("cases that hold money: %w", err)
	}
	if t.Owed > 0 {
		g.NoteOwed(behind)
	}
	for _, h := range f.Holding {
		if !h.Owed {
			continue
		}
		if len(f.Owing) == maxRefunds {
			return nil
		}
		if err := g.owed(f, h.Ordinal); err != nil {
			return err
		}
	}
	return nil
}

// unreachable tells whether the command leaves no money for what cases are owed, because older
// cases hold all that there can be. Many commands may find the same cases in the way.
func (g *gathering) unreachable(f *Facts, c Command) bool {
	left := g.account.Totals.Balance - g.account.Totals.Held + incoming(c)
	if f.Tx != nil {
		left += f.Tx.Amount + f.Tx.Fee // the command may release its hold
	}
	return left <= g.OwedBehind()
}

// owed reads a case for which refunds must be made, and what a refund needs.
func (g *gathering) owed(f *Facts, ordinal uint64) (err error) {
	var of Facts
	if of.Case, err = g.caseAt(ordinal); err != nil {
		return err
	}
	if err = g.payment(&of); err != nil {
		return err
	}
	f.Owing = append(f.Owing, Owing{of.Case, originalOf(of.Original), of.Sums})
	return nil
}

// quiet tells whether a command never adds a record that leaves more money for refunds.
func quiet(c Command) bool {
	switch c.(type) {
	case ReadAccount, Recall, KeepAnswer, ChangeSettings, CreateCharge, Subscribe, EndSubscription:
		return true
	}
	return false
}

// incoming is the amount that a command may add to the balance.
func incoming(c Command) Amount {
	switch c := c.(type) {
	case Credit:
		return c.Amount
	case ReceivePayment:
		return c.Amount
	case ReceiveReturn:
		return c.Amount
	}
	return 0
}
