package registry

import (
	"encoding/binary"
	"errors"
	"fmt"

	"pixd/actors/ledger"
)

// EndToEndReservation says that an end-to-end id, which a merchant chose itself, belongs to
// an account from now on.
type EndToEndReservation struct {
	EndToEnd string           `cbor:"1,keyasint"`
	Account  ledger.AccountID `cbor:"2,keyasint"`
}

// ErrEndToEndTaken says that the end-to-end id belongs to another account.
var ErrEndToEndTaken = errors.New("end-to-end id was used by another account")

// reservations are the end-to-end ids that were reserved by records which may not be on
// disk yet, in the order of the records. A reservation on disk has a row and is dropped
// from memory, so that memory does not grow with the number of reservations.
type reservations struct {
	owner map[string]ledger.AccountID
	order []reserved
}

type reserved struct {
	seq      uint64
	endToEnd string
}

func (c *reservations) take(r *Record) {
	if c.owner == nil {
		c.owner = map[string]ledger.AccountID{}
	}
	c.owner[r.EndToEnd.EndToEnd] = r.EndToEnd.Account
	c.order = append(c.order, reserved{r.Seq, r.EndToEnd.EndToEnd})
}

// forget drops the reservations whose records are durable.
func (c *reservations) forget(durable uint64) {
	n := 0
	for ; n < len(c.order) && c.order[n].seq <= durable; n++ {
		delete(c.owner, c.order[n].endToEnd)
	}
	if c.order = c.order[n:]; len(c.order) == 0 {
		c.owner, c.order = nil, nil
	}
}

// EndToEndRows are the accounts that the rows of one end-to-end id name; 0: there is no
// such row.
type EndToEndRows struct {
	Reserved ledger.AccountID // the account that reserved the id
	Used     ledger.AccountID // the account that has a payout under the id
	Derived  ledger.AccountID // the account for which the engine computed an id that ends in the same 11 characters
}

// ReserveEndToEnd reserves an end-to-end id for an account. A repeat by the same account
// changes nothing. ErrEndToEndTaken: another account has used the id, or the engine has
// computed an id with the same last 11 characters for another account, in whatever minute.
// Otherwise a merchant who saw such an id of another merchant could reserve the next id,
// which has the same 11 characters.
func (m *Machine) ReserveEndToEnd(c EndToEndReservation, rows func(endToEnd string) (EndToEndRows, error)) ([]Record, error) {
	if m.accounts[c.Account] == nil {
		return nil, ErrUnknownAccount
	}
	// Look in memory before reading the rows: a reservation that is dropped from memory has
	// its row by then.
	owner := m.reservations.owner[c.EndToEnd]
	var found EndToEndRows
	if owner == 0 {
		var err error
		if found, err = rows(c.EndToEnd); err != nil {
			return nil, err
		}
		owner = found.Reserved
	}
	switch {
	case owner == c.Account:
		return nil, nil
	case owner != 0, found.Used != 0 && found.Used != c.Account, found.Derived != 0 && found.Derived != c.Account:
		return nil, ErrEndToEndTaken
	}
	return []Record{{Kind: EndToEndReserved, EndToEnd: &c}}, nil
}

// Durable says that the machine's records up to seq are on disk.
func (m *Machine) Durable(seq uint64) { m.reservations.forget(seq) }

// rowReservation is the first byte of the key of a reservation's row. docs/formats.md shows
// the row.
const rowReservation = 'c'

// ReservationRange is the key range of all reservations' rows.
func ReservationRange() (lo, hi []byte) { return []byte{rowReservation}, []byte{rowReservation + 1} }

func reservationKey(endToEnd string) []byte {
	k := ledger.EndToEndKey(endToEnd)
	k[0] = rowReservation
	return k
}

const reservationRowBytes = 8 + 8

// Project makes the rows that a record writes. They depend on that record alone, so that
// all rows can be rebuilt from the journal.
func Project(r *Record) []ledger.Row {
	if r.Kind != EndToEndReserved {
		return nil
	}
	v := binary.BigEndian.AppendUint64(make([]byte, 0, reservationRowBytes), uint64(r.EndToEnd.Account))
	return []ledger.Row{{Key: reservationKey(r.EndToEnd.EndToEnd), Value: binary.BigEndian.AppendUint64(v, r.Seq)}}
}

func readReservation(b []byte) (ledger.AccountID, error) {
	if len(b) != reservationRowBytes {
		return 0, fmt.Errorf("registry: reservation row of %d bytes", len(b))
	}
	return ledger.AccountID(binary.BigEndian.Uint64(b)), nil
}

// reservationFilter is the size, in bytes, of the filter over reservations. It is enough
// for 800,000 reservations; with more, the filter saves fewer reads of the store.
const reservationFilter = 1 << 20

// ReserveEndToEnd reserves an end-to-end id, which a merchant chose itself, for an account,
// and returns once the reservation is durable. False: the id belongs to another account.
func (g *Registry) ReserveEndToEnd(a ledger.AccountID, endToEnd string) (bool, error) {
	err := g.change(func(m *Machine, _ ledger.Millis) ([]Record, error) {
		return m.ReserveEndToEnd(EndToEndReservation{EndToEnd: endToEnd, Account: a}, g.endToEndRows)
	})
	if errors.Is(err, ErrEndToEndTaken) {
		return false, nil
	}
	return err == nil, err
}

// endToEndRows reads the rows of an end-to-end id. For most ids no row exists.
func (g *Registry) endToEndRows(endToEnd string) (found EndToEndRows, err error) {
	if key := reservationKey(endToEnd); g.reserved.MayHave(key) {
		b, ok, err := g.journal.Get(key)
		if err != nil {
			return found, err
		}
		if ok {
			found.Reserved, err = readReservation(b)
			return found, err
		}
	}
	for i, key := range ledger.EndToEndKeys(endToEnd) {
		b, ok, err := g.journal.Get(key)
		if err != nil {
			return found, err
		}
		if !ok {
			continue
		}
		row, err := ledger.DecodeEndToEndRow(b)
		if err != nil {
			return found, err
		}
		if i == 0 {
			found.Derived = row.Account
		} else {
			found.Used = row.Account
		}
	}
	return found, nil
}
