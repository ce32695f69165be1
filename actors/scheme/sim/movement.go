package sim

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"

	"pixd/actors/pix"
	"pixd/wal"
)

// MovementKind is the kind of a movement of money.
type MovementKind uint8

// The kinds of movement.
const (
	MovedPayout  MovementKind = iota + 1 // an account paid
	MovedPayment                         // a customer paid an account
	MovedReturn                          // a payout came back, in full or in part
	MovedRefund                          // an account returned a customer's payment, in full or in part
	MovedRefused                         // the engine refused a customer's payment, which goes back in full
)

// movement is money that settles at the time in the row's key. The row is written together
// with the payment's row, so its time may lie in the future; the movement counts from that
// time on. It never changes.
type movement struct {
	Kind     MovementKind  `cbor:"1,keyasint"`
	Account  pix.AccountID `cbor:"2,keyasint"`
	Amount   pix.Amount    `cbor:"3,keyasint"`
	Other    string        `cbor:"4,keyasint"` // the counterparty's ISPB
	EndToEnd string        `cbor:"5,keyasint"` // end-to-end id of the payment
	Tx       pix.TxID      `cbor:"6,keyasint,omitzero"`
	ReturnID string        `cbor:"7,keyasint,omitempty"`
}

// mark is a position among the movements, which are ordered by time and, within one
// millisecond, by their numbers in the order of booking. A movement that is booked later
// therefore never comes before a movement that could already be read.
type mark struct {
	At     pix.Millis `cbor:"1,keyasint"`
	Number uint64     `cbor:"2,keyasint"`
}

func (m mark) after(o mark) bool { return m.At > o.At || m.At == o.At && m.Number > o.Number }

func (m mark) key() []byte {
	k := append(make([]byte, 0, 18), rowMovement) // capacity for the byte that next appends
	k = binary.BigEndian.AppendUint64(k, uint64(m.At))
	return binary.BigEndian.AppendUint64(k, m.Number)
}

func markOf(k []byte) mark {
	return mark{pix.Millis(binary.BigEndian.Uint64(k[1:9])), binary.BigEndian.Uint64(k[9:17])}
}

// next is the least key after the mark's key.
func (m mark) next() []byte { return append(m.key(), 0) }

// movementRow returns the row of a new movement. The caller holds the lock order until the row is
// appended.
func (s *Sim) movementRow(at pix.Millis, m *movement) wal.Op {
	s.count++
	if s.unadded.Add(1) >= addEvery {
		s.out.rouse()
	}
	return set(mark{at, s.count}.key(), m)
}

// readableMark returns the newest mark up to which all movements can be read: every movement that is
// booked later comes after that mark. It returns once all movements up to the mark are
// durable.
func (s *Sim) readableMark(ctx context.Context) (mark, error) {
	s.order.Lock()
	m := mark{s.now(), s.count}
	done := s.append(nil, nil)
	s.order.Unlock()
	return m, wait(ctx, done)
}

// eachMovementUpTo calls fn for each movement from the given key on, up to the mark here.
func (s *Sim) eachMovementUpTo(from []byte, here mark, fn func(mark, *movement) (more bool, err error)) error {
	end := binary.BigEndian.AppendUint64([]byte{rowMovement}, uint64(here.At)+1)
	return s.store.Scan(from, end, func(k, v []byte) (bool, error) {
		at := markOf(k)
		if at.Number > here.Number {
			return true, nil // booked in the same millisecond, but after the mark here was taken
		}
		var m movement
		if err := decode(k, v, &m); err != nil {
			return false, err
		}
		return fn(at, &m)
	})
}

// SettledMovement is a settled movement of money.
type SettledMovement struct {
	At       pix.Millis
	Kind     MovementKind
	Tx       pix.TxID // transaction id of a payout, of a returned payout or of a refund; else zero
	EndToEnd string   // of a refund, the end-to-end id of the payment that was returned
	ReturnID string   // the own id, D…, of a return or a refund
	Account  pix.AccountID
	Amount   pix.Amount // base units
	Other    string     // the counterparty's ISPB
}

// ErrCursor is the error for a cursor that neither Settled nor Movements returned.
var ErrCursor = errors.New("not a next_cursor of the movements")

// Settled returns up to limit (1 or more) movements settled at or after since, oldest
// first. With a cursor the page begins after that cursor; next is empty on the last page.
func (s *Sim) Settled(ctx context.Context, since pix.Millis, cursor string, limit int) (page []SettledMovement, next string, err error) {
	from := mark{At: max(since, 0)}.key()
	if cursor != "" {
		after, err := parseCursor(cursor)
		if err != nil {
			return nil, "", err
		}
		if after.At >= since {
			from = after.next()
		}
	}
	here, err := s.readableMark(ctx)
	if err != nil {
		return nil, "", err
	}
	var last mark
	err = s.eachMovementUpTo(from, here, func(at mark, m *movement) (bool, error) {
		if len(page) == limit {
			next = last.cursor()
			return false, nil
		}
		page, last = append(page, SettledMovement{
			At: at.At, Kind: m.Kind, Tx: m.Tx, EndToEnd: m.EndToEnd, ReturnID: m.ReturnID,
			Account: m.Account, Amount: m.Amount, Other: m.Other,
		}), at
		return true, nil
	})
	return page, next, err
}

func (m mark) cursor() string { return hex.EncodeToString(m.key()[1:]) }

func parseCursor(s string) (mark, error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != 16 || b[0]&0x80 != 0 {
		return mark{}, ErrCursor
	}
	return markOf(append([]byte{rowMovement}, b...)), nil
}
