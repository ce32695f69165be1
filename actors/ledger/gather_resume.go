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
	return nil
}
