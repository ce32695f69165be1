package ledger

import (
	"fmt"

	"pixd/actors/cbormap"
	"pixd/actors/layout"
	"pixd/actors/pix"
)

// Totals are an account's sums and counters after one of its records.
type Totals struct {
	Balance  pix.Amount `cbor:"1,keyasint"`           // settled credits minus settled debits
	Held     pix.Amount `cbor:"2,keyasint,omitempty"` // amounts and fees held by payouts and refunds in flight, >= 0
	MEDHeld  pix.Amount `cbor:"3,keyasint,omitempty"` // money held by special-return (MED) cases, >= 0
	Items    uint64     `cbor:"4,keyasint,omitempty"` // number of transactions that the merchant has been shown so far
	Bookings uint64     `cbor:"5,keyasint,omitempty"` // number of movements in the statement so far
	Events   uint64     `cbor:"6,keyasint,omitempty"` // number of webhook events so far, whether the merchant subscribed to them or not
	Owed     pix.Amount `cbor:"7,keyasint,omitempty"` // the part of MEDHeld that the engine refunds as soon as there is money; see Case.Owed
	Cases    uint64     `cbor:"8,keyasint,omitempty"` // number of special-return cases so far

	Subscriptions uint64 `cbor:"9,keyasint,omitempty"` // number of webhook subscriptions so far, removed ones included
}

// free is the balance less everything that is held; below zero where cases hold more than
// there is.
func (t Totals) free() pix.Amount { return t.Balance - t.Held - t.MEDHeld }

// Available returns the amount that the account may spend, which is never below zero.
func (t Totals) Available() pix.Amount { return max(0, t.free()) }

// Moved is an end-to-end row that is written under the full id, because the key by suffix
// now belongs to a newer id: a later attempt's id, or the id that replaced this one.
type Moved struct {
	EndToEnd string             `cbor:"1,keyasint"`
	Row      layout.EndToEndRow `cbor:"2,keyasint"`
}

// Body is the content of a record, in the same form for every kind.
type Body struct {
	Totals   Totals          `cbor:"1,keyasint"`
	Tx       *Transaction    `cbor:"2,keyasint,omitempty"`
	Settings *Settings       `cbor:"3,keyasint,omitempty"`
	Events   []pix.EventKind `cbor:"4,keyasint,omitempty"`
	Claim    *Claim          `cbor:"5,keyasint,omitempty"` // the claim that the record makes, answers with Stored, or drops because of a refusal
	Stored   *Stored         `cbor:"6,keyasint,omitempty"`
	Moved    *Moved          `cbor:"7,keyasint,omitempty"`
	// Row is the end-to-end row after the record, set where several payouts have the same
	// id or the payout was refused.
	Row    *layout.EndToEndRow `cbor:"8,keyasint,omitempty"`
	DueWas pix.Millis          `cbor:"9,keyasint,omitempty"` // due time of the previous due row of the record's transfer or case, which the record deletes; 0: there was none

	DueWasKind layout.DueKind `cbor:"10,keyasint,omitempty"` // kind of the deleted due row
	Prev       uint64         `cbor:"11,keyasint,omitempty"` // sequence of the previous record about the same transaction or case; 0: this is the first

	Sums     *layout.RefundSums `cbor:"12,keyasint,omitempty"` // refund sums of the received payment, in a record that changes them
	Case     *Case              `cbor:"13,keyasint,omitempty"`
	HeldWas  pix.Amount         `cbor:"14,keyasint,omitempty"` // what the case held before the record
	OwedWas  pix.Amount         `cbor:"15,keyasint,omitempty"` // what was owed for the case before the record; see Case.Owed
	ShortWas pix.Amount         `cbor:"18,keyasint,omitempty"` // what the case lacked before the record; see Case.Short

	Subscription *Subscription `cbor:"16,keyasint,omitempty"`
	Deliveries   []Delivery    `cbor:"17,keyasint,omitempty"` // which subscriptions get which of Events

	// Skipped is how many sequences of events are left out before the record's; see Terms.EventsAbove.
	Skipped  uint64   `cbor:"19,keyasint,omitempty"`
	Suffixes []string `cbor:"20,keyasint,omitempty"` // ends of end-to-end ids by which the transaction of the record is found, too: it was taken over from the scheme
}

// Record is one event in one account. The journal stores Account, Seq, Time and Kind beside
// the Body, which it stores as CBOR.
type Record struct {
	Account pix.AccountID
	Seq     uint64     // sequence in the account, from 1 without gaps
	Time    pix.Millis // engine time, never earlier than the time of the record before
	Kind    RecordKind
	Body
}

// Append appends the record's body to b as it is journaled: CBOR in core deterministic form with
// integer keys.
func (r *Record) Append(b []byte) []byte { return cbormap.Append(b, &r.Body) }

// Encode returns the record's body as it is journaled; see Append.
func (r *Record) Encode() []byte { return r.Append(nil) }

// Decode decodes a body that Encode has made into r.Body. A kind or a field that this
// version of the engine does not know is an error.
func (r *Record) Decode(b []byte) error {
	if !r.Kind.isKnown() {
		return fmt.Errorf("ledger: record %d of %v: unknown kind %d", r.Seq, r.Account, r.Kind)
	}
	if err := cbormap.Decoding.Unmarshal(b, &r.Body); err != nil {
		return fmt.Errorf("ledger: record %d of %v (%v): %w", r.Seq, r.Account, r.Kind, err)
	}
	if r.Tx != nil {
		r.Tx.standsAt(r.Seq)
	}
	if r.Case != nil {
		r.Case.standsAt(r.Seq)
	}
	return nil
}
