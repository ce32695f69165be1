package ledger

import (
	"fmt"

	"pixd/actors/layout"
)

// checkSums returns an error where the record's refund sums cannot be those of its refund or
// case.
func (r *Record) checkSums() error {
	s := r.Sums
	if s == nil {
		return nil
	}
	if t := r.Tx; t != nil && (s.Original != t.Refund.Original || s.Amount != t.Refund.OriginalAmount) || r.Case != nil && s.Original != r.Case.Original {
		return fmt.Errorf("refund sums of another payment: %+v", *s)
	}
	before := r.SumsBefore()
	if err := before.Check(); err != nil {
		return fmt.Errorf("before it: %w", err)
	}
	return s.Check()
}

// SumsBefore derives what the record's refund sums, which must not be nil, were before the
// record. Excess is as after the record.
func (r *Record) SumsBefore() layout.RefundSums {
	s := *r.Sums
	switch r.Kind {
	case RefundHeld, RefundFoundOpen:
		s.InFlight -= r.Tx.Amount
	case RefundSettled:
		s.InFlight += r.Tx.Amount
		s.Settled -= r.Tx.Amount
	case RefundFailed:
		s.InFlight += r.Tx.Amount
	case RefundSettledLate, RefundFound:
		s.Settled -= r.Tx.Amount
	default: // about a case
		s.Held += r.HeldWas - r.Case.Held
	}
	return s
}
