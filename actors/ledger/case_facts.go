package ledger

import (
	"fmt"
	"slices"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// caseFacts are what Gather has read about refunds and special-return cases, whichever command it
// was for: a decision may free money or a part of a payment, and cases then take it.
type caseFacts struct {
	Case     *Case             // the case of the command, or of the refund to resolve; nil: there is none
	Original *Transaction      // the received payment that Case is about
	Sums     layout.RefundSums // refund sums of Original, or of the payment that a refund gives back

	// Holding are the account's cases that hold money, the oldest first: at least as many as
	// the account's money may cover, up to the newest that the decision is about or that is
	// owed refunds. Nil where the decision does not need them.
	Holding []layout.Holding
	Owing   []Owing // of Holding, those cases for which the engine makes refunds
	// Rivals are the cases that hold money of the payment that a refund gives back, the
	// oldest first; gathered where a refund is requested, or settles that had failed.
	Rivals []*Case
	// Older is, for each of Rivals, what older cases of the account hold.
	Older []pix.Amount
	// Lacking are the cases that dispute more of the payment than they hold, the oldest
	// first; gathered where the command may free a part of the payment.
	Lacking []*Case
	// Refunding are the cases towards which refunds of the payment count that are in flight; gathered where
	// the scheme has a refund for a case that the journal lacks.
	Refunding []*Case
	// Counted are the cases that Transaction.Shares of the refund to resolve names, in that order.
	Counted []*Case
	// Beside is, for each of Counted, what other refunds in flight count towards it; nil where it has
	// room for all.
	Beside []pix.Amount
}

// stakes are what a command may mean for special-return cases. They decide which cases Gather reads.
type stakes struct {
	none     bool       // the command never adds a record that leaves more money for refunds
	frees    bool       // it may free a part of a received payment, which other cases of the payment then hold
	finds    bool       // it may book refunds that the journal lacks, which lowers the balance
	incoming pix.Amount // what it may add to the balance
	released pix.Amount // what it may release of a payout's or refund's hold
}

// needsNoFacts is gather for a command whose decision needs no facts and leaves no more money for refunds.
func (g *gathering) needsNoFacts(c decider) (decider, error) {
	g.stakes.none = true
	return c, nil
}

// gatherCases reads the cases that the decision may change beside those that the command names.
func (g *gathering) gatherCases() error {
	if g.stakes.none {
		return nil
	}
	if g.stakes.frees {
		if err := g.readLacking(); err != nil {
			return err
		}
	}
	if !g.needsHoldings() {
		return nil
	}
	if err := g.readHoldings(); err != nil {
		return err
	}
	return g.readOwing()
}

// originalIs takes the received payment of a case and its refund sums into the facts.
func (g *gathering) originalIs(t *Transaction) (err error) {
	g.cases.Original = t
	g.cases.Sums, err = g.readSums(t.ID, t.Amount)
	return err
}

// holdersOf finds the cases that hold money of one payment, the oldest first. No row leads
// from a payment to them: only a refund of a payment that a case holds asks.
func (g *gathering) holdersOf(s *layout.RefundSums) (all []*Case, err error) {
	left, older := s.Held, pix.Amount(0)
	g.cases.Older = nil
	lo, hi := layout.HoldingsOf(g.account.ID)
	err = g.Own(lo, hi, func(k, v []byte) (bool, error) {
		h, err := layout.DecodeHolding(k, v)
		if err != nil {
			return false, err
		}
		c, err := g.caseAt(h.Ordinal)
		if err == nil && c.Original == s.Original {
			all, g.cases.Older = append(all, c), append(g.cases.Older, older)
			left -= c.Held
		}
		older += h.Held
		return left > 0, err
	})
	if err != nil {
		return nil, fmt.Errorf("cases of %v that hold money: %w", s.Original, err)
	}
	return all, nil
}

// caseWith reads the account's case with that id; nil where it has none.
func (g *gathering) caseWith(id pix.CaseID) (*Case, error) {
	row, ok, err := layout.Find(g, layout.CaseIDKey(id), layout.DecodeCaseIDRow)
	if err != nil || !ok || row.Account != g.account.ID {
		return nil, err
	}
	return g.caseAt(row.Ordinal)
}

// caseAt reads the account's case with that ordinal, which must exist.
func (g *gathering) caseAt(ordinal uint64) (*Case, error) {
	row, ok, err := layout.Find(g, layout.CaseKey(g.account.ID, ordinal), layout.DecodeCaseRow)
	if err == nil && !ok {
		err = fmt.Errorf("case %d of %v has no row", ordinal, g.account.ID)
	}
	if err != nil {
		return nil, err
	}
	r, err := g.Record(g.account.ID, row.Seq)
	if err != nil {
		return nil, err
	}
	if r.Case == nil || r.Case.Ordinal != ordinal {
		return nil, fmt.Errorf("record %d of %v is not about case %d", row.Seq, g.account.ID, ordinal)
	}
	return r.Case, nil
}

// caseByID reads the case that a command names and, where there is one, its payment.
func (g *gathering) caseByID(id pix.CaseID) (err error) {
	if g.cases.Case, err = g.caseWith(id); err != nil || g.cases.Case == nil {
		return err
	}
	return g.readPayment()
}

// readPayment reads the payment of the case in the facts, which must exist.
func (g *gathering) readPayment() error {
	t, err := g.paymentOf(g.cases.Case)
	if err != nil {
		return err
	}
	return g.originalIs(t)
}

// paymentOf reads the payment of a case, which must exist.
func (g *gathering) paymentOf(k *Case) (*Transaction, error) {
	t, err := g.shownByID(k.Original.Short())
	if err == nil && t == nil {
		err = fmt.Errorf("the payment of %v has no row", k.ID)
	}
	return t, err
}

// readLacking reads the cases that dispute more of the payment in question than they hold and, where
// the holds of any cases may grow, the payment.
func (g *gathering) readLacking() error {
	f := &g.cases
	original := f.Sums.Original
	if original == (pix.TxID{}) {
		return nil
	}
	lo, hi := layout.LackingOf(g.account.ID, original)
	err := g.Own(lo, hi, func(k, _ []byte) (bool, error) {
		ordinal, err := layout.LackingOrdinal(k)
		if err != nil {
			return false, err
		}
		c, err := g.caseAt(ordinal)
		f.Lacking = append(f.Lacking, c)
		return true, err
	})
	if err == nil && len(f.Lacking)+len(f.Counted) > 0 && f.Original == nil {
		f.Original, err = g.shownByID(original.Short())
	}
	if err != nil {
		return fmt.Errorf("cases of %v that lack money: %w", original, err)
	}
	return nil
}

// needsHoldings tells whether the decision needs to know which cases hold money. Most commands do not:
// only where refunds are owed may more money mean a refund, and only where there is too little money for
// all cases does it matter which case is older.
func (g *gathering) needsHoldings() bool {
	t, f := &g.account.Totals, &g.cases
	short := f.Case != nil && t.MEDHeld > t.Balance-t.Held
	raises := g.stakes.finds || g.stakes.frees && len(f.Lacking)+len(f.Counted) > 0 || f.Case != nil && f.Case.Lacks() > 0 && f.Sums.Left() > 0
	if !short && t.Owed == 0 && !raises {
		return false
	}
	return f.Case != nil || raises || !g.unreachable()
}

// unreachable tells whether the command leaves no money for what cases are owed, because older
// cases hold all that there can be. Many commands may find the same cases in the way.
func (g *gathering) unreachable() bool {
	t := &g.account.Totals
	return t.Balance-t.Held+g.stakes.incoming+g.stakes.released <= g.OwedBehind()
}

// readHoldings reads which cases hold money, the oldest first.
func (g *gathering) readHoldings() error {
	t, f := &g.account.Totals, &g.cases
	newest := uint64(0) // ordinal of the newest case that the decision may be about
	left, owed := t.Balance+g.stakes.incoming, t.Owed
	if f.Case != nil {
		newest = f.Case.Ordinal
		left += f.Case.Held // the command may release this hold, and newer cases then get the money
	}
	for _, k := range slices.Concat(f.Lacking, f.Counted) { // a decision may raise their holds
		newest = max(newest, k.Ordinal)
	}
	f.Holding = []layout.Holding{}
	behind, reached := pix.Amount(0), false
	lo, hi := layout.HoldingsOf(g.account.ID)
	err := g.Own(lo, hi, func(k, v []byte) (bool, error) {
		h, err := layout.DecodeHolding(k, v)
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
	return nil
}

// readOwing reads those of the cases that hold money for which refunds must be made, and what a refund
// needs.
func (g *gathering) readOwing() error {
	for _, h := range g.cases.Holding {
		if !h.Owed {
			continue
		}
		if len(g.cases.Owing) == maxRefunds {
			return nil
		}
		k, err := g.caseAt(h.Ordinal)
		if err != nil {
			return err
		}
		t, err := g.paymentOf(k)
		if err != nil {
			return err
		}
		sums, err := g.readSums(t.ID, t.Amount)
		if err != nil {
			return err
		}
		g.cases.Owing = append(g.cases.Owing, Owing{k, originalOf(t), sums})
	}
	return nil
}
