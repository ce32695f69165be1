package sim

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"

	"pixd/actors/ledger"
	"pixd/wal"
)

// MovementKind is what moved.
type MovementKind uint8

// The kinds of movement.
const (
	MovedPayout  MovementKind = iota + 1 // an account paid
	MovedPayment                         // a customer paid an account
	MovedReturn                          // (part of) a payout came back
)

// movement is money that settles at the instant in its key. The row is written
// with what makes it settle, so it may lie in the future; from its instant on it
// counts, and it never changes.
type movement struct {
	Kind     MovementKind     `cbor:"1,keyasint"`
	Account  ledger.AccountID `cbor:"2,keyasint"`
	Amount   ledger.Amount    `cbor:"3,keyasint"`
	Other    string           `cbor:"4,keyasint"` // the counterparty's ISPB
	EndToEnd string           `cbor:"5,keyasint"` // of the payment
	Tx       ledger.TxID      `cbor:"6,keyasint,omitzero"`
	ReturnID string           `cbor:"7,keyasint,omitempty"`
}

// mark is a place among the movements: they stand by instant, and within one
// instant by number, in which they were booked. So what is booked later never
// comes before what could already be read.
type mark struct {
	At     ledger.Millis `cbor:"1,keyasint"`
	Number uint64        `cbor:"2,keyasint"`
}

func (m mark) after(o mark) bool { return m.At > o.At || m.At == o.At && m.Number > o.Number }

func (m mark) key() []byte {
	k := append(make([]byte, 0, 18), rowMovement) // next adds one
	k = binary.BigEndian.AppendUint64(k, uint64(m.At))
	return binary.BigEndian.AppendUint64(k, m.Number)
}

func markOf(k []byte) mark {
	return mark{ledger.Millis(binary.BigEndian.Uint64(k[1:9])), binary.BigEndian.Uint64(k[9:17])}
}

// next is the least key after the mark's.
func (m mark) next() []byte { return append(m.key(), 0) }

// moved is a movement's row. The caller holds order until it is appended.
func (s *Sim) moved(at ledger.Millis, m *movement) wal.Op {
	s.count++
	if s.unadded.Add(1) >= addEvery {
		s.out.rouse()
	}
	return set(mark{at, s.count}.key(), m)
}

// here is the newest mark that can be read in full: what is booked after it
// stands behind it. It yields once all up to it is durable.
func (s *Sim) here(ctx context.Context) (mark, error) {
	s.order.Lock()
	m := mark{s.now(), s.count}
	done := s.append(nil, nil)
	s.order.Unlock()
	return m, wait(ctx, done)
}

// through calls fn for each movement after from that counts at here.
func (s *Sim) through(from []byte, here mark, fn func(mark, *movement) (more bool, err error)) error {
	end := binary.BigEndian.AppendUint64([]byte{rowMovement}, uint64(here.At)+1)
	return s.store.Scan(from, end, func(k, v []byte) (bool, error) {
		at := markOf(k)
		if at.Number > here.Number {
			return true, nil // booked since, at this very instant
		}
		var m movement
		if err := decode(k, v, &m); err != nil {
			return false, err
		}
		return fn(at, &m)
	})
}

// Movement is money that has settled.
type Movement struct {
	At       ledger.Millis
	Kind     MovementKind
	Tx       ledger.TxID // of a payout, and of its return; else zero
	EndToEnd string
	ReturnID string // of a return
	Account  ledger.AccountID
	Amount   ledger.Amount // base units
	Other    string        // the counterparty's ISPB
}

// ErrCursor is a cursor that no page of movements gave.
var ErrCursor = errors.New("not a next_cursor of the movements")

// Movements are up to limit (1 or more) of what has settled at or after since,
// oldest first, from a cursor on, where one is given; next is empty at the end.
func (s *Sim) Movements(ctx context.Context, since ledger.Millis, cursor string, limit int) (page []Movement, next string, err error) {
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
	here, err := s.here(ctx)
	if err != nil {
		return nil, "", err
	}
	var last mark
	err = s.through(from, here, func(at mark, m *movement) (bool, error) {
		if len(page) == limit {
			next = last.cursor()
			return false, nil
		}
		page, last = append(page, Movement{
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
