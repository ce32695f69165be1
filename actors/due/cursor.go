package due

import (
	"bytes"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// cursor is a position among the due rows of one kind, in the order of their keys. It only
// moves forward.
type cursor struct {
	kind   layout.DueKind
	next   []byte     // the key at which the next scan begins
	more   bool       // true: the last scan stopped at a row that may still need a task
	lookAt pix.Millis // engine time of the next scan, where more is false
}

func newCursor(k layout.DueKind) cursor {
	lo, _ := layout.DueRange(k, 0, 0)
	return cursor{kind: k, next: lo}
}

// scan calls fn for the rows whose due time is until or earlier, in order. It stops at the
// first row for which fn returns false, and after it has read the number of rows most. over
// is true where the cursor has passed all due rows.
func (c *cursor) scan(s *step, until pix.Millis, most int, fn func(layout.Due) (taken bool, err error)) (over bool, err error) {
	_, hi := layout.DueRange(c.kind, 0, max(until+1, 0))
	if bytes.Compare(c.next, hi) >= 0 {
		return true, nil
	}
	over = true
	err = s.rows.Scan(c.next, hi, func(k, v []byte) (bool, error) {
		d, err := layout.DecodeDue(k, v)
		if err != nil {
			s.note(err)
			c.next = append(bytes.Clone(k), 0)
			return true, nil
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
		c.next = layout.DueKeyAfter(&d)
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

// before tells whether the cursor is still before the row: it will find the row later.
func (c *cursor) before(d layout.Due) bool {
	return bytes.Compare(c.next, layout.DueKey(d.Kind, d.At, d.Account, d.ID)) <= 0
}
