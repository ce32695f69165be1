package layout

import (
	"encoding/binary"
	"fmt"

	"pixd/actors/pix"
)

// RefundSums are sums over everything that gives one received payment back: refunds, and
// what special-return cases hold of it. Every record that changes a sum contains them, in
// their state after the record. Amounts are base units.
type RefundSums struct {
	Original pix.TxID   `cbor:"1,keyasint"`           // transaction id of the received payment
	Amount   pix.Amount `cbor:"2,keyasint"`           // of the received payment, without the fee taken off
	Settled  pix.Amount `cbor:"3,keyasint,omitempty"` // refunds that have settled
	InFlight pix.Amount `cbor:"4,keyasint,omitempty"` // refunds without a final status
	Held     pix.Amount `cbor:"5,keyasint,omitempty"` // what cases hold
	Excess   pix.Amount `cbor:"6,keyasint,omitempty"` // the most by which late settlements made the sums exceed Amount; while they do, cases hold nothing
}

// Left is the part of the payment that a new refund or case may still claim; never below
// zero.
func (s *RefundSums) Left() pix.Amount { return max(0, s.Amount-s.Settled-s.InFlight-s.Held) }

// Check returns an error where more would go back than was received, or a sum is below
// zero.
func (s *RefundSums) Check() error {
	switch {
	case s.Settled < 0 || s.InFlight < 0 || s.Held < 0 || s.Excess < 0:
		return fmt.Errorf("a sum of refunds below zero: %+v", *s)
	case s.Settled+s.InFlight+s.Held > s.Amount+s.Excess, s.Held > 0 && s.Settled+s.InFlight+s.Held > s.Amount:
		return fmt.Errorf("more refunded and held than was received: %+v", *s)
	}
	return nil
}

// Encode returns the value as it is stored.
func (s *RefundSums) Encode() []byte {
	b := make([]byte, 0, refundSumsBytes)
	for _, n := range [...]pix.Amount{s.Amount, s.Settled, s.InFlight, s.Held, s.Excess} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return b
}

// RefundSumsKey is the key of the row with the refund sums of one of an account's received
// payments.
func RefundSumsKey(a pix.AccountID, original pix.TxID) []byte {
	return append(accountKey(rowRefunds, a, 16), original[:]...)
}

// RefundSumsOf is the key range of the refund sums of all of an account's received payments.
func RefundSumsOf(a pix.AccountID) (lo, hi []byte) { return accountRange(rowRefunds, a) }

// RefundSumsOriginal reads the payment's transaction id from the key of its refund sums.
func RefundSumsOriginal(k []byte) (pix.TxID, error) {
	if len(k) != 1+8+16 {
		return pix.TxID{}, shortRow("refund sums key", k)
	}
	return pix.TxID(k[9:]), nil
}

const refundSumsBytes = 5 * 8

// DecodeRefundSums decodes the row with the refund sums of a received payment.
func DecodeRefundSums(original pix.TxID, b []byte) (RefundSums, error) {
	if len(b) != refundSumsBytes {
		return RefundSums{}, shortRow("refund sums", b)
	}
	at := func(i int) pix.Amount { return pix.Amount(binary.BigEndian.Uint64(b[8*i:])) }
	return RefundSums{Original: original, Amount: at(0), Settled: at(1), InFlight: at(2), Held: at(3), Excess: at(4)}, nil
}
