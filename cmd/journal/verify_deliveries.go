package journal

import (
	"fmt"

	"pixd/actors/history"
	"pixd/actors/layout"
	"pixd/actors/pix"
	"pixd/actors/sorted"
	"pixd/actors/webhook"
)

// The rows of deliveries are derived from records only until the first attempt. After that the
// dispatcher of webhooks replaces them, and keeps a status row that no record derives. A
// delivery must have either the row that its record makes, or a status row that names the
// record.

// delivered tells whether the row of a pending delivery may be missing: a status row says what
// became of the delivery, or the event is so old that its status was dropped.
func (c *comparison) delivered(d *sorted.Row) (bool, error) {
	if !layout.IsPending(d.Key) {
		return false, nil
	}
	p, err := layout.DecodePending(d.Key, d.Value)
	if err != nil {
		return false, err
	}
	for _, state := range []layout.DeliveryState{layout.DeliveryDelivered, layout.DeliveryPending, layout.DeliveryDead} {
		b, ok, err := c.store.Get(layout.DeliveryKey(p.Target, state, p.Sequence))
		if err != nil {
			return false, err
		}
		if !ok {
			continue
		}
		s, err := layout.DecodeDeliveryStatus(b)
		if err != nil {
			return false, err
		}
		if s.Record != p.Record || s.Event != p.Event {
			return false, fmt.Errorf("the status of event %d for subscription %d of %v names record %d, and %s makes the event", p.Sequence, p.Number, p.Account, s.Record, recordName(d))
		}
		return true, nil
	}
	return p.Due < c.young, nil
}

// attempted checks the row of a delivery that waits for another attempt than its first: its
// status must name the row's due time, and its record must cause the delivery.
func (c *comparison) attempted(key, value []byte) error {
	p, err := layout.DecodePending(key, value)
	if err != nil {
		return err
	}
	b, ok, err := c.store.Get(layout.DeliveryKey(p.Target, layout.DeliveryPending, p.Sequence))
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%s is there, and no record makes it", rowName(key))
	}
	s, err := layout.DecodeDeliveryStatus(b)
	if err != nil {
		return err
	}
	if s.Due != p.Due || s.Record != p.Record || s.Event != p.Event {
		return fmt.Errorf("%s is not what the delivery's status says", rowName(key))
	}
	if err := c.waitsAlone(p, key); err != nil {
		return err
	}
	r, err := history.Record(c.store, p.Account, p.Record)
	if err != nil {
		return err
	}
	for _, w := range r.Waiting() {
		if w.Target == p.Target && w.Sequence == p.Sequence && w.Event == p.Event {
			return nil
		}
	}
	return fmt.Errorf("%s is there, and record %d of %v causes no such delivery", rowName(key), p.Record, p.Account)
}

// waitsAlone checks that a delivery with a row that waits has not ended.
func (c *comparison) waitsAlone(p layout.Pending, key []byte) error {
	for _, state := range []layout.DeliveryState{layout.DeliveryDelivered, layout.DeliveryDead} {
		_, ended, err := c.store.Get(layout.DeliveryKey(p.Target, state, p.Sequence))
		if err != nil {
			return err
		}
		if ended {
			return fmt.Errorf("%s is there, and the delivery is %v", rowName(key), state)
		}
	}
	return nil
}

// delivery checks a status row by itself. One of a delivery that waits must have its row with
// the due time.
func (c *comparison) delivery(key, value []byte) error {
	t, state, sequence, err := layout.DecodeDeliveryKey(key)
	if err != nil {
		return err
	}
	s, err := layout.DecodeDeliveryStatus(value)
	if err != nil {
		return fmt.Errorf("%s: %w", rowName(key), err)
	}
	if (state == layout.DeliveryPending) != (s.Due != 0) {
		return fmt.Errorf("%s is %v, and its next attempt is due at %v", rowName(key), state, s.Due)
	}
	if state != layout.DeliveryPending {
		return nil
	}
	_, ok, err := c.store.Get(layout.PendingKey(t, s.Due, sequence))
	if err == nil && !ok {
		err = fmt.Errorf("%s says that an attempt is due, and no row is due then", rowName(key))
	}
	return err
}

// youngDeliveries is the time of the oldest events of which the status of every delivery must
// still be stored, by the time of the journal's newest batch.
func youngDeliveries(newest pix.Millis) pix.Millis {
	return newest - webhook.Keep(layout.DeliveryDelivered)
}
