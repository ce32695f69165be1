package wal

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// Head tells the newest durable batch; see Store.Head.
func (p *InMemory) Head() (position uint64, time int64, sum uint64) {
	return p.newest.position, p.newest.time, p.newest.sum
}

// Get reads one key; see Store.Get.
func (p *InMemory) Get(key []byte) (value []byte, ok bool, err error) {
	v, ok := p.rows[string(key)]
	return bytes.Clone(v), ok, nil
}

// Scan goes through the rows in [lo, hi); see Store.Scan. fn may append.
func (p *InMemory) Scan(lo, hi []byte, fn func(k, v []byte) (more bool, err error)) error {
	from, to := p.bounds(lo, hi)
	return p.each(slices.Clone(p.keys[from:to]), fn)
}

// ScanBack is Scan, downwards.
func (p *InMemory) ScanBack(lo, hi []byte, fn func(k, v []byte) (more bool, err error)) error {
	from, to := p.bounds(lo, hi)
	keys := slices.Clone(p.keys[from:to])
	slices.Reverse(keys)
	return p.each(keys, fn)
}

func (p *InMemory) each(keys []string, fn func(k, v []byte) (more bool, err error)) error {
	for _, k := range keys {
		if more, err := fn([]byte(k), bytes.Clone(p.rows[k])); err != nil || !more {
			return err
		}
	}
	return nil
}

// Read verifies and reads a stream; see Store.Read.
func (p *InMemory) Read(stream Stream, from, prev uint64, fn func(Record) error) error {
	_, hi := recordBounds(stream)
	seq := from
	return p.Scan(recordKey(stream, from), hi, func(k, v []byte) (bool, error) {
		if !bytes.Equal(k, recordKey(stream, seq)) {
			return false, damaged(stream, seq, "is missing; the next key is %x", k)
		}
		r, err := Unseal(prev, stream, seq, v)
		if err != nil {
			return false, err
		}
		seq, prev = seq+1, r.Sum
		return true, fn(r)
	})
}

// Record reads one record; see Store.Record.
func (p *InMemory) Record(stream Stream, seq uint64) (Record, bool, error) {
	v, ok := p.rows[string(recordKey(stream, seq))]
	if !ok {
		return Record{}, false, nil
	}
	prev := uint64(0)
	if seq > 1 {
		before, err := decode(stream, seq-1, p.rows[string(recordKey(stream, seq-1))])
		if err != nil {
			return Record{}, false, err
		}
		prev = before.Sum
	}
	r, err := Unseal(prev, stream, seq, bytes.Clone(v))
	return r, err == nil, err
}

// Last tells where a stream stands; see Store.Last.
func (p *InMemory) Last(stream Stream) (seq, sum uint64, err error) {
	lo, hi := recordBounds(stream)
	err = p.ScanBack(lo, hi, func(k, v []byte) (bool, error) {
		r, err := decode(stream, binary.BigEndian.Uint64(k[9:]), v)
		seq, sum = r.Seq, r.Sum
		return false, err
	})
	return seq, sum, err
}

// InMemoryView is the journal at one moment.
type InMemoryView struct {
	*InMemory
	ticket Ticket
}

// View copies what is shown now; see Store.View.
func (p *InMemory) View() *InMemoryView {
	rows := make(map[string][]byte, len(p.rows))
	for k, v := range p.rows {
		rows[k] = v // values are replaced, never changed
	}
	return &InMemoryView{&InMemory{rows: rows, keys: slices.Clone(p.keys)}, p.submitted}
}

// Ticket was the newest when the view was opened.
func (v *InMemoryView) Ticket() Ticket { return v.ticket }

// Close gives the view back.
func (v *InMemoryView) Close() error { return nil }
