package simulation

import (
	"bytes"
	"maps"
	"strings"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/wal"
	"pixd/wal/waltest"
)

// rebuilt checks every record, and compares the journal's rows with the rows that the records
// alone make.
func (l *life) rebuilt() {
	maps.DeleteFunc(l.seen, func(what string, _ int) bool {
		return strings.HasPrefix(what, "record: ") || strings.HasPrefix(what, "money: ") || strings.HasPrefix(what, "meeting: ")
	})
	chronicled := newChronicle(l.reads)
	want, err := l.derived(func(r *ledger.Record) { chronicled.take(l, r) })
	if err != nil {
		l.fail("rebuild: %v", err)
	}
	chronicled.judge(l)
	l.chronicle0 = chronicled
	if len(l.flipped) > 0 {
		return // the rows of an account with a damaged record cannot be told from the rows of others
	}
	chronicled.delivered(l)
	l.sameRows(want)
}

// compareRows compares the journal's rows with the rows that the records alone make.
func (l *life) compareRows() error {
	want, err := l.derived(func(*ledger.Record) {})
	if err == nil {
		l.sameRows(want)
	}
	return err
}

// derived returns the rows that the records alone make. It calls take with each record of an
// account.
func (l *life) derived(take func(*ledger.Record)) (*waltest.InMemory, error) {
	want := waltest.NewInMemory(layout.SetOnce...)
	return want, l.journal.Scan([]byte{'J'}, []byte{'J' + 1}, func(k, _ []byte) (bool, error) {
		stream, seq := wal.Stream(number(k[1:9])), number(k[9:17])
		if registry.Owns(stream) {
			return true, l.claimsAgain(stream, seq, want)
		}
		if l.flipped[pix.AccountID(stream)] {
			return true, nil
		}
		r, err := rows{l.journal}.Record(pix.AccountID(stream), seq)
		if err != nil {
			return false, err
		}
		take(r)
		e := &wal.Entry{}
		for _, row := range ledger.Project(nil, r) {
			op := wal.Op{Kind: wal.OpSet, Key: row.Key, Value: row.Value}
			if row.Value == nil {
				op.Kind = wal.OpDelete
			}
			e.Ops = append(e.Ops, op)
		}
		want.Append(e)
		want.Settle()
		return true, nil
	})
}

// sameRows compares the journal's rows with those of want.
func (l *life) sameRows(want *waltest.InMemory) {
	have := dump(l.journal)
	first, kept := layout.IdempotencyBefore(l.dropped)
	for k, v := range dump(want) {
		if have[k] == nil && k >= string(first) && k < string(kept) {
			continue // a claim that was dropped
		}
		if !bytes.Equal(have[k], v) {
			l.fail("row %x is %x, the records make %x", k, have[k], v)
		}
		delete(have, k)
	}
	for k := range have {
		l.fail("row %x comes of no record", k)
	}
}

// claimsAgain writes to want the rows that one record of the registry makes.
func (l *life) claimsAgain(stream wal.Stream, seq uint64, want *waltest.InMemory) error {
	w, _, err := l.journal.Record(stream, seq)
	r := registry.Record{Kind: registry.RecordKind(w.Kind), Seq: w.Seq, Time: pix.Millis(w.Time)}
	if err == nil {
		err = r.Decode(w.Body)
	}
	if err != nil {
		return err
	}
	for _, row := range registry.Project(&r) {
		want.Append(&wal.Entry{Ops: []wal.Op{{Kind: wal.OpSet, Key: row.Key, Value: row.Value}}})
	}
	want.Settle()
	return nil
}

func number(b []byte) (n uint64) {
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	return n
}

// dump returns the rows of p that records make, without the head rows, and without the rows of
// deliveries, which change with each attempt.
func dump(p *waltest.InMemory) map[string][]byte {
	out := map[string][]byte{}
	_ = p.Scan([]byte{'a'}, []byte{'z' + 1}, func(k, v []byte) (bool, error) {
		if k[0] != 'h' && !layout.IsPending(k) && !layout.IsDelivery(k) {
			out[string(k)] = v
		}
		return true, nil
	})
	return out
}
