package registry

import (
	"encoding/binary"
	"errors"
	"fmt"

	"pixd/actors/ledger"
)

// EndToEndReservation says that an end-to-end id, which a merchant named itself, belongs to
// an account from now on.
type EndToEndReservation struct {
	EndToEnd string           `cbor:"1,keyasint"`
	Account  ledger.AccountID `cbor:"2,keyasint"`
}

// ErrEndToEndTaken says that the end-to-end id belongs to another account.
var ErrEndToEndTaken = errors.New("end-to-end id was used by another account")

// reservations are the end-to-end ids whose reservation was decided and may not be on disk
// yet, in the order of their records. Reservations on disk have a row and are not kept
// here, so that memory does not grow with their number.
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

// EndToEndRows names the accounts that the rows of an end-to-end id name; 0: none.
type EndToEndRows struct {
	Reserved ledger.AccountID // the account of the id's reservation
	Used     ledger.AccountID // the account of a payout under the id
	Derived  ledger.AccountID // the account of a payout whose derived id has the same suffix
}

// ReserveEndToEnd reserves an end-to-end id for an account. A repeat by the same account
// changes nothing. ErrEndToEndTaken: another account has used the id, or has derived an id
// with the same last 11 characters, in whatever minute. Otherwise a merchant who saw
// another merchant's derived id could take the next one, which has the same suffix.
func (m *Machine) ReserveEndToEnd(c EndToEndReservation, rows func(endToEnd string) (EndToEndRows, error)) ([]Record, error) {
	if m.accounts[c.Account] == nil {
		return nil, ErrUnknownAccount
	}
	// Look in memory first: a reservation that is no longer there has its row by now.
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

// Durable tells the machine that its records up to seq are on disk.
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

// Project makes the rows that a record writes. They depend on that record alone.
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

// ReserveEndToEnd reserves a merchant's own end-to-end id for an account, and returns once
// that is durable. False: the id belongs to another account.
func (g *Registry) ReserveEndToEnd(a ledger.AccountID, endToEnd string) (bool, error) {
	err := g.change(func(m *Machine, _ ledger.Millis) ([]Record, error) {
		return m.ReserveEndToEnd(EndToEndReservation{EndToEnd: endToEnd, Account: a}, g.endToEndRows)
	})
	if errors.Is(err, ErrEndToEndTaken) {
		return false, nil
	}
	return err == nil, err
}

// endToEndRows reads the rows of an end-to-end id. Most ids have none.
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
