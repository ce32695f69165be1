package webhook

import (
	"errors"
	"time"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// Retry puts one delivery of an event back in line, whatever became of it: its next attempt is due
// now, and the schedule begins anew. It returns once that is durable. While an attempt runs it waits for its
// end; where that delivers, nothing more is to be done. Errors: layout.ErrNoDelivery;
// layout.ErrSubscriptionEnded where the subscription gets nothing any more; ledger.ErrBusy where the attempt
// takes longer than attemptWithin, or too many requests wait so; ledger.ErrCut where the process ends first; the store failed.
func (d *Dispatcher) Retry(t layout.Target, e ledger.Event) error {
	if err := d.checkActive(t); err != nil {
		return err
	}
	done := make(chan error, 1)
	waits, err := d.again(t, e.Sequence, e.Record.Time, done)
	if err == nil && !waits {
		waits, err = d.behindAttempt(t, e.Sequence, e.Record.Time, done)
	}
	if err != nil || !waits {
		return err
	}
	return d.await(done)
}

const (
	attemptLook   = 50 * time.Millisecond // between two looks at whether an attempt has ended
	attemptWithin = 30 * time.Second      // so long its end is waited for
	behindAtOnce  = 256                   // requests that wait for the end of an attempt
	behindShare   = 16                    // of them those of one account
)

// behindAttempt puts a delivery back in line once its attempt that runs has ended and did not deliver. Its results
// are those of again.
func (d *Dispatcher) behindAttempt(t layout.Target, sequence uint64, at pix.Millis, done chan<- error) (waits bool, err error) {
	if d.behind.Take(d.ending, t.Account) != nil { // none is waited for
		return false, ledger.ErrBusy
	}
	defer d.behind.Give(t.Account)
	late := time.NewTimer(attemptWithin)
	defer late.Stop()
	for {
		select {
		case <-d.ending.Done():
			return false, ledger.ErrCut
		case <-late.C:
			return false, ledger.ErrBusy
		case <-time.After(attemptLook):
		}
		if d.attempts(t, sequence) {
			continue
		}
		if err := d.checkActive(t); err != nil { // the receiver may have answered that it is gone
			return false, err
		}
		state, _, err := layout.FindDelivery(d.Rows, t, sequence, at)
		if err != nil || state == layout.DeliveryDelivered {
			return false, err
		}
		if waits, err := d.again(t, sequence, at, done); waits || err != nil {
			return waits, err
		}
	}
}

// attempts tells whether an attempt of a delivery runs, or its result is not durable yet.
func (d *Dispatcher) attempts(t layout.Target, sequence uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	// A task whose end is durable, and not yet known to the machine, must not count as running.
	d.inbox.Into(d.machine)
	return d.machine.attempts(t, sequence)
}

// await waits until a change is durable. A store that has failed says nothing any more: then
// the end of the process ends the wait, and it is not known whether the change is durable.
func (d *Dispatcher) await(done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-d.ending.Done():
		return ledger.ErrCut
	}
}

// RetryAll puts all dead deliveries of a subscription, and all that are held, back in line and
// returns their number. Where it fails, some may be back in line.
func (d *Dispatcher) RetryAll(t layout.Target) (n int, err error) {
	if err := d.checkActive(t); err != nil {
		return 0, err
	}
	for _, state := range []layout.DeliveryState{layout.DeliveryDead, layout.DeliveryPending} {
		for from := uint64(0); ; {
			all, err := d.left(t, state, from)
			if err != nil || len(all) == 0 {
				if err != nil {
					return n, err
				}
				break
			}
			started, err := d.retryThese(t, all)
			n += started
			if err != nil {
				return n, err
			}
			from = all[len(all)-1] + 1
		}
	}
	return n, nil
}

// retryTogether is how many deliveries RetryAll puts back in line at once.
const retryTogether = 256

// left returns the events of the next deliveries in a state, from a sequence on, of which no
// attempt follows.
func (d *Dispatcher) left(t layout.Target, state layout.DeliveryState, from uint64) (all []uint64, err error) {
	lo, hi := layout.DeliveriesOf(t, state, from)
	err = d.Rows.Scan(lo, hi, func(k, v []byte) (bool, error) {
		_, _, sequence, err := layout.DecodeDeliveryKey(k)
		if err != nil {
			return false, err
		}
		s, err := layout.DecodeDeliveryStatus(v)
		if err == nil && s.NextAttempt() == 0 {
			all = append(all, sequence)
		}
		return len(all) < retryTogether, err
	})
	return all, err
}

// retryThese puts deliveries back in line and returns how many of them are durable.
func (d *Dispatcher) retryThese(t layout.Target, all []uint64) (n int, err error) {
	done := make(chan error, len(all))
	started := 0
	for _, sequence := range all {
		waits, err := d.again(t, sequence, 0, done) // each has a status row
		if err != nil && !errors.Is(err, layout.ErrNoDelivery) {
			return n, err
		}
		if waits {
			started++
		}
	}
	for range started {
		if err := d.await(done); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// checkActive returns layout.ErrNoDelivery or layout.ErrSubscriptionEnded where the subscription gets no deliveries.
func (d *Dispatcher) checkActive(t layout.Target) error {
	s, err := d.Rows.Subscription(t)
	switch {
	case err != nil:
		return err
	case s == nil:
		return layout.ErrNoDelivery
	case s.Status != ledger.SubscriptionActive:
		return layout.ErrSubscriptionEnded
	}
	return nil
}

// again puts one delivery back in line. waits is false where an attempt of it runs now: then
// nothing is done. Else done gets a value once the change is durable. at is the time of the
// event's record.
func (d *Dispatcher) again(t layout.Target, sequence uint64, at pix.Millis, done chan<- error) (waits bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	// A task whose end is durable, and not yet known to the machine, must not count as running.
	d.inbox.Into(d.machine)
	if d.machine.attempts(t, sequence) {
		return false, nil
	}
	state, s, err := layout.FindDelivery(d.Rows, t, sequence, at)
	if err != nil {
		return false, err
	}
	task, o := d.machine.Again(t, sequence, state, s, d.now())
	d.Journal.Append(&wal.Entry{
		Stream: wal.Stream(t.Account), Ops: o.Ops, Shared: true,
		Out: []wal.Out{&durableResult{d, &task, &o.Next}, resultTo(done)},
	})
	return true, nil
}

// resultTo is an Out that sends the result of its entry to a channel with room for it.
type resultTo chan<- error

// Release implements wal.Out.
func (w resultTo) Release(err error) { w <- err }
