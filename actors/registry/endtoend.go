package registry

import (
	"encoding/binary"
	"errors"
	"fmt"

	"pixd/actors/ledger"
)

// EndToEndReservation is an end-to-end id that a merchant named itself, and whose it is
// from then on.
type EndToEndReservation struct {
	EndToEnd string           `cbor:"1,keyasint"`
	Account  ledger.AccountID `cbor:"2,keyasint"`
}

// ErrEndToEndTaken says that another account has used the end-to-end id.
var ErrEndToEndTaken = errors.New("end-to-end id was used by another account")

// reservations are the end-to-end ids that were decided and may not be on disk yet,
// in the order of their records. Those that are have a row: what is held in memory
// does not grow with them.
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

// forget drops what has become durable.
func (c *reservations) forget(durable uint64) {
	n := 0
	for ; n < len(c.order) && c.order[n].seq <= durable; n++ {
		delete(c.owner, c.order[n].endToEnd)
	}
	if c.order = c.order[n:]; len(c.order) == 0 {
		c.owner, c.order = nil, nil
	}
}

// EndToEndRows is what the rows say of an end-to-end id; 0 is nobody.
type EndToEndRows struct {
	Reserved ledger.AccountID // by its reservation
	Used     ledger.AccountID // by a payout under it
	Derived  ledger.AccountID // by a payout whose id was derived and ends like it
}

// ReserveEndToEnd reserves an end-to-end id for an account. What the account has reserved
// already changes nothing. ErrEndToEndTaken: another account has used it, or has
// derived its last 11 characters, whatever the minute: who saw one derived id could
// name the next before its owner does.
func (m *Machine) ReserveEndToEnd(c EndToEndReservation, rows func(endToEnd string) (EndToEndRows, error)) ([]Record, error) {
	if m.accounts[c.Account] == nil {
		return nil, ErrUnknownAccount
	}
	// What is under way first: what is no longer there has a row by now.
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

// Durable tells the machine up to which of its records everything is on disk.
func (m *Machine) Durable(seq uint64) { m.reservations.forget(seq) }

// rowReservation begins the key of a reservation's row. docs/formats.md has a drawing.
const rowReservation = 'c'

// ReservationRange is the keys of all reservations' rows.
func ReservationRange() (lo, hi []byte) { return []byte{rowReservation}, []byte{rowReservation + 1} }

func reservationKey(endToEnd string) []byte {
	k := ledger.EndToEndKey(endToEnd)
	k[0] = rowReservation
	return k
}

const reservationRowBytes = 8 + 8

// Project is the rows that a record writes: a pure function of that record alone.
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

// reservationFilter is the size, in bytes, of the filter over reservations: good for 800,000;
// beyond, more looks go to the store.
const reservationFilter = 1 << 20

// ReserveEndToEnd gives a merchant's own end-to-end id to an account, and returns
// once that is durable. False: another account has used it.
func (g *Registry) ReserveEndToEnd(a ledger.AccountID, endToEnd string) (bool, error) {
	err := g.change(func(m *Machine, _ ledger.Millis) ([]Record, error) {
		return m.ReserveEndToEnd(EndToEndReservation{EndToEnd: endToEnd, Account: a}, g.endToEndRows)
	})
	if errors.Is(err, ErrEndToEndTaken) {
		return false, nil
	}
	return err == nil, err
}

// endToEndRows reads what the store has on an id: most often nothing at all.
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
