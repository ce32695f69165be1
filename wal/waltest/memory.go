// Package waltest has a journal in memory for simulations and tests, InMemory. Its own tests run the
// contract of the journal against wal.Store and InMemory.
package waltest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"pixd/wal"
)

// InMemory is a journal in memory for use by one goroutine. It writes only when its caller
// says so: Commit makes a batch of the appended entries and makes it visible to readers,
// and Sync makes the batch durable and releases its entries. So a simulation can have a
// crash between the two. InMemory uses the same wal.Machine as the writer of wal.Store.
type InMemory struct {
	m         *wal.Machine
	queue     []*wal.Entry
	rows      map[string][]byte
	keys      []string // keys of rows, sorted
	undo      []undo   // values of the rows before the batch that is visible but not durable
	flying    int      // number of entries in the batch that is visible but not durable; 0: there is no such batch
	submitted wal.Ticket
	durable   wal.Ticket
	newest    wal.Head // the newest durable batch
	failed    error
	setOnce   []byte // wal.Options.SetOnce
}

// undo is the value that a row had before the batch that is not durable yet.
type undo struct {
	key   string
	value []byte // nil: the row did not exist
}

// NewInMemory makes an empty journal. It panics where a row is set that exists and whose key begins
// with one of the given bytes; see wal.Options.SetOnce.
func NewInMemory(setOnce ...byte) *InMemory {
	return &InMemory{m: wal.NewMachine(wal.Head{}), rows: map[string][]byte{}, setOnce: setOnce}
}

// Append queues e; see wal.Store.Append.
func (p *InMemory) Append(e *wal.Entry) wal.Ticket {
	e.Check()
	if p.failed != nil {
		return p.submitted + 1
	}
	p.submitted++
	if len(p.queue) == 0 && p.flying == 0 && e.Parked() {
		p.durable = p.submitted
		p.Tell(e.Stream, e.Out)
		return p.submitted
	}
	p.queue = append(p.queue, e)
	return p.submitted
}

// Submitted returns the newest ticket that Append has given out.
func (p *InMemory) Submitted() wal.Ticket { return p.submitted }

// Durable returns the newest ticket for which its entry and all earlier entries are
// durable.
func (p *InMemory) Durable() wal.Ticket { return p.durable }

// Waiting reports whether Commit would make a batch, and whether Sync would make one
// durable. At most one of the two is true.
func (p *InMemory) Waiting() (commit, sync bool) {
	return p.flying == 0 && len(p.queue) > 0, p.flying > 0
}

// Commit makes a batch of at most limit entries (0: as many as fit into a batch) and makes
// it visible to readers. It does nothing while the previous batch is not durable.
func (p *InMemory) Commit(limit int) {
	if p.failed != nil || p.flying > 0 {
		return
	}
	for _, e := range p.queue {
		if p.m.Full(e) || limit > 0 && p.flying == limit {
			break
		}
		p.flying++
		if !p.m.Knows(e) {
			seq, sum, err := p.Last(e.Stream)
			if err != nil {
				p.m.Refuse(e, fmt.Errorf("%w: %w", wal.ErrSequence, err))
				continue
			}
			p.m.Learn(e.Stream, seq, sum)
		}
		p.m.Take(e)
	}
	p.queue = p.queue[p.flying:]
	entries, refused := p.m.Batch()
	for i, e := range entries {
		if refused[i] == nil {
			p.put(e)
		}
	}
	if row := p.m.Seal(); row != nil {
		p.set(wal.BatchKey(p.m.Newest().Position), row)
	}
}

func (p *InMemory) put(e *wal.Entry) {
	for i := range e.Records {
		p.set(wal.RecordKey(e.Stream, e.Records[i].Seq), e.Records[i].Value)
	}
	for _, o := range e.Ops {
		switch o.Kind {
		case wal.OpSet:
			if _, there := p.rows[string(o.Key)]; there && bytes.IndexByte(p.setOnce, o.Key[0]) >= 0 {
				panic(fmt.Sprintf("waltest: row %q is set twice", o.Key))
			}
			p.set(o.Key, o.Value)
		case wal.OpDelete:
			p.remove(string(o.Key))
		default:
			lo, hi := p.bounds(o.Key, o.Value)
			for _, k := range slices.Clone(p.keys[lo:hi]) {
				p.remove(k)
			}
		}
	}
}

func (p *InMemory) set(key, value []byte) {
	k := string(key)
	p.note(k)
	if _, ok := p.rows[k]; !ok {
		i, _ := slices.BinarySearch(p.keys, k)
		p.keys = slices.Insert(p.keys, i, k)
	}
	p.rows[k] = append(make([]byte, 0, len(value)), value...)
}

func (p *InMemory) remove(k string) {
	if _, ok := p.rows[k]; !ok {
		return
	}
	p.note(k)
	delete(p.rows, k)
	i, _ := slices.BinarySearch(p.keys, k)
	p.keys = slices.Delete(p.keys, i, i+1)
}

func (p *InMemory) note(k string) { p.undo = append(p.undo, undo{k, p.rows[k]}) }

// Sync makes the visible batch durable and releases its entries, in order. An entry that is
// appended during a release is queued.
func (p *InMemory) Sync() {
	if p.failed != nil || p.flying == 0 {
		return
	}
	p.undo = p.undo[:0]
	p.newest = p.m.Newest()
	p.durable += wal.Ticket(p.flying)
	entries, refused := p.m.Batch()
	entries, refused = slices.Clone(entries), slices.Clone(refused)
	p.m.Durable()
	p.flying = 0
	for i, e := range entries {
		switch {
		case p.failed != nil:
		case refused[i] != nil:
			for _, out := range e.Out {
				out.Release(refused[i])
			}
		default:
			p.Tell(e.Stream, e.Out)
		}
	}
}

// Tell releases outs, unless the journal has failed; see wal.Store.Tell.
func (p *InMemory) Tell(_ wal.Stream, outs []wal.Out) {
	for _, out := range outs {
		if p.failed == nil {
			out.Release(nil)
		}
	}
}

// Settle calls Commit and Sync until every entry is durable.
func (p *InMemory) Settle() {
	for p.failed == nil && (p.flying > 0 || len(p.queue) > 0) {
		p.Commit(0)
		p.Sync()
	}
}

// Fail stops the journal: nothing is written or released any more.
func (p *InMemory) Fail(err error) { p.failed = err }

// Err returns why the journal has failed; nil: it has not failed.
func (p *InMemory) Err() error { return p.failed }

// Crash returns the journal that a simulated power failure leaves: everything that is
// durable and, if kept is true, also the batch that was visible but not durable. The old
// journal must not be used afterwards.
func (p *InMemory) Crash(kept bool) *InMemory {
	at := p.newest
	if p.flying > 0 && kept {
		at = p.m.Newest()
	} else {
		for i := len(p.undo) - 1; i >= 0; i-- {
			p.restore(p.undo[i])
		}
	}
	p.failed = errors.New("waltest: the power is gone")
	return &InMemory{m: wal.NewMachine(at), rows: p.rows, keys: p.keys, newest: at, setOnce: p.setOnce}
}

func (p *InMemory) restore(u undo) {
	i, there := slices.BinarySearch(p.keys, u.key)
	switch {
	case u.value == nil && there:
		delete(p.rows, u.key)
		p.keys = slices.Delete(p.keys, i, i+1)
	case u.value != nil:
		if !there {
			p.keys = slices.Insert(p.keys, i, u.key)
		}
		p.rows[u.key] = u.value
	}
}

// Flip changes one bit of one of the stream's records, as a failing disk does. pick(n)
// chooses a number from 0 to n-1. Flip returns false where the stream has no record.
func (p *InMemory) Flip(stream wal.Stream, pick func(n int) int) bool {
	lo, hi := p.bounds(wal.RecordRange(stream))
	if lo == hi {
		return false
	}
	k := p.keys[lo+pick(hi-lo)]
	v := bytes.Clone(p.rows[k])
	bit := pick(8 * len(v))
	v[bit/8] ^= 1 << (bit % 8)
	p.rows[k] = v
	return true
}

// bounds returns the indexes in p.keys of the keys in [lo, hi); a nil hi means no upper
// bound.
func (p *InMemory) bounds(lo, hi []byte) (from, to int) {
	from, _ = slices.BinarySearch(p.keys, string(lo))
	to = len(p.keys)
	if hi != nil {
		to, _ = slices.BinarySearch(p.keys, string(hi))
	}
	return from, max(from, to)
}

// Close does nothing.
func (p *InMemory) Close() error { return nil }
