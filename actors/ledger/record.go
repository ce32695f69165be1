package ledger

import (
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

// Totals are an account's sums and counters after a record.
type Totals struct {
	Balance  Amount `cbor:"1,keyasint"`           // settled credits - settled debits
	Held     Amount `cbor:"2,keyasint,omitempty"` // gross amounts held by work in flight, >= 0
	MEDHeld  Amount `cbor:"3,keyasint,omitempty"` // held by special-return cases, >= 0
	Items    uint64 `cbor:"4,keyasint,omitempty"` // transactions shown so far
	Bookings uint64 `cbor:"5,keyasint,omitempty"` // movements booked so far
	Events   uint64 `cbor:"6,keyasint,omitempty"` // webhook events so far, subscribed or not
}

// Available is what the account may spend: never below zero.
func (t Totals) Available() Amount { return max(0, t.Balance-t.Held-t.MEDHeld) }

// EventKind is a webhook event. Its values are stored.
type EventKind uint8

// The events a record emits. Their sequence numbers are those that end at
// Totals.Events, in the order listed.
const (
	EventReceived        EventKind = 1 // pix.received
	EventChargePaid      EventKind = 2 // pix.charge.paid
	EventCompleted       EventKind = 3 // pix.completed
	EventPayoutConfirmed EventKind = 4 // pix.payout.confirmed
	EventPayoutRejected  EventKind = 5 // pix.payout.rejected
	EventPayoutFailed    EventKind = 6 // pix.payout.failed
	EventPayoutQueued    EventKind = 7 // pix.payout.queued
	EventReturnReceived  EventKind = 8 // pix.return.received
	EventPayoutReturned  EventKind = 9 // pix.payout.returned
)

// Moved is an end-to-end row kept under an id's full key: of an older use of the
// same suffix, or of an id that was renewed.
type Moved struct {
	EndToEnd string      `cbor:"1,keyasint"`
	Row      EndToEndRow `cbor:"2,keyasint"`
}

// Body is what a record says, the same shape for every kind.
type Body struct {
	Totals   Totals       `cbor:"1,keyasint"`
	Tx       *Transaction `cbor:"2,keyasint,omitempty"`
	Settings *Settings    `cbor:"3,keyasint,omitempty"`
	Events   []EventKind  `cbor:"4,keyasint,omitempty"`
	Claim    *Claim       `cbor:"5,keyasint,omitempty"` // the claim that Stored answers, or that a refusal gives up
	Stored   *Stored      `cbor:"6,keyasint,omitempty"`
	Moved    *Moved       `cbor:"7,keyasint,omitempty"`
	Row      *EndToEndRow `cbor:"8,keyasint,omitempty"` // the end-to-end row after it, where others share it or it was refused
	DueWas   Millis       `cbor:"9,keyasint,omitempty"` // the instant of the due row that the payout's takes the place of

	DueWasKind DueKind `cbor:"10,keyasint,omitempty"` // and its kind
	Prev       uint64  `cbor:"11,keyasint,omitempty"` // the record before this about the same transaction; 0: this is the first
}

// Record is one thing that happened to one account. Account, Seq and Time lie
// in the journal's envelope, Body in its CBOR.
type Record struct {
	Account AccountID
	Seq     uint64 // from 1, without gaps
	Time    Millis // never earlier than the record before it
	Kind    RecordKind
	Body
}

var (
	encoding = func() cbor.EncMode {
		m, err := cbor.CoreDetEncOptions().EncMode()
		if err != nil {
			panic(err)
		}
		return m
	}()
	decoding = func() cbor.DecMode {
		m, err := cbor.DecOptions{DupMapKey: cbor.DupMapKeyEnforcedAPF, ExtraReturnErrors: cbor.ExtraDecErrorUnknownField}.DecMode()
		if err != nil {
			panic(err)
		}
		return m
	}()
)

// Encode is the record's body as it is journaled: CBOR in core deterministic
// form with integer keys.
func (r *Record) Encode() []byte {
	b, err := encoding.Marshal(&r.Body)
	if err != nil {
		panic(fmt.Sprintf("ledger: encode %v: %v", r.Kind, err))
	}
	return b
}

// Decode reads what Encode wrote into r.Body. A kind or a field that this
// version does not know is an error: it never guesses.
func (r *Record) Decode(b []byte) error {
	if !r.Kind.known() {
		return fmt.Errorf("ledger: record %d of %v: unknown kind %d", r.Seq, r.Account, r.Kind)
	}
	if err := decoding.Unmarshal(b, &r.Body); err != nil {
		return fmt.Errorf("ledger: record %d of %v (%v): %w", r.Seq, r.Account, r.Kind, err)
	}
	if r.Tx != nil {
		r.Tx.standsAt(r.Seq)
	}
	return nil
}
