package simulation

import (
	"cmp"
	"slices"

	"pixd/actors/history"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
	"pixd/wal/waltest"
)

// lists is the journal as history reads it. What a read has found may be told once told is
// called: as soon as the journal has nothing in work, or when that is durable.
type lists struct {
	*waltest.InMemory
	told func()
}

// Look implements history.Journal. It returns before what read has found is durable.
func (j *lists) Look(stream wal.Stream, read func(history.View) error) error {
	if err := read(snapshot{j.InMemory}); err != nil {
		return err
	}
	j.Append(&wal.Entry{Stream: stream, Out: []wal.Out{whenTold(j.told)}})
	return nil
}

// snapshot is the journal at the moment of a read: one goroutine reads, and nothing changes
// meanwhile.
type snapshot struct{ *waltest.InMemory }

// Last implements history.View.
func (m snapshot) Last(stream wal.Stream) (seq uint64, err error) {
	seq, _, err = m.InMemory.Last(stream)
	return seq, err
}

// Records implements history.View.
func (m snapshot) Records(stream wal.Stream, seqs []uint64, fn func(wal.Record) error) error {
	for _, seq := range seqs {
		r, ok, err := m.Record(stream, seq)
		if err == nil && !ok {
			err = &wal.Damage{Stream: stream, Seq: seq, What: "is missing"}
		}
		if err == nil {
			err = fn(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// whenTold is an Out that calls a function.
type whenTold func()

// Release implements wal.Out.
func (f whenTold) Release(err error) {
	if err == nil {
		f()
	}
}

// readList has a merchant read a page of a list. The page must be what the records make of the
// list at that moment. What the merchant was told must still be true after every crash.
func (l *life) readList() {
	id := l.someone()
	if l.flipped[id] || l.journal.Err() != nil {
		return
	}
	var page []*ledger.Transaction
	var read, durable bool
	tell := func() {
		for _, t := range page {
			l.answers = append(l.answers, answer{id, *t, false})
		}
		l.count("told: a list")
	}
	h := history.Over(&lists{l.journal, func() {
		if durable = true; read {
			tell()
		}
	}})
	f, p := l.someFilter(), layout.Page{Number: 1 + l.rng.IntN(3), Size: 1 + l.rng.IntN(12)}
	list, naive := h.Statement, l.statement
	if l.odds(2) {
		f.Direction = layout.FilterDirection(l.rng.IntN(3))
		list, naive = func(a pix.AccountID, f layout.Filter, p layout.Page) ([]*ledger.Transaction, error) {
			return h.Transactions(a, "", f, p)
		}, l.transactions
	}
	var err error
	if page, err = list(id, f, p); err != nil {
		l.fail("a list of %v: %v", id, err)
		return
	}
	want := naive(l.allOf(id), f, p)
	same := slices.EqualFunc(page, want, func(a, b *ledger.Transaction) bool { return a.ID == b.ID && a.Record() == b.Record() })
	if !same {
		l.fail("page %+v of %v with %+v has %v, the records make %v", p, id, f, named(page), named(want))
	}
	if read = true; durable {
		tell()
	}
}

func (l *life) someFilter() (f layout.Filter) {
	f.Status = layout.FilterStatus(l.rng.IntN(6) * l.rng.IntN(2))
	f.Type = layout.FilterType(l.rng.IntN(4) * l.rng.IntN(2))
	if l.odds(3) {
		f.From = l.clock - pix.Millis(l.rng.Int64N(2*int64(day)))
	}
	if l.odds(3) {
		f.Until = max(1, f.From) + pix.Millis(l.rng.Int64N(2*int64(day)))
	}
	return f
}

// allOf returns an account's transactions as in their newest records.
func (l *life) allOf(id pix.AccountID) (all []*ledger.Transaction) {
	newest := map[pix.TxID]*ledger.Transaction{}
	lo, hi := wal.RecordRange(wal.Stream(id))
	err := l.journal.Scan(lo, hi, func(k, _ []byte) (bool, error) {
		r, err := rows{l.journal}.Record(id, number(k[9:17]))
		if err == nil && r.Tx != nil {
			newest[r.Tx.ID] = r.Tx
		}
		return true, err
	})
	if err != nil {
		l.fail("records of %v: %v", id, err)
	}
	for _, t := range newest {
		all = append(all, t)
	}
	return all
}

// transactions makes a page of all transactions that the merchant has been shown.
func (l *life) transactions(all []*ledger.Transaction, f layout.Filter, p layout.Page) []*ledger.Transaction {
	return part(selected(all, f, func(t *ledger.Transaction) (uint64, pix.Millis) { return t.Ordinal, t.CreatedAt }), p)
}

// statement makes a page of a statement: on page 1, what is in flight and then the movements.
func (l *life) statement(all []*ledger.Transaction, f layout.Filter, p layout.Page) []*ledger.Transaction {
	var page []*ledger.Transaction
	if f.Status != layout.FilterProcessing {
		page = part(selected(all, f, func(t *ledger.Transaction) (uint64, pix.Millis) { return t.Booking, t.BookedAt }), p)
	}
	if p.Number > 1 || f.Status != layout.AnyStatus && f.Status != layout.FilterProcessing {
		return page
	}
	f.Status = layout.FilterProcessing
	return append(selected(all, f, func(t *ledger.Transaction) (uint64, pix.Millis) { return t.Ordinal, t.CreatedAt }), page...)
}

// selected returns the transactions that a filter selects and that have a place in a list, the
// newest place first.
func selected(all []*ledger.Transaction, f layout.Filter, place func(*ledger.Transaction) (uint64, pix.Millis)) (found []*ledger.Transaction) {
	for _, t := range all {
		if n, at := place(t); n > 0 && f.Has(t.Status, t.Kind) && at >= f.From && (f.Until == 0 || at < f.Until) {
			found = append(found, t)
		}
	}
	slices.SortFunc(found, func(a, b *ledger.Transaction) int {
		x, _ := place(a)
		y, _ := place(b)
		return cmp.Compare(y, x)
	})
	return found
}

func part(all []*ledger.Transaction, p layout.Page) []*ledger.Transaction {
	from := min(len(all), (p.Number-1)*p.Size)
	return all[from:min(len(all), from+p.Size)]
}

func named(all []*ledger.Transaction) (names []string) {
	for _, t := range all {
		names = append(names, t.Public()+" "+t.Status.String())
	}
	return names
}
