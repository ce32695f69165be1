package ledger

import (
	"fmt"
	"slices"
)

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
	named := map[TxID]bool{}
	for _, r := range f.Found {
		if r.Tx != nil {
			named[r.Tx.ID] = true
		}
	}
	err = g.onTheirWay(&f.Sums, func(t *Transaction) {
		old := t.ID.Time() <= g.stamp.Terms.GapEnd && !named[t.ID]
		if old && (found == nil || slices.Compare(t.ID[:], found.ID[:]) < 0) {
			found = t
		}
	})
	return found, err
}
