package ledger

import "fmt"

// Follows checks that a record may come after before, the previous record about the same
// transaction (nil: there is none). Both records must be about one transaction, and the
// change of status must be legal. A record about no transaction may follow any record.
func (r *Record) Follows(before *Record) error {
	if r.Tx == nil {
		return nil
	}
	var from TxStatus
	switch {
	case (before == nil) != (r.Prev == 0):
		return fmt.Errorf("ledger: record %d of %v: names record %d as the one before it", r.Seq, r.Account, r.Prev)
	case before == nil:
	case before.Account != r.Account || before.Seq != r.Prev || before.Tx == nil || before.Tx.ID != r.Tx.ID:
		return fmt.Errorf("ledger: record %d of %v: record %d, which it names as the one before it, is not about %v",
			r.Seq, r.Account, r.Prev, r.Tx.ID)
	default:
		from = before.Tx.Status
	}
	if err := transition(r.Kind, from, r.Tx.Status); err != nil {
		return fmt.Errorf("ledger: record %d of %v: %w", r.Seq, r.Account, err)
	}
	return nil
}
