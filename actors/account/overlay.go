package account

import (
	"slices"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// Rows reads the facts that decisions need: rows by key and records by sequence.
type Rows interface {
	layout.Rows
	Record(a pix.AccountID, seq uint64) (*ledger.Record, error)
}

// overlay has the account's rows and records that are not durable yet. A reader looks in
// the overlay before it reads the store.
type overlay struct {
	rows    map[string]freshRow
	records map[uint64]*ledger.Record
	order   []freshKey // keys of all rows and records, in the order in which their entries were submitted
	// durable are the account's totals after its newest durable record, where the overlay is
	// not empty.
	durable ledger.Totals
}

type freshRow struct {
	value  []byte // the new value of the row; nil: the row is deleted
	ticket wal.Ticket
}

type freshKey struct {
	key    string
	seq    uint64 // sequence of the record, where key is empty; otherwise not used
	ticket wal.Ticket
}

// add keeps the records and rows of one entry until the entry's ticket is durable. before are
// the account's totals before the entry.
func (o *overlay) add(t wal.Ticket, records []ledger.Record, rows []layout.Row, before ledger.Totals) {
	if o.empty() {
		o.durable = before
	}
	if o.rows == nil {
		o.rows, o.records = map[string]freshRow{}, map[uint64]*ledger.Record{}
	}
	for i := range records {
		seq := records[i].Seq
		o.records[seq] = &records[i]
		o.order = append(o.order, freshKey{seq: seq, ticket: t})
	}
	for _, r := range rows {
		if !layout.IsFact(r.Key) {
			continue // no decision reads a row of this kind, so the overlay need not have it
		}
		key := string(r.Key)
		o.rows[key] = freshRow{r.Value, t}
		o.order = append(o.order, freshKey{key: key, ticket: t})
	}
}

// forget drops the rows and records that are durable: from now on the store has them.
func (o *overlay) forget(durable wal.Ticket) {
	n := 0
	for n < len(o.order) && o.order[n].ticket <= durable {
		k := o.order[n]
		if k.key == "" {
			o.durable = o.records[k.seq].Totals
			delete(o.records, k.seq)
		} else if o.rows[k.key].ticket == k.ticket {
			delete(o.rows, k.key)
		}
		n++
	}
	if n == len(o.order) {
		o.order = o.order[:0]
		return
	}
	o.order = o.order[n:]
}

// empty tells whether every entry that was submitted is durable.
func (o *overlay) empty() bool { return len(o.order) == 0 }

// between returns the keys in [lo, hi) of rows that are written or deleted and not durable
// yet, in ascending order.
func (o *overlay) between(lo, hi []byte) (keys []string) {
	for k := range o.rows {
		if k >= string(lo) && k < string(hi) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}
