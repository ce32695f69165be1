package history

import (
	"cmp"
	"errors"
	"slices"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// mostInFlight is how many transactions in flight the first page of a statement shows at most.
const mostInFlight = 1000

// Statement returns one page of an account's statement: first, on page 1 and under no status
// or the status processing, what is in flight, the newest first; then the movements, the
// newest first. The filter's span of time is that of the final status or, for what is in
// flight, of its creation. The filter's direction does not count.
func (h *History) Statement(a pix.AccountID, f layout.Filter, p layout.Page) ([]*ledger.Transaction, error) {
	f.Direction = layout.AnyDirection
	return h.listed(a, f.ByTime(), func(v View, limit *scanLimit) (all []*ledger.Transaction, err error) {
		if p.Number == 1 && (f.Status == layout.AnyStatus || f.Status == layout.FilterProcessing) && f.Type != layout.FilterTED && f.Type != layout.FilterInternal {
			if all, err = h.inFlight(v, a, &f, limit); err != nil {
				return nil, err
			}
		}
		if f.Status == layout.FilterProcessing {
			return all, nil // what is in flight has no place among the movements
		}
		x := statementOf(a)
		rows, err := x.page(v, &f, p, limit)
		if err != nil {
			return nil, err
		}
		booked, err := h.transactions(v, a, rows)
		return append(all, booked...), err
	})
}

// Transactions returns one page of all of an account's transactions, the newest first. The
// filter's span of time is that of the creation. If external is not empty, only transactions
// with that external id count; the pages that lie among the newest fewRows of them need no place, nor
// does an original of which nothing was given back.
func (h *History) Transactions(a pix.AccountID, external string, f layout.Filter, p layout.Page) ([]*ledger.Transaction, error) {
	few := f.Original != "" || f.ByTime() && (external == "" || p.Number <= fewRows/p.Size)
	return h.listed(a, few, func(v View, limit *scanLimit) ([]*ledger.Transaction, error) {
		if f.Original != "" {
			return h.ofOriginal(v, a, external, &f, p, limit)
		}
		x := itemsOf(a)
		find := func() ([]numberedRow, error) { return x.page(v, &f, p, limit) }
		if external != "" {
			find = func() ([]numberedRow, error) { return x.rowsByExternalID(v, external, &f, p, limit) }
		}
		rows, err := find()
		if err != nil {
			return nil, err
		}
		return h.transactions(v, a, rows)
	})
}

// listed runs a read of a list. few says that the read looks at few rows, unless it finds that
// it needs a place; any other read needs one in any case.
func (h *History) listed(a pix.AccountID, few bool, read func(View, *scanLimit) ([]*ledger.Transaction, error)) ([]*ledger.Transaction, error) {
	within := func(limit *scanLimit) ([]*ledger.Transaction, error) {
		return lookUp(h, a, func(v View) ([]*ledger.Transaction, error) { return read(v, limit) })
	}
	if few {
		all, err := within(&scanLimit{})
		if !errors.Is(err, errPlace) {
			return all, err
		}
	}
	return limited(h, a, within)
}

// manyInFlight is how many transactions in flight are found one by one at most. Where there are
// more, most of the newest transactions are in flight, so these are read instead.
const manyInFlight = 10_000

// inFlight returns what is in flight, the newest first. More than fewRows are found only by a
// read with a place.
func (h *History) inFlight(v View, a pix.AccountID, f *layout.Filter, limit *scanLimit) ([]*ledger.Transaction, error) {
	x := itemsOf(a)
	first, last, err := x.bounds(v, f)
	if err != nil || first > last {
		return nil, err
	}
	most := h.many
	if limit.ctx == nil {
		most = fewRows
	}
	ids, err := openIDs(v, a, most+1)
	switch {
	case err != nil:
		return nil, err
	case len(ids) > most && limit.ctx == nil:
		return nil, errPlace
	case len(ids) > most:
		newest := *f
		newest.Status = layout.FilterProcessing
		rows, err := x.page(v, &newest, layout.Page{Number: 1, Size: mostInFlight}, limit)
		if err != nil {
			return nil, err
		}
		return h.transactions(v, a, rows)
	}
	var rows []numberedRow
	for _, id := range ids {
		n, err := ordinalOf(v, id)
		if err != nil {
			return nil, err
		}
		if n >= first && n <= last {
			rows = append(rows, numberedRow{number: n, entry: entry{ordinal: n}})
		}
	}
	slices.SortFunc(rows, func(a, b numberedRow) int { return cmp.Compare(b.number, a.number) })
	return h.transactions(v, a, rows[:min(len(rows), mostInFlight)])
}

// openIDs returns the ids of an account's transactions in flight, at most the first ones.
func openIDs(v View, a pix.AccountID, most int) (ids []pix.TxID, err error) {
	lo, hi := layout.OpenOf(a)
	err = v.Scan(lo, hi, func(k, _ []byte) (bool, error) {
		_, id, err := layout.DecodeOpenKey(k)
		ids = append(ids, id)
		return err == nil && len(ids) < most, err
	})
	return ids, err
}

// ordinalOf returns the ordinal of a transaction that the merchant can see.
func ordinalOf(v View, id pix.TxID) (uint64, error) {
	row, ok, err := layout.Find(v, layout.IDKey(id.Short()), layout.DecodeIDRow)
	if err == nil && !ok {
		err = errGap
	}
	return row.Ordinal, err
}

// rowsByExternalID returns the rows on a page of the transactions with an external id, the newest first.
func (x *index) rowsByExternalID(v View, external string, f *layout.Filter, p layout.Page, limit *scanLimit) (rows []numberedRow, err error) {
	first, last, err := x.bounds(v, f)
	skip := uint64(p.Number-1) * uint64(p.Size)
	if err != nil || first > last || skip/uint64(p.Size) != uint64(p.Number-1) {
		return nil, err
	}
	lo, hi := layout.ExternalKey(x.account, external, first), append(layout.ExternalKey(x.account, external, last), 0)
	err = v.ScanBack(lo, hi, func(k, _ []byte) (bool, error) {
		if err := limit.over(); err != nil {
			return false, err
		}
		if skip > 0 && f.ByTime() { // its item need not be read to be passed over
			skip--
			return true, nil
		}
		n, err := layout.ExternalOrdinal(k)
		if err != nil {
			return false, err
		}
		row, err := itemRow(v, x.account, n)
		if err != nil || !f.Has(row.Status, row.Kind) {
			return err == nil, err
		}
		if skip > 0 {
			skip--
			return true, nil
		}
		rows = append(rows, numberedRow{n, entry{seq: row.Seq}})
		return len(rows) < p.Size, nil
	})
	return rows, err
}
