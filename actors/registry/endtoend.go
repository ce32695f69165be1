package registry

import (
	"encoding/binary"
	"errors"
	"fmt"

	"pixd/actors/layout"
	"pixd/actors/pix"
	"pixd/wal"
)

// EndToEndReservation says that an end-to-end id, which a merchant chose itself, belongs to
// an account from now on.
type EndToEndReservation struct {
	EndToEnd string        `cbor:"1,keyasint"`
	Account  pix.AccountID `cbor:"2,keyasint"`
}

// ErrEndToEndTaken says that the end-to-end id belongs to another account.
var ErrEndToEndTaken = errors.New("end-to-end id was used by another account")

// ReservationStream is the number of the stream with the records of reservations, the first of
// the numbers that are no account's. It is apart from the registry's own stream, which is read
// from its beginning at every start: reservations grow with the payments, and are looked up by
// their rows alone. Earlier versions wrote them into the registry's stream.
const ReservationStream = wal.Stream(pix.LastAccountID) + 1

// Owns tells whether the records of a stream are the registry's.
func Owns(s wal.Stream) bool {
	return s == Stream || s == ReservationStream || s == OperatorStream
}

// Reservations is the state of the stream of reservations: its newest record, and the
// end-to-end ids that were reserved by records which may not be on disk yet, in the order of
// the records. A reservation on disk has a row and is dropped from memory, so that memory does
// not grow with the number of reservations.
type Reservations struct {
	Seq   uint64
	Time  pix.Millis
	owner map[string]pix.AccountID
	order []reservedID
}

type reservedID struct {
	seq      uint64
	endToEnd string
}

// Apply takes the stream's next record.
func (c *Reservations) Apply(r *Record) error {
	if r.Seq != c.Seq+1 || r.Time < c.Time {
		return fmt.Errorf("registry: reservation %d at %v does not follow %d at %v", r.Seq, r.Time, c.Seq, c.Time)
	}
	if r.Kind != EndToEndReserved || r.EndToEnd == nil {
		return fmt.Errorf("registry: record %d (%v) is no reservation", r.Seq, r.Kind)
	}
	if c.owner == nil {
		c.owner = map[string]pix.AccountID{}
	}
	c.owner[r.EndToEnd.EndToEnd] = r.EndToEnd.Account
	c.order = append(c.order, reservedID{r.Seq, r.EndToEnd.EndToEnd})
	c.Seq, c.Time = r.Seq, r.Time
	return nil
}

// Durable says that the records up to seq are on disk.
func (c *Reservations) Durable(seq uint64) {
	n := 0
	for ; n < len(c.order) && c.order[n].seq <= seq; n++ {
		delete(c.owner, c.order[n].endToEnd)
	}
	if c.order = c.order[n:]; len(c.order) == 0 {
		c.owner, c.order = nil, nil
	}
}

// EndToEndRows are the accounts that the rows of one end-to-end id name; 0: there is no
// such row.
type EndToEndRows struct {
	Reserved pix.AccountID // the account that reserved the id
	Used     pix.AccountID // the account that has a payout under the id
	Derived  pix.AccountID // the account for which the engine computed an id that ends in the same 11 characters
}

// Reserve reserves an end-to-end id for an account, which must exist. It returns no record for a
// repeat by the same account. ErrEndToEndTaken: another account has used the id, or the engine
// has computed an id with the same last 11 characters for another account, in whatever minute.
// Otherwise a merchant who saw such an id of another merchant could reserve the next id,
// which has the same 11 characters.
func (c *Reservations) Reserve(e EndToEndReservation, rows func(endToEnd string) (EndToEndRows, error)) (*Record, error) {
	// Look in memory before reading the rows: a reservation that is dropped from memory has
	// its row by then.
	owner := c.owner[e.EndToEnd]
	var found EndToEndRows
	if owner == 0 {
		var err error
		if found, err = rows(e.EndToEnd); err != nil {
			return nil, err
		}
		owner = found.Reserved
	}
	switch {
	case owner == e.Account:
		return nil, nil
	case owner != 0, found.Used != 0 && found.Used != e.Account, found.Derived != 0 && found.Derived != e.Account:
		return nil, ErrEndToEndTaken
	}
	return &Record{Kind: EndToEndReserved, EndToEnd: &e}, nil
}

// rowReservation is the first byte of the key of a reservation's row. docs/formats.md shows
// the row.
const rowReservation = 'c'

// ReservationRange is the key range of all reservations' rows.
func ReservationRange() (lo, hi []byte) { return []byte{rowReservation}, []byte{rowReservation + 1} }

func reservationKey(endToEnd string) []byte {
	k := layout.EndToEndKey(endToEnd)
	k[0] = rowReservation
	return k
}

const reservationRowBytes = 8 + 8

// Project makes the rows that a record writes. They depend on that record alone, so that
// all rows can be rebuilt from the journal.
func Project(r *Record) []layout.Row {
	switch {
	case r.Kind >= OperatorAdded:
		return projectDesk(r)
	case r.Kind != EndToEndReserved:
		return nil
	}
	v := binary.BigEndian.AppendUint64(make([]byte, 0, reservationRowBytes), uint64(r.EndToEnd.Account))
	return []layout.Row{{Key: reservationKey(r.EndToEnd.EndToEnd), Value: binary.BigEndian.AppendUint64(v, r.Seq)}}
}

func readReservation(b []byte) (pix.AccountID, error) {
	if len(b) != reservationRowBytes {
		return 0, fmt.Errorf("registry: reservation row of %d bytes", len(b))
	}
	return pix.AccountID(binary.BigEndian.Uint64(b)), nil
}

// reservationFilter is the size, in bytes, of the filter over reservations. It is enough
// for 800,000 reservations; with more, the filter saves fewer reads of the store.
const reservationFilter = 1 << 20

// MayBeReserved is false only for an end-to-end id that no account has reserved. Until
// FillReservations has added every reservation it is true.
func (g *Registry) MayBeReserved(endToEnd string) bool {
	return g.reserved.MayHave(reservationKey(endToEnd))
}

// endToEndRows reads the rows of an end-to-end id. For most ids no row exists.
func (g *Registry) endToEndRows(endToEnd string) (found EndToEndRows, err error) {
	if g.MayBeReserved(endToEnd) {
		owner, ok, err := layout.Find(g.journal, reservationKey(endToEnd), readReservation)
		if ok || err != nil {
			found.Reserved = owner
			return found, err
		}
	}
	for i, key := range layout.EndToEndKeys(endToEnd) {
		row, ok, err := layout.Find(g.journal, key, layout.DecodeEndToEndRow)
		if err != nil {
			return found, err
		}
		if !ok {
			continue
		}
		if i == 0 {
			found.Derived = row.Account
		} else {
			found.Used = row.Account
		}
	}
	return found, nil
}
