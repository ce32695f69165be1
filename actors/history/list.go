package history

import (
	"errors"
	"slices"
	"sort"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// index is one of an account's two lists: rows with dense numbers from 1, sorted by time.
type index struct {
	account pix.AccountID
	span    func(pix.AccountID) (lo, hi []byte)
	key     func(a pix.AccountID, n uint64) []byte
	read    func(v []byte) (entry, error)
}

// entry is a row of an index.
type entry struct {
	at      pix.Millis
	status  pix.TxStatus
	kind    pix.TxKind
	ordinal uint64 // of the item; 0: the row is the item's own, and its number is the ordinal
	seq     uint64 // sequence of the item's newest record; 0: its item row has it
}

// statementOf is the index of an account's booked movements.
func statementOf(a pix.AccountID) index {
	return index{a, layout.StatementOf, layout.StatementKey, func(v []byte) (entry, error) {
		r, err := layout.DecodeStatementRow(v)
		return entry{at: r.BookedAt, status: r.Status, kind: r.Kind, ordinal: r.Ordinal}, err
	}}
}

// itemsOf is the index of all transactions that an account's merchant has been shown.
func itemsOf(a pix.AccountID) index {
	return index{a, layout.ItemsOf, layout.ItemKey, func(v []byte) (entry, error) {
		r, err := layout.DecodeItemRow(v)
		return entry{at: r.CreatedAt, status: r.Status, kind: r.Kind, seq: r.Seq}, err
	}}
}

// newest returns the number of the newest row; 0 where there is none.
func (x *index) newest(v View) (n uint64, err error) {
	lo, hi := x.span(x.account)
	err = v.ScanBack(lo, hi, func(k, _ []byte) (bool, error) {
		n, err = layout.RowNumber(k)
		return false, err
	})
	return n, err
}

// before returns how many of the rows 1 to n are earlier than the instant at. Rows are sorted
// by time, so it reads few of them.
func (x *index) before(v View, n uint64, at pix.Millis) (uint64, error) {
	var failed error
	first := sort.Search(int(n), func(i int) bool {
		b, ok, err := v.Get(x.key(x.account, uint64(i)+1))
		if err == nil && !ok {
			err = errGap
		}
		var e entry
		if err == nil {
			e, err = x.read(b)
		}
		failed = errors.Join(failed, err)
		return err != nil || e.at >= at
	})
	return uint64(first), failed
}

var errGap = errors.New("history: a row of a list is missing")

// bounds returns the numbers of the first and last rows in the filter's span of time; the
// first is above the last where there are none.
func (x *index) bounds(v View, f *layout.Filter) (first, last uint64, err error) {
	if last, err = x.newest(v); err != nil || last == 0 {
		return 1, 0, err
	}
	first = 1
	if f.From > 0 {
		if first, err = x.before(v, last, f.From); err != nil {
			return 1, 0, err
		}
		first++
	}
	if f.Until > 0 {
		if last, err = x.before(v, last, f.Until); err != nil {
			return 1, 0, err
		}
	}
	return first, last, nil
}

// page returns the rows on a page, the newest first. Where the filter selects by time alone
// the page is found by counting; else rows are read from the newest on.
func (x *index) page(v View, f *layout.Filter, p layout.Page, limit *scanLimit) (rows []numberedRow, err error) {
	first, last, err := x.bounds(v, f)
	skip := uint64(p.Number-1) * uint64(p.Size)
	if err != nil || first > last || skip/uint64(p.Size) != uint64(p.Number-1) {
		return nil, err
	}
	if f.ByTime() {
		if skip > last-first {
			return nil, nil
		}
		last, skip = last-skip, 0
	}
	hi := append(x.key(x.account, last), 0)
	err = v.ScanBack(x.key(x.account, first), hi, func(k, b []byte) (bool, error) {
		e, err := x.read(b)
		if err == nil {
			err = limit.over()
		}
		if err != nil {
			return false, err
		}
		if !f.Has(e.status, e.kind) {
			return true, nil
		}
		if skip > 0 {
			skip--
			return true, nil
		}
		n, err := layout.RowNumber(k)
		rows = append(rows, numberedRow{n, e})
		return err == nil && len(rows) < p.Size, err
	})
	return rows, err
}

// numberedRow is a row of an index with its number.
type numberedRow struct {
	number uint64
	entry
}

// transactions reads the transactions that rows lead to, with what was refunded of them.
func (h *History) transactions(v View, a pix.AccountID, rows []numberedRow) ([]*ledger.Transaction, error) {
	if err := findRecords(v, a, rows); err != nil {
		return nil, err
	}
	seqs := make([]uint64, 0, len(rows))
	for _, r := range rows {
		seqs = append(seqs, r.seq)
	}
	slices.Sort(seqs)
	found := make(map[uint64]*ledger.Transaction, len(rows))
	err := v.Records(wal.Stream(a), seqs, func(w wal.Record) error {
		r, err := Decode(&w)
		if err != nil {
			return err
		}
		if r.Tx == nil {
			return errNoTransaction(a, w.Seq)
		}
		found[w.Seq] = r.Tx
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := make([]*ledger.Transaction, 0, len(rows))
	for _, r := range rows {
		all = append(all, found[r.seq])
	}
	return all, refunded(v, a, all)
}

// findRecords sets the sequence of the newest record of each row that has none. Where the
// items are near each other, it reads all item rows between them at once.
func findRecords(v View, a pix.AccountID, rows []numberedRow) error {
	first, last, missing := ^uint64(0), uint64(0), 0
	for _, r := range rows {
		if r.seq == 0 {
			first, last, missing = min(first, r.ordinal), max(last, r.ordinal), missing+1
		}
	}
	if missing == 0 {
		return nil
	}
	at := map[uint64]uint64{}
	if last-first < 4*uint64(missing) {
		err := v.Scan(layout.ItemKey(a, first), append(layout.ItemKey(a, last), 0), func(k, b []byte) (bool, error) {
			n, err := layout.RowNumber(k)
			if err != nil {
				return false, err
			}
			row, err := layout.DecodeItemRow(b)
			at[n] = row.Seq
			return err == nil, err
		})
		if err != nil {
			return err
		}
	}
	for i := range rows {
		r := &rows[i]
		if r.seq != 0 {
			continue
		}
		if r.seq = at[r.ordinal]; r.seq == 0 {
			row, err := itemRow(v, a, r.ordinal)
			if err != nil {
				return err
			}
			r.seq = row.Seq
		}
	}
	return nil
}
