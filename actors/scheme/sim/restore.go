package sim

import (
	"errors"

	"pixd/actors/pix"
	"pixd/wal"
)

// restoreMovements reads from the book the mark of the sums, the newest movement's number,
// and the number of movements after the mark.
func (s *Sim) restoreMovements() error {
	ok, err := read(s.store, markKey, &s.added)
	if err != nil {
		return err
	}
	if !ok {
		if s.opts.ReadOnly {
			return errNoMovements
		}
		if err := s.makeMovements(); err != nil {
			return err
		}
	}
	s.count = s.added.Number
	behind := int64(0)
	err = s.store.Scan(s.added.next(), []byte{rowMovement + 1}, func(k, _ []byte) (bool, error) {
		s.count = max(s.count, markOf(k).Number)
		behind++
		return true, s.stopped()
	})
	s.unadded.Store(behind)
	if now := s.opts.Now(); now <= s.added.At {
		s.ahead = int64(s.added.At + 1 - now)
	}
	return err
}

// errNoMovements refuses to read only a book that must be written first.
var errNoMovements = errors.New("the book was written by a version without movements, or never finished: open it once with serve or sim")

// atOnce is the number of movements that makeMovements writes in one entry.
const atOnce = 1000

// makeMovements adds movements to a book that was written by a version without them, and then
// writes a mark, which shows that this was done. In a new book it writes only the mark. If
// the process ends before the mark is written, the next process does the same again.
func (s *Sim) makeMovements() error {
	var ops []wal.Op
	add := func(at pix.Millis, m *movement) error {
		ops = append(ops, s.movementRow(at, m))
		if len(ops) < atOnce {
			return nil
		}
		done := s.append(ops, nil)
		ops = nil
		return <-done
	}
	err := s.store.Scan([]byte{rowPayment}, []byte{rowPayment + 1}, func(k, v []byte) (bool, error) {
		var p payment
		if err := decode(k, v, &p); err != nil || p.Reason != "" {
			return true, err
		}
		return true, add(p.DueAt, &movement{
			Kind: MovedPayout, Account: p.Account, Amount: p.Amount, Other: recipientISPB, EndToEnd: p.EndToEnd, Tx: p.Tx,
		})
	})
	if err != nil {
		return err
	}
	err = s.store.Scan([]byte{rowArrival}, []byte{rowArrival + 1}, func(k, v []byte) (bool, error) {
		var a arrival
		if err := decode(k, v, &a); err != nil {
			return false, err
		}
		return true, add(a.At, a.movement())
	})
	if err != nil {
		return err
	}
	return <-s.append(append(ops, set(markKey, mark{})), nil)
}
