package webhook

import (
	"errors"
	"testing"

	"pixd/actors/ledger"
)

// closeFails are rows of which the first scan fails after it has visited a row.
type closeFails struct {
	*shelf
	scans int
}

// Scan implements layout.Rows.
func (c *closeFails) Scan(lo, hi []byte, fn func(k, v []byte) (bool, error)) error {
	err := c.shelf.Scan(lo, hi, fn)
	if c.scans++; c.scans == 1 {
		return errors.New("not closed")
	}
	return err
}

// TestFindAfterAFailedScan checks that a subscription is found whose row was visited by a scan that
// failed afterwards.
func TestFindAfterAFailedScan(t *testing.T) {
	s := newShelf()
	s.subscribe(target(1), ledger.SubscriptionActive)
	s.wait(target(1), 7, t0)
	m, rows := New(nil, DefaultBounds()), &closeFails{shelf: s}
	if tasks, err := m.Tick(t0+1000, rows); err == nil || len(tasks) != 0 {
		t.Errorf("%d tasks, %v", len(tasks), err)
	}
	if tasks, err := m.Tick(t0+2000, rows); err != nil || len(tasks) != 1 {
		t.Errorf("%d tasks, %v", len(tasks), err)
	}
}
