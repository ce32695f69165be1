package account

import (
	"sync/atomic"

	"pixd/actors/ledger"
	"pixd/wal"
)

// Moves counts the records of all accounts by what they move, once they are durable. It starts at 0
// with the process: records that an account is restored from are not counted.
type Moves struct{ counts [ledger.Moves]move }

// Each calls f with every move and how many records were of it.
func (m *Moves) Each(f func(ledger.Move, uint64)) {
	for i := range m.counts[1:] {
		f(ledger.Move(i+1), m.counts[i+1].Load())
	}
}

// of appends the counters of the records to the outs of their entry.
func (m *Moves) of(records []ledger.Record, outs []wal.Out) []wal.Out {
	for i := range records {
		if is := records[i].Kind.Move(); is != 0 {
			outs = append(outs, &m.counts[is])
		}
	}
	return outs
}

// move is the counter of one move. As an Out it counts one record.
type move struct{ atomic.Uint64 }

// Release implements wal.Out.
func (m *move) Release(err error) {
	if err == nil {
		m.Add(1)
	}
}
