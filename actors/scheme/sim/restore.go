package sim

import (
	"errors"

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

// atOnce is the number of rows that a writer writes in one entry.
const atOnce = 1000

// writer writes rows, many in one entry.
type writer struct {
	sim *Sim
	ops []wal.Op // not written yet
}

func (w *writer) add(op wal.Op) error {
	w.ops = append(w.ops, op)
	if len(w.ops) < atOnce {
		return nil
	}
	done := w.sim.append(w.ops, nil)
	w.ops = nil
	return <-done
}

// makeMovements adds movements to a book that was written by a version without them, and then
// writes a mark, which shows that this was done. In a new book it writes only the mark. If
// the process ends before the mark is written, the next process does the same again.
func (s *Sim) makeMovements() error {
	w := writer{sim: s}
	err := scanRows(s, rowPayment, func(p *payment) error {
		if p.Reason != "" {
			return nil
		}
		return w.add(s.movementRow(p.DueAt, &movement{
			Kind: MovedPayout, Account: p.Account, Amount: p.Amount, Other: recipientISPB, EndToEnd: p.EndToEnd, Tx: p.Tx,
		}))
	})
	if err == nil {
		err = scanRows(s, rowArrival, func(a *arrival) error { return w.add(s.movementRow(a.At, a.movement())) })
	}
	if err != nil {
		return err
	}
	return <-s.append(append(w.ops, set(markKey, mark{})), nil)
}
