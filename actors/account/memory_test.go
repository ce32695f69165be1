package account

import (
	"fmt"
	"maps"
	"slices"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// memory is a store in a map: the rows and records that a machine's entries have written. A
// test sets durable itself, and so decides which entries the machine treats as durable.
type memory struct {
	rows    map[string][]byte
	records map[wal.Stream][]wal.Record
	ticket  wal.Ticket
	durable wal.Ticket
}

func newMemory() *memory {
	return &memory{rows: map[string][]byte{}, records: map[wal.Stream][]wal.Record{}}
}

func (m *memory) append(e *wal.Entry) wal.Ticket {
	for _, s := range e.Records {
		have := m.records[e.Stream]
		prev := uint64(0)
		if len(have) > 0 {
			prev = have[len(have)-1].Sum
		}
		r, err := wal.Unseal(prev, e.Stream, s.Seq, s.Value)
		if err != nil || r.Seq != uint64(len(have))+1 {
			panic(fmt.Sprintf("record %d: %v", s.Seq, err))
		}
		r.Body = slices.Clone(r.Body)
		m.records[e.Stream] = append(have, r)
	}
	for _, o := range e.Ops {
		if o.Kind == wal.OpDelete {
			delete(m.rows, string(o.Key))
		} else {
			m.rows[string(o.Key)] = slices.Clone(o.Value)
		}
	}
	m.ticket++
	return m.ticket
}

func (m *memory) Get(key []byte) ([]byte, bool, error) {
	v, ok := m.rows[string(key)]
	return slices.Clone(v), ok, nil
}

func (m *memory) Scan(lo, hi []byte, fn func(k, v []byte) (bool, error)) error {
	for _, k := range slices.Sorted(maps.Keys(m.rows)) {
		if k < string(lo) || k >= string(hi) {
			continue
		}
		if more, err := fn([]byte(k), m.rows[k]); err != nil || !more {
			return err
		}
	}
	return nil
}

func (m *memory) Record(a pix.AccountID, seq uint64) (*ledger.Record, error) {
	all := m.records[wal.Stream(a)]
	if seq == 0 || seq > uint64(len(all)) {
		return nil, fmt.Errorf("record %d of %v is missing", seq, a)
	}
	w := all[seq-1]
	r := &ledger.Record{Account: a, Seq: w.Seq, Time: pix.Millis(w.Time), Kind: ledger.RecordKind(w.Kind)}
	return r, r.Decode(w.Body)
}

func (m *memory) Read(stream wal.Stream, from, _ uint64, fn func(wal.Record) error) error {
	all := m.records[stream]
	for i := int(from) - 1; i < len(all); i++ {
		if err := fn(all[i]); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) Last(stream wal.Stream) (seq, sum uint64, err error) {
	all := m.records[stream]
	if len(all) == 0 {
		return 0, 0, nil
	}
	last := all[len(all)-1]
	return last.Seq, last.Sum, nil
}
