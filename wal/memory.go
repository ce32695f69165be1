package wal

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// InMemory is a journal in memory that moves only when it is told to: Commit makes a
// batch of what has been appended and shows it, Sync makes it durable and releases
// it. A simulation decides between those when the power goes. It is the same
// machine as the writer's; what it lacks is a disk.
//
// A InMemory is for one goroutine.
type InMemory struct {
	m         *machine
	queue     []*Entry
	rows      map[string][]byte
	keys      []string // of rows, in order
	undo      []undo   // what the batch under way has changed
	flying    int      // entries of the batch under way; 0: none is
	submitted Ticket
	durable   Ticket
	newest    head // durable
	failed    error
}

// undo is a row as it was before the batch under way.
type undo struct {
	key   string
	value []byte // nil: it was not there
}

// NewInMemory is an empty journal.
func NewInMemory() *InMemory { return &InMemory{m: newMachine(head{}), rows: map[string][]byte{}} }

// Append queues e; see Store.Append.
func (p *InMemory) Append(e *Entry) Ticket {
	e.check()
	if p.failed != nil {
		return p.submitted + 1
	}
	p.submitted++
	if len(p.queue) == 0 && p.flying == 0 && e.parked() {
		p.durable = p.submitted
		p.Tell(e.Stream, e.Out)
		return p.submitted
	}
	p.queue = append(p.queue, e)
	return p.submitted
}

// Submitted is the newest ticket given out.
func (p *InMemory) Submitted() Ticket { return p.submitted }

// Durable is the newest ticket that is durable, with all before it.
func (p *InMemory) Durable() Ticket { return p.durable }

// Waiting tells what is to be done: nothing, a Commit, or a Sync.
func (p *InMemory) Waiting() (commit, sync bool) {
	return p.flying == 0 && len(p.queue) > 0, p.flying > 0
}

// Commit makes a batch of at most limit entries (0: of as many as fit) and shows it
// to readers. The batch before it must be durable.
func (p *InMemory) Commit(limit int) {
	if p.failed != nil || p.flying > 0 {
		return
	}
	for _, e := range p.queue {
		if p.m.full(e) || limit > 0 && p.flying == limit {
			break
		}
		p.flying++
		if !p.m.knows(e) {
			seq, sum, err := p.Last(e.Stream)
			if err != nil {
				p.m.refuse(e, fmt.Errorf("%w: %w", ErrSequence, err))
				continue
			}
			p.m.learn(e.Stream, tail{seq, sum})
		}
		p.m.take(e)
	}
	p.queue = p.queue[p.flying:]
	for i, e := range p.m.entries {
		if p.m.refused[i] == nil {
			p.put(e)
		}
	}
	if row := p.m.seal(); row != nil {
		p.set(batchKey(p.m.newest.position), row)
	}
}

func (p *InMemory) put(e *Entry) {
	for i := range e.Records {
		p.set(recordKey(e.Stream, e.Records[i].Seq), e.Records[i].Value)
	}
	for _, o := range e.Ops {
		switch o.Kind {
		case OpSet:
			p.set(o.Key, o.Value)
		case OpDelete:
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

// Sync makes the batch under way durable and releases it, in order. What a Release
// appends joins the queue.
func (p *InMemory) Sync() {
	if p.failed != nil || p.flying == 0 {
		return
	}
	p.undo = p.undo[:0]
	p.newest = p.m.newest
	p.durable += Ticket(p.flying)
	entries, refused := slices.Clone(p.m.entries), slices.Clone(p.m.refused)
	p.m.durable()
	p.flying = 0
	for i, e := range entries {
		switch {
		case p.failed != nil:
		case refused[i] != nil:
			refuse(e, refused[i])
		default:
			p.Tell(e.Stream, e.Out)
		}
	}
}

// Tell is the gate; see Store.Tell.
func (p *InMemory) Tell(_ Stream, outs []Out) {
	for _, out := range outs {
		if p.failed == nil {
			out.Release(nil)
		}
	}
}

// Settle commits and syncs until nothing is left to do.
func (p *InMemory) Settle() {
	for p.failed == nil && (p.flying > 0 || len(p.queue) > 0) {
		p.Commit(0)
		p.Sync()
	}
}

// Fail stops the journal: nothing is written or released any more.
func (p *InMemory) Fail(err error) { p.failed = err }

// Err is why it has stopped; nil while it has not.
func (p *InMemory) Err() error { return p.failed }

// Crash is what a power cut leaves: what is durable and, where it is kept, the
// batch under way, which nobody has been told of. The old journal is used up.
func (p *InMemory) Crash(kept bool) *InMemory {
	at := p.newest
	if p.flying > 0 && kept {
		at = p.m.newest
	} else {
		for i := len(p.undo) - 1; i >= 0; i-- {
			p.restore(p.undo[i])
		}
	}
	p.failed = errors.New("wal: the power is gone")
	return &InMemory{m: newMachine(at), rows: p.rows, keys: p.keys, newest: at}
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

// Flip changes one bit of a record's bytes, as a failing disk does. pick chooses
// below what it is given. False where there is no record.
func (p *InMemory) Flip(stream Stream, pick func(n int) int) bool {
	lo, hi := p.bounds(recordBounds(stream))
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

// bounds are the places of the keys in [lo, hi); nil hi: to the end.
func (p *InMemory) bounds(lo, hi []byte) (from, to int) {
	from, _ = slices.BinarySearch(p.keys, string(lo))
	to = len(p.keys)
	if hi != nil {
		to, _ = slices.BinarySearch(p.keys, string(hi))
	}
	return from, max(from, to)
}

// Close does nothing: there is no disk to leave in order.
func (p *InMemory) Close() error { return nil }
