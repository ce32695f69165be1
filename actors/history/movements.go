package history

import (
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// Booked returns the booking numbers of an account's first and last movements with
// from <= BookedAt < until; a bound that is 0 is none. Where there are no movements, last is
// less than first. Movements booked later have greater numbers.
func (h *History) Booked(a pix.AccountID, from, until pix.Millis) (first, last uint64, err error) {
	err = h.look(a, func(v View) error {
		x := statementOf(a)
		first, last, err = x.bounds(v, &layout.Filter{From: from, Until: until})
		return err
	})
	if err != nil {
		return 1, 0, err
	}
	return first, last, nil
}

// Movements returns an account's movements with the booking numbers first to last, the oldest
// first, each in its present state. All of them must be booked. It reads them in one view, so
// a long span should be read in parts.
func (h *History) Movements(a pix.AccountID, first, last uint64) ([]*ledger.Transaction, error) {
	return inView(h, a, func(v View) ([]*ledger.Transaction, error) {
		x := statementOf(a)
		rows, err := x.rows(v, first, last)
		if err != nil {
			return nil, err
		}
		return h.transactions(v, a, rows)
	})
}

// rows returns the rows with the numbers first to last, all of which must exist.
func (x *index) rows(v View, first, last uint64) ([]numberedRow, error) {
	if last < first {
		return nil, nil
	}
	rows := make([]numberedRow, 0, last-first+1)
	err := v.Scan(x.key(x.account, first), append(x.key(x.account, last), 0), func(_, b []byte) (bool, error) {
		e, err := x.read(b)
		rows = append(rows, numberedRow{first + uint64(len(rows)), e})
		return err == nil, err
	})
	if err == nil && uint64(len(rows)) != last-first+1 {
		err = errGap
	}
	return rows, err
}
