package due

import (
	"bytes"

	"pixd/actors/ledger"
)

// cursor is a place among the due rows of one kind. It only goes forward.
type cursor struct {
	kind   ledger.DueKind
	next   []byte        // the first key that it has not passed
	more   bool          // it stopped before the end of what is due
	lookAt ledger.Millis // when it looks again, where it did not
}

func newCursor(k ledger.DueKind) cursor {
	lo, _ := ledger.DueRange(k, 0, 0)
	return cursor{kind: k, next: lo}
}

// scan calls fn for the rows up to an instant, at most so many of them, until fn does
// not take one; true where it has come to the end.
func (c *cursor) scan(rows Rows, until ledger.Millis, most int, fn func(ledger.Due) (taken bool, err error)) (over bool, err error) {
	_, hi := ledger.DueRange(c.kind, 0, max(until+1, 0))
	if bytes.Compare(c.next, hi) >= 0 {
		return true, nil
	}
	over = true
	err = rows.Scan(c.next, hi, func(k, v []byte) (bool, error) {
		d, err := ledger.DecodeDue(k, v)
		if err != nil {
			return false, err
		}
		if most--; most < 0 {
			over = false
			return false, nil
		}
		taken, err := fn(d)
		if err != nil || !taken {
			over = false
			return false, err
		}
		c.next = ledger.DueKeyAfter(&d)
		return true, nil
	})
	if err != nil {
		return false, err
	}
	if over {
		c.next = hi
	}
	return over, nil
}

// before tells whether the cursor stands before a row.
func (c *cursor) before(d ledger.Due) bool {
	return bytes.Compare(c.next, ledger.DueKey(d.Kind, d.At, d.Account, d.ID)) <= 0
}
