package ledger

import (
	"fmt"

	"pixd/actors/pix"
)

// Follows checks that a record may come after before, the previous record about the same
// transaction or case (nil: there is none). Both records must be about the same, and the
// change of status must be legal. A record about neither may follow any record.
func (r *Record) Follows(before *Record) error {
	if r.Case != nil {
		return r.followsCase(before)
	}
	if r.Tx == nil {
		return nil
	}
	var from pix.TxStatus
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

// followsCase is Follows for a record about a case. It also checks that the record names
// what the case held and lacked, what was owed for it and when it was due before the record:
// totals and rows are computed from these.
func (r *Record) followsCase(before *Record) error {
	was := state{}
	switch {
	case (before == nil) != (r.Prev == 0):
		return fmt.Errorf("ledger: record %d of %v: names record %d as the one before it", r.Seq, r.Account, r.Prev)
	case before == nil:
	case before.Account != r.Account || before.Seq != r.Prev || before.Case == nil || before.Case.ID != r.Case.ID || before.Case.Ordinal != r.Case.Ordinal:
		return fmt.Errorf("ledger: record %d of %v: record %d, which it names as the one before it, is not about %v",
			r.Seq, r.Account, r.Prev, r.Case.ID)
	default:
		was = before.Case.was
	}
	if now := (state{was.status, r.HeldWas, r.OwedWas, r.ShortWas, r.DueWas}); now != was {
		return fmt.Errorf("ledger: record %d of %v: %+v before it, and not %+v", r.Seq, r.Account, was, now)
	}
	if err := caseTransition(r.Kind, was.status, r.Case.Status); err != nil {
		return fmt.Errorf("ledger: record %d of %v: %w", r.Seq, r.Account, err)
	}
	return nil
}
