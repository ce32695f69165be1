package webhook

import (
	"fmt"

	"pixd/actors/layout"
	"pixd/wal"
)

// Hold holds every delivery that waits, until an operator or the merchant puts it back in line:
// it is due at layout.Held. It returns how many it held. write makes changes of rows durable, of
// at most so many deliveries at once; a crash between two calls of it leaves some deliveries
// held. No Dispatcher may run meanwhile.
func Hold(rows Rows, most int, write func([]wal.Op) error) (held int, err error) {
	lo, hi := layout.AllPending()
	for lo != nil {
		var ops []wal.Op
		n, next := 0, []byte(nil)
		err := rows.Scan(lo, hi, func(k, v []byte) (bool, error) {
			p, err := layout.DecodePending(k, v)
			if err != nil {
				return false, err
			}
			next = append(p.Key(), 0)
			if p.Due == layout.Held {
				return true, nil
			}
			changes, err := hold(rows, p)
			ops = append(ops, changes...)
			n++
			return n < most, err
		})
		if err == nil && len(ops) > 0 {
			err = write(ops)
		}
		if err != nil {
			return held, fmt.Errorf("webhook: hold: %w", err)
		}
		held += n
		if lo = next; n < most {
			lo = nil
		}
	}
	return held, nil
}

// hold returns the changes of rows that hold a delivery.
func hold(rows Rows, p layout.Pending) ([]wal.Op, error) {
	name := layout.DeliveryKey(p.Target, layout.DeliveryPending, p.Sequence)
	status, tried, err := layout.Find(rows, name, layout.DecodeDeliveryStatus)
	if err != nil {
		return nil, err
	}
	if !tried {
		status = p.Untried()
	}
	status.Due = layout.Held
	waits := p
	waits.Due = layout.Held
	return []wal.Op{
		{Kind: wal.OpDelete, Key: p.Key()},
		{Kind: wal.OpSet, Key: waits.Key(), Value: waits.Value()},
		{Kind: wal.OpSet, Key: name, Value: status.Encode()},
	}, nil
}
