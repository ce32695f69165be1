package engine

import (
	"bytes"
	"fmt"

	"pixd/actors/ledger"
	"pixd/actors/registry"
	"pixd/actors/sorted"
	"pixd/wal"
)

// comparison goes through the derived rows beside those that are there, both in the
// order of their keys.
type comparison struct {
	derived *sorted.Merged
	more    bool
	kept    uint16 // claims of days before it may have been dropped
	account func(ledger.AccountID) bool
}

func (c *comparison) next() { c.more = c.derived.Next() }

// there takes a row that is there.
func (c *comparison) there(key, value []byte) error {
	if err := c.absent(key); err != nil {
		return err
	}
	if id, ok := ledger.HeadOwner(key); ok && c.account(id) {
		return nil // a head is no record's alone: it was held against the records when they were replayed
	}
	d := c.derived.Row()
	switch {
	case !c.more || !bytes.Equal(d.Key, key):
		return fmt.Errorf("%s is there, and no record makes it", rowName(key))
	case d.Deleted:
		return fmt.Errorf("%s is there, and %s deletes it", rowName(key), recordName(d))
	case !bytes.Equal(d.Value, value):
		return fmt.Errorf("%s is not what %s makes", rowName(key), recordName(d))
	}
	c.next()
	return nil
}

// absent passes derived rows in front of a key, which are not there. Nil: of all.
func (c *comparison) absent(key []byte) error {
	for c.more && (key == nil || bytes.Compare(c.derived.Row().Key, key) < 0) {
		if d := c.derived.Row(); !d.Deleted && !c.dropped(d.Key) {
			return fmt.Errorf("%s is missing, and %s makes it", rowName(d.Key), recordName(d))
		}
		c.next()
	}
	return nil
}

// end passes the derived rows that are left.
func (c *comparison) end() error {
	if err := c.absent(nil); err != nil {
		return err
	}
	return c.derived.Err()
}

// dropped tells whether a row is of a day whose claims may be gone.
func (c *comparison) dropped(key []byte) bool {
	_, until := ledger.IdempotencyBefore(c.kept)
	return ledger.IsIdempotency(key) && bytes.Compare(key, until) < 0
}

// rowName is a row as an error names it.
func rowName(key []byte) string {
	name := ledger.RowName(key)
	if lo, hi := registry.ReservationRange(); name == "" && bytes.Compare(lo, key) <= 0 && bytes.Compare(key, hi) < 0 {
		name = "reservation"
	}
	if name == "" {
		name = "unknown"
	}
	return fmt.Sprintf("%s row %q", name, key)
}

// recordName is the record that writes or deletes a row.
func recordName(r *sorted.Row) string {
	if wal.Stream(r.Stream) == registry.Stream {
		return fmt.Sprintf("record %d of the registry", r.Seq)
	}
	return fmt.Sprintf("record %d of %v", r.Seq, ledger.AccountID(r.Stream))
}
