package waltest

import (
	"encoding/binary"
	"maps"
	"slices"

	"pixd/wal"
)

// Checkpoint returns a copy of what is durable; see wal.Store.Checkpoint. A journal that goes on
// from the copy continues after the newest durable batch.
func (p *InMemory) Checkpoint() *InMemory {
	c := &InMemory{m: wal.NewMachine(p.newest), rows: maps.Clone(p.rows), keys: slices.Clone(p.keys), newest: p.newest, setOnce: p.setOnce}
	for i := len(p.undo) - 1; i >= 0; i-- {
		c.restore(p.undo[i])
	}
	return c
}

// Newest calls fn with the newest record of each stream; see wal.View.Newest.
func (p *InMemory) Newest(fn func(wal.Record) error) error {
	lo, _ := wal.RecordRange(0)
	for i, _ := p.bounds(lo, nil); i < len(p.keys) && p.keys[i][0] == lo[0]; {
		stream := wal.Stream(binary.BigEndian.Uint64([]byte(p.keys[i][1:])))
		seq, _, err := p.Last(stream)
		if err != nil {
			return err
		}
		r, _, err := p.Record(stream, seq)
		if err == nil {
			err = fn(r)
		}
		if err != nil {
			return err
		}
		_, i = p.bounds(wal.RecordRange(stream))
	}
	return nil
}
