package ledger

import (
	"encoding/binary"
	"fmt"
)

// RefundSums are sums over everything that gives one received payment back: refunds, and
// what special-return cases hold of it. Every record that changes a sum contains them, in
// their state after the record. Amounts are base units.
type RefundSums struct {
	Original TxID   `cbor:"1,keyasint"`           // transaction id of the received payment
	Amount   Amount `cbor:"2,keyasint"`           // of the received payment, without the fee taken off
	Settled  Amount `cbor:"3,keyasint,omitempty"` // refunds that have settled
	InFlight Amount `cbor:"4,keyasint,omitempty"` // refunds without a final status
	Held     Amount `cbor:"5,keyasint,omitempty"` // what cases hold
	Excess   Amount `cbor:"6,keyasint,omitempty"` // the most by which late settlements made the sums exceed Amount; while they do, cases hold nothing
}

// Left is the part of the payment that a new refund or case may still claim; never below
// zero.
func (s *RefundSums) Left() Amount { return max(0, s.Amount-s.Settled-s.InFlight-s.Held) }

// check returns an error where more would go back than was received, or a sum is below
// zero.
func (s *RefundSums) check() error {
	switch {
	case s.Settled < 0 || s.InFlight < 0 || s.Held < 0 || s.Excess < 0:
		return fmt.Errorf("a sum of refunds below zero: %+v", *s)
	case s.Settled+s.InFlight+s.Held > s.Amount+s.Excess, s.Held > 0 && s.Settled+s.InFlight+s.Held > s.Amount:
		return fmt.Errorf("more refunded and held than was received: %+v", *s)
	}
	return nil
}

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
	if err := before.check(); err != nil {
		return fmt.Errorf("before it: %w", err)
	}
	return s.check()
}

// SumsBefore derives what the record's refund sums, which must not be nil, were before the
// record. Excess is as after the record.
func (r *Record) SumsBefore() RefundSums {
	s := *r.Sums
	switch r.Kind {
	case RefundHeld:
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

// RefundSumsKey is the key of the row with the refund sums of one of an account's received
// payments.
func RefundSumsKey(a AccountID, original TxID) []byte {
	return append(accountKey(rowRefunds, a, 16), original[:]...)
}

// RefundSumsOf is the key range of the refund sums of all of an account's received payments.
func RefundSumsOf(a AccountID) (lo, hi []byte) { return accountRange(rowRefunds, a) }

// RefundSumsOriginal reads the payment's transaction id from the key of its refund sums.
func RefundSumsOriginal(k []byte) (TxID, error) {
	if len(k) != 1+8+16 {
		return TxID{}, shortRow("refund sums key", k)
	}
	return TxID(k[9:]), nil
}

const refundSumsBytes = 5 * 8

func (s *RefundSums) encode() []byte {
	b := make([]byte, 0, refundSumsBytes)
	for _, n := range [...]Amount{s.Amount, s.Settled, s.InFlight, s.Held, s.Excess} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return b
}

// DecodeRefundSums decodes the row with the refund sums of a received payment.
func DecodeRefundSums(original TxID, b []byte) (RefundSums, error) {
	if len(b) != refundSumsBytes {
		return RefundSums{}, shortRow("refund sums", b)
	}
	at := func(i int) Amount { return Amount(binary.BigEndian.Uint64(b[8*i:])) }
	return RefundSums{Original: original, Amount: at(0), Settled: at(1), InFlight: at(2), Held: at(3), Excess: at(4)}, nil
}

// sumsRow writes the refund sums that a record contains.
func sumsRow(rows []Row, r *Record) []Row {
	return append(rows, Row{RefundSumsKey(r.Account, r.Sums.Original), r.Sums.encode()})
}
