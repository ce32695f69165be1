package webhook

import (
	"fmt"

	"pixd/actors/layout"
	"pixd/actors/pix"
	"pixd/wal"
)

// Keep is how long, in ms, the status of a delivery that has ended is kept, counted from its
// last attempt and at least from the event: 7 days of one that was delivered, 90 days of a dead one.
func Keep(s layout.DeliveryState) pix.Millis {
	const day = 24 * 60 * 60 * 1000
	if s == layout.DeliveryDelivered {
		return 7 * day
	}
	return 90 * day
}

// Sweep deletes the status of deliveries that ended long ago; see Keep. It is called from time
// to time.
func (d *Dispatcher) Sweep() error {
	lo, hi := layout.AllDeliveries()
	now := d.Now()
	if now.Doubted {
		return nil // nothing expires while the time is doubted
	}
	for lo != nil {
		next, ops, err := d.old(lo, hi, now.Time)
		if err != nil {
			return fmt.Errorf("webhook: expired deliveries: %w", err)
		}
		if len(ops) > 0 {
			done := make(chan error, 1)
			d.Journal.Append(&wal.Entry{Ops: ops, Shared: true, Out: []wal.Out{resultTo(done)}})
			select {
			case err := <-done:
				if err != nil {
					return err
				}
			case <-d.ending.Done():
				return nil
			}
		}
		lo = next
	}
	return nil
}

// old returns the deletions of expired rows at and behind lo, at most sweepRows of them, and
// where to go on; nil: the sweep is over. Of one subscription's rows in one state those of the oldest
// events come first, so that the first of a young event ends the search among them. One that was attempted
// long after its event, because somebody put it back in line, is passed over.
func (d *Dispatcher) old(lo, hi []byte, now pix.Millis) (next []byte, ops []wal.Op, err error) {
	err = d.Rows.Scan(lo, hi, func(k, v []byte) (bool, error) {
		t, state, _, err := layout.DecodeDeliveryKey(k)
		if err != nil {
			return false, err
		}
		_, over := layout.DeliveriesOf(t, state, 0)
		s, err := layout.DecodeDeliveryStatus(v)
		if err != nil {
			return false, err
		}
		if state == layout.DeliveryPending || s.CreatedAt+Keep(state) > now {
			next = over
			return false, nil
		}
		key := append([]byte(nil), k...)
		next = append(key[:len(key):len(key)], 0)
		if ended(s)+Keep(state) <= now {
			ops = append(ops, wal.Op{Kind: wal.OpDelete, Key: key})
		}
		return len(ops) < sweepRows, nil
	})
	if len(ops) == 0 && next == nil || err != nil {
		return nil, nil, err
	}
	return next, ops, nil
}

// ended is when a delivery's last attempt began; of one without an attempt, when its event was.
func ended(s *layout.DeliveryStatus) pix.Millis {
	if n := len(s.Attempts); n > 0 {
		return max(s.CreatedAt, s.Attempts[n-1].At)
	}
	return s.CreatedAt
}

// sweepRows is how many rows one entry of a sweep deletes at most.
const sweepRows = 1000
