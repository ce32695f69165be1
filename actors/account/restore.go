package account

import (
	"fmt"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// headRow encodes the machine's head as a row, and notes that the row has the head as it is now.
func (m *Machine) headRow() layout.Row {
	m.headAt = m.head.Seq
	return HeadRow(&m.head, m.sum)
}

// Restore makes the machine from the head row and the records after it. Each record is
// verified against the chain of checksums and changes the head through Apply only. The
// first record that cannot be verified ends Restore with an error.
func Restore(c *Config, id pix.AccountID, t wal.Tail) (*Machine, error) {
	m := newMachine(c, id)
	var err error
	if m.head, m.sum, m.headAt, err = replay(id, t); err != nil {
		return nil, err
	}
	seq, sum, err := t.Last(wal.Stream(id))
	if err != nil {
		return nil, fmt.Errorf("account %v: restore: %w", id, err)
	}
	if seq != m.head.Seq || sum != m.sum {
		return nil, fmt.Errorf("account %v: restore: the head stands at record %d, the journal ends at %d", id, m.head.Seq, seq)
	}
	return m, nil
}

// tailReader is the part of Tail that replay uses.
type tailReader interface {
	layout.Getter
	Read(stream wal.Stream, from, prev uint64, fn func(wal.Record) error) error
}

// replay makes the head from the head row and the records after it, and returns the checksum
// of the newest record, and the sequence of the newest record that the head row includes.
func replay(id pix.AccountID, t tailReader) (head ledger.Account, sum, headAt uint64, err error) {
	head.ID = id
	row, ok, err := t.Get(layout.HeadKey(id))
	if err != nil {
		return head, 0, 0, fmt.Errorf("account %v: restore: %w", id, err)
	}
	if ok {
		if head, sum, err = DecodeHeadRow(id, row); err != nil {
			return head, 0, 0, err
		}
		headAt = head.Seq
	}
	err = t.Read(wal.Stream(id), head.Seq+1, sum, func(w wal.Record) error {
		r := ledger.Record{Account: id, Seq: w.Seq, Time: pix.Millis(w.Time), Kind: ledger.RecordKind(w.Kind)}
		if err := r.Decode(w.Body); err != nil {
			return err
		}
		if err := head.Apply(&r); err != nil {
			return err
		}
		sum = w.Sum
		return nil
	})
	if err != nil {
		err = fmt.Errorf("account %v: restore: %w", id, err)
	}
	return head, sum, headAt, err
}

// headKept tells whether no record follows the newest head row.
func (m *Machine) headKept() bool { return m.headAt == m.head.Seq }

// Passivate makes the last entry of an account that leaves memory. If there are records
// after the newest head row, the entry writes a new head row, so that the next restore
// replays no record.
func (m *Machine) Passivate() wal.Entry {
	e := wal.Entry{Stream: wal.Stream(m.head.ID), Forget: true}
	if !m.headKept() {
		e.Ops = ops([]layout.Row{m.headRow()})
	}
	return e
}
