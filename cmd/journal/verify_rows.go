package journal

import (
	"bytes"
	"cmp"
	"fmt"

	"pixd/actors/layout"
	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/actors/sorted"
	"pixd/wal"
)

// comparison goes through the derived and the stored rows side by side, both in the order
// of their keys.
type comparison struct {
	derived *sorted.Merged
	more    bool
	kept    uint16     // the first day of which all claims must still be stored
	young   pix.Millis // the deliveries of events from this time on must be stored
	store   *wal.Store
	account func(pix.AccountID) bool
}

func (c *comparison) next() { c.more = c.derived.Next() }

// compareStoredRow compares the next stored row with the derived rows.
func (c *comparison) compareStoredRow(key, value []byte) error {
	if err := c.absent(key); err != nil {
		return err
	}
	if id, ok := layout.HeadOwner(key); ok && c.account(id) {
		return nil // a head row is compared when the account's records are replayed
	}
	if layout.IsDelivery(key) {
		return c.delivery(key, value)
	}
	d := c.derived.Row()
	switch {
	case (!c.more || !bytes.Equal(d.Key, key)) && layout.IsPending(key):
		return c.attempted(key, value)
	case !c.more || !bytes.Equal(d.Key, key):
		return fmt.Errorf("%s is there, and no record makes it", rowName(key))
	case d.Deleted:
		return fmt.Errorf("%s is there, and %s deletes it", rowName(key), recordName(d))
	case !bytes.Equal(d.Value, value):
		return fmt.Errorf("%s is not what %s makes", rowName(key), recordName(d))
	}
	c.next()
	if layout.IsPending(key) {
		p, err := layout.DecodePending(key, value)
		if err != nil {
			return err
		}
		return c.waitsAlone(p, key)
	}
	return nil
}

// absent goes past the derived rows whose keys come before key. They are not stored, which is
// an error unless they may have been dropped. A nil key stands for the end.
func (c *comparison) absent(key []byte) error {
	for c.more && (key == nil || bytes.Compare(c.derived.Row().Key, key) < 0) {
		d := c.derived.Row()
		if !d.Deleted && !c.dropped(d.Key) {
			if known, err := c.delivered(d); err != nil {
				return err
			} else if !known {
				return fmt.Errorf("%s is missing, and %s makes it", rowName(d.Key), recordName(d))
			}
		}
		c.next()
	}
	return nil
}

// finish goes past the derived rows that are left after the last stored row.
func (c *comparison) finish() error {
	if err := c.absent(nil); err != nil {
		return err
	}
	return c.derived.Err()
}

// dropped reports whether a row is an idempotency claim so old that it may have been dropped.
func (c *comparison) dropped(key []byte) bool {
	_, until := layout.IdempotencyBefore(c.kept)
	return layout.IsIdempotency(key) && bytes.Compare(key, until) < 0
}

// rowName returns the name of a row for an error.
func rowName(key []byte) string {
	return fmt.Sprintf("%s row %q", cmp.Or(layout.RowName(key), registry.RowName(key), "unknown"), key)
}

// recordName returns the name, for an error, of the record that writes or deletes a row.
func recordName(r *sorted.Row) string {
	if name := registry.StreamName(wal.Stream(r.Stream)); name != "" {
		return fmt.Sprintf("record %d of the %s", r.Seq, name)
	}
	return fmt.Sprintf("record %d of %v", r.Seq, pix.AccountID(r.Stream))
}
