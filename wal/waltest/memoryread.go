package waltest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"pixd/wal"
)

// Head returns the newest durable batch; see wal.Store.Head.
func (p *InMemory) Head() (position uint64, time int64, sum uint64) {
	return p.newest.Position, p.newest.Time, p.newest.Sum
}

// Get reads one key; see wal.Store.Get.
func (p *InMemory) Get(key []byte) (value []byte, ok bool, err error) {
	v, ok := p.rows[string(key)]
	return bytes.Clone(v), ok, nil
}

// Scan calls fn for the rows in [lo, hi); see wal.Store.Scan. fn may call Append.
func (p *InMemory) Scan(lo, hi []byte, fn func(k, v []byte) (more bool, err error)) error {
	from, to := p.bounds(lo, hi)
	return p.each(slices.Clone(p.keys[from:to]), fn)
}

// ScanBack is Scan in descending order of keys.
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

// Read reads and verifies a stream's records; see wal.Store.Read.
func (p *InMemory) Read(stream wal.Stream, from, prev uint64, fn func(wal.Record) error) error {
	_, hi := wal.RecordRange(stream)
	seq := from
	return p.Scan(wal.RecordKey(stream, from), hi, func(k, v []byte) (bool, error) {
		if !bytes.Equal(k, wal.RecordKey(stream, seq)) {
			return false, &wal.Damage{Stream: stream, Seq: seq, What: fmt.Sprintf("is missing; the next key is %x", k)}
		}
		r, err := wal.Unseal(prev, stream, seq, v)
		if err != nil {
			return false, err
		}
		seq, prev = seq+1, r.Sum
		return true, fn(r)
	})
}

// Record reads one record; see wal.Store.Record.
func (p *InMemory) Record(stream wal.Stream, seq uint64) (wal.Record, bool, error) {
	v, ok := p.rows[string(wal.RecordKey(stream, seq))]
	if !ok {
		return wal.Record{}, false, nil
	}
	prev := uint64(0)
	if seq > 1 {
		before, err := wal.Decode(stream, seq-1, p.rows[string(wal.RecordKey(stream, seq-1))])
		if err != nil {
			return wal.Record{}, false, err
		}
		prev = before.Sum
	}
	r, err := wal.Unseal(prev, stream, seq, bytes.Clone(v))
	return r, err == nil, err
}

// Last returns the newest record of a stream; see wal.Store.Last.
func (p *InMemory) Last(stream wal.Stream) (seq, sum uint64, err error) {
	lo, hi := wal.RecordRange(stream)
	err = p.ScanBack(lo, hi, func(k, v []byte) (bool, error) {
		r, err := wal.Decode(stream, binary.BigEndian.Uint64(k[9:]), v)
		seq, sum = r.Seq, r.Sum
		return false, err
	})
	return seq, sum, err
}

// InMemoryView is the journal as it was at one moment.
type InMemoryView struct {
	*InMemory
	ticket wal.Ticket
}

// View copies the rows that are visible now; see wal.Store.View.
func (p *InMemory) View() *InMemoryView {
	rows := make(map[string][]byte, len(p.rows))
	for k, v := range p.rows {
		rows[k] = v // the journal replaces values and never changes them, so the view may share them
	}
	return &InMemoryView{&InMemory{rows: rows, keys: slices.Clone(p.keys)}, p.submitted}
}

// Ticket returns the newest ticket at the moment when the view was opened.
func (v *InMemoryView) Ticket() wal.Ticket { return v.ticket }

// Close does nothing.
func (v *InMemoryView) Close() error { return nil }
