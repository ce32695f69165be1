package due

import (
	"bytes"

	"pixd/actors/ledger"
)

// cursor is a position among the due rows of one kind, in the order of their keys. It only
// moves forward.
type cursor struct {
	kind   ledger.DueKind
	next   []byte        // the first key that the cursor has not passed
	more   bool          // the last scan stopped before the end of the due rows
	lookAt ledger.Millis // when to scan again, where more is false
}

func newCursor(k ledger.DueKind) cursor {
	lo, _ := ledger.DueRange(k, 0, 0)
	return cursor{kind: k, next: lo}
}

// scan calls fn for the rows that are due by until, in order. It stops at a row that fn
// does not take, and after the number of rows that most allows. over is true where the
// cursor has passed all due rows.
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

// before tells whether the cursor has not passed a row yet.
func (c *cursor) before(d ledger.Due) bool {
	return bytes.Compare(c.next, ledger.DueKey(d.Kind, d.At, d.Account, d.ID)) <= 0
}
