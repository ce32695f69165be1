package ledger

import "fmt"

// resumed reads the facts about a case that an operator lets go on after a restore: the case,
// the cases that hold money of its payment, and what the account knows of each return that the
// scheme names.
func (g *gathering) resumed(f *Facts, c *ResumeCase) error {
	if err := g.caseByID(f, c.ID); err != nil || f.Case == nil {
		return err
	}
	var err error
	if f.Rivals, err = g.holdersOf(&f.Sums); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, r := range c.Returned {
		found := FoundReturn{Returned: r, Foreign: seen[r.ID.String()] || seen[r.ReturnID]}
		seen[r.ID.String()], seen[r.ReturnID] = true, true
		if found.Tx, err = g.transfer(r.ID, r.ReturnID); err != nil {
			return fmt.Errorf("return %s: %w", r.ReturnID, err)
		}
		if t := found.Tx; t == nil {
			var taken bool
			_, taken, err = g.Row(EndToEndKey(r.ReturnID))
			found.Foreign = found.Foreign || taken
		} else if t.Kind != TxRefund || t.Refund.Original != f.Case.Original || t.EndToEnd != r.ReturnID || t.Amount != r.Amount {
			found.Foreign, found.Tx = true, nil
		}
		if err != nil {
			return fmt.Errorf("return %s: %w", r.ReturnID, err)
		}
		if found.Tx != nil {
			if found.Counted, err = g.counted(found.Tx); err != nil {
				return err
			}
		}
		f.Found = append(f.Found, found)
	}
	f.Unnamed, err = g.unnamed(f)
	return err
}

// unnamed finds a refund of the case's payment that was made before the acceptance of the gap, is
// in flight, and is not among the returns that the scheme has; nil: there is none.
func (g *gathering) unnamed(f *Facts) (found *Transaction, err error) {
	left := f.Sums.InFlight
	named := map[TxID]bool{}
	for _, r := range f.Found {
		if r.Tx != nil && r.Tx.Status.InFlight() {
			left -= r.Tx.Amount
			named[r.Tx.ID] = true
		}
	}
	if left <= 0 { // the scheme has all
		return nil, nil
	}
	visit := func(t *Transaction) bool {
		if !named[t.ID] {
			found = t
		}
		return found == nil
	}
	lo, _ := OpenOf(g.account.ID)
	hi := OpenKey(g.account.ID, NewTxID(g.stamp.Terms.GapEnd+1, [10]byte{}))
	if err = g.accepted(lo, hi, f.Case.Original, visit); err == nil && found == nil {
		err = g.restoredHolds(f.Case.Original, visit)
	}
	return found, err
}

// mostOrphanAfter is the longest Terms.OrphanAfter, in ms, that an engine from before a restore is
// taken to have had.
const mostOrphanAfter = Millis(24 * 60 * 60 * 1000)

// restoredHolds visits the refunds of a payment that were made before the acceptance of the gap and
// that the scheme has not accepted yet, until visit returns false. Only their due rows lead to them,
// among those of all accounts: due until Terms.OrphanAfter after the gap.
func (g *gathering) restoredHolds(original TxID, visit func(*Transaction) bool) error {
	gapEnd := g.stamp.Terms.GapEnd
	lo, hi := DueRange(DueTransfer, 0, gapEnd+max(g.stamp.Terms.OrphanAfter, mostOrphanAfter)+1)
	return g.Scan(lo, hi, func(k, v []byte) (bool, error) {
		d, err := DecodeDue(k, v)
		if err != nil || d.Account != g.account.ID || TxID(d.ID).Time() > gapEnd {
			return err == nil, err
		}
		t, err := g.transaction(d.Account, d.Seq)
		if err != nil || t == nil || t.Kind != TxRefund || t.Refund.Original != original || t.Status != StatusHeld {
			return err == nil, err
		}
		return visit(t), nil
	})
}
