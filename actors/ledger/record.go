package ledger

import (
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

// Totals are an account's sums and counters after a record.
type Totals struct {
	Balance  Amount `cbor:"1,keyasint"`           // settled credits minus settled debits
	Held     Amount `cbor:"2,keyasint,omitempty"` // gross amounts held by payouts in flight, >= 0
	MEDHeld  Amount `cbor:"3,keyasint,omitempty"` // held by special-return cases, >= 0
	Items    uint64 `cbor:"4,keyasint,omitempty"` // number of transactions shown so far
	Bookings uint64 `cbor:"5,keyasint,omitempty"` // number of movements booked so far
	Events   uint64 `cbor:"6,keyasint,omitempty"` // number of webhook events so far, subscribed to or not
}

// Available is what the account may spend: never below zero.
func (t Totals) Available() Amount { return max(0, t.Balance-t.Held-t.MEDHeld) }

// EventKind is a webhook event. Its values are stored.
type EventKind uint8

// The events that a record emits. They are numbered in the order listed, and the last one
// has the number Totals.Events.
const (
	EventReceived        EventKind = 1 // webhook event pix.received
	EventChargePaid      EventKind = 2 // webhook event pix.charge.paid
	EventCompleted       EventKind = 3 // webhook event pix.completed
	EventPayoutConfirmed EventKind = 4 // webhook event pix.payout.confirmed
	EventPayoutRejected  EventKind = 5 // webhook event pix.payout.rejected
	EventPayoutFailed    EventKind = 6 // webhook event pix.payout.failed
	EventPayoutQueued    EventKind = 7 // webhook event pix.payout.queued
	EventReturnReceived  EventKind = 8 // webhook event pix.return.received
	EventPayoutReturned  EventKind = 9 // webhook event pix.payout.returned
)

// Moved is an end-to-end row that is written under its id's full key: of an older use of
// the same suffix, or of an id that was renewed.
type Moved struct {
	EndToEnd string      `cbor:"1,keyasint"`
	Row      EndToEndRow `cbor:"2,keyasint"`
}

// Body is the content of a record, in the same form for every kind.
type Body struct {
	Totals   Totals       `cbor:"1,keyasint"`
	Tx       *Transaction `cbor:"2,keyasint,omitempty"`
	Settings *Settings    `cbor:"3,keyasint,omitempty"`
	Events   []EventKind  `cbor:"4,keyasint,omitempty"`
	Claim    *Claim       `cbor:"5,keyasint,omitempty"` // the claim that Stored answers, or the claim that a refusal gives up
	Stored   *Stored      `cbor:"6,keyasint,omitempty"`
	Moved    *Moved       `cbor:"7,keyasint,omitempty"`
	// The end-to-end row after the record, where several payouts share it or the payout was
	// refused.
	Row    *EndToEndRow `cbor:"8,keyasint,omitempty"`
	DueWas Millis       `cbor:"9,keyasint,omitempty"` // due time of the payout's earlier due row, which is deleted; 0: none

	DueWasKind DueKind `cbor:"10,keyasint,omitempty"` // kind of that earlier due row
	Prev       uint64  `cbor:"11,keyasint,omitempty"` // sequence of the previous record about the same transaction; 0: there is none
}

// Record is one event in one account. The journal stores Account, Seq, Time and Kind beside
// the Body, which it stores as CBOR.
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

// Encode encodes the record's body as it is journaled: CBOR in core deterministic form with
// integer keys.
func (r *Record) Encode() []byte {
	b, err := encoding.Marshal(&r.Body)
	if err != nil {
		panic(fmt.Sprintf("ledger: encode %v: %v", r.Kind, err))
	}
	return b
}

// Decode decodes into r.Body what Encode has encoded. A kind or a field that this version
// does not know is an error.
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
