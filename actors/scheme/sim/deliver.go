package sim

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
)

// deliverer has the outbox, which a lock guards, and a goroutine that gives due notices to
// the feed.
type deliverer struct {
	sim        *Sim
	mu         sync.Mutex
	outbox     outbox
	reported   pix.Millis    // time at which a failure was last logged
	unreported int           // number of failures since reported that were not logged
	refused    []refusal     // for the goroutine: whoever refuses a notice does not wait until rows were read
	wake       chan struct{} // a value in it wakes the goroutine; its capacity is 1
	stop       chan struct{}
	started    atomic.Bool
	done       chan struct{}
}

// refusal is a notice that the engine has refused.
type refusal struct {
	item *item
	why  error
}

func newDeliverer(s *Sim) *deliverer {
	return &deliverer{sim: s, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
}

func (d *deliverer) add(i item) {
	d.mu.Lock()
	first := d.outbox.add(i)
	d.mu.Unlock()
	if first {
		d.rouse()
	}
}

func (d *deliverer) rouse() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Due returns the earliest notice that is due, and a function that must be called once with
// the notice's result: nil acknowledges the notice. Callers that drive the clock themselves
// use it instead of Start.
func (s *Sim) Due() (scheme.Notice, func(error), bool) {
	i, ok := s.out.takeDue()
	if !ok {
		return scheme.Notice{}, nil, false
	}
	return i.notice, func(err error) { s.out.ended(i, err) }, true
}

// NextDue returns the time at which Due will return the next notice, which may be in the
// past. It returns false if no notice waits.
func (s *Sim) NextDue() (pix.Millis, bool) {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	return s.out.outbox.next()
}

func (d *deliverer) takeDue() (*item, bool) {
	now := d.sim.now()
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.outbox.takeDue(now)
}

// reopen makes the notice of an open row again.
func (s *Sim) reopen(k, v []byte) (i item, err error) {
	i = item{at: openInstant(k), key: append([]byte(nil), k...)}
	if len(v) != 1 {
		return i, errors.New("sim: open row of no kind")
	}
	about, ok := string(k[9:]), false
	switch v[0] {
	case rowPayment:
		var p payment
		ok, err = read(s.store, key(rowPayment, about), &p)
		i.notice = p.notice()
	case rowArrival:
		var a arrival
		ok, err = read(s.store, key(rowArrival, about), &a)
		i.notice = a.notice()
	case rowReturn:
		var r returned
		ok, err = read(s.store, key(rowReturn, about), &r)
		i.notice = r.notice()
	case rowRefund:
		var r refund
		ok, err = read(s.store, []byte(about), &r)
		i.notice = r.notice()
	case rowInfraction, cancelled:
		var f infraction
		ok, err = read(s.store, key(rowInfraction, about[1:]), &f)
		i.notice = f.opened()
		if v[0] == cancelled {
			i.notice = f.withdrawn()
		}
	default:
		return i, errors.New("sim: open row of no known kind")
	}
	return i, present(ok, err)
}

// present returns an error if a row is missing to which another row refers.
func present(ok bool, err error) error {
	if err == nil && !ok {
		return errors.New("sim: a row without what it is about")
	}
	return err
}

func (d *deliverer) start(feed scheme.Feed) {
	d.started.Store(true)
	go d.run(feed)
}

func (d *deliverer) run(feed scheme.Feed) {
	defer close(d.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-d.stop:
			return
		default:
		}
		d.sim.addUpLater()
		d.hearRefusals()
		if i, ok := d.takeDue(); ok {
			feed(i.notice, func(err error) { d.told(i, err) })
			continue
		}
		timer.Reset(d.sleep())
		select {
		case <-d.stop:
			return
		case <-d.wake:
		case <-timer.C:
		}
	}
}

// told takes the result of a notice, on the goroutine of the engine's journal: one that is sent back is left to the
// deliverer's goroutine.
func (d *deliverer) told(i *item, err error) {
	if !isRefused(i, err) {
		d.ended(i, err)
		return
	}
	d.mu.Lock()
	d.refused = append(d.refused, refusal{i, err})
	d.mu.Unlock()
	d.rouse()
}

// hearRefusals ends the notices that were refused.
func (d *deliverer) hearRefusals() {
	d.mu.Lock()
	all := d.refused
	d.refused = nil
	d.mu.Unlock()
	for _, r := range all {
		d.ended(r.item, r.why)
	}
}

func isRefused(i *item, err error) bool {
	return i.notice.Kind == scheme.PaymentArrived && errors.Is(err, scheme.ErrNoPayee)
}

// sleep returns the time from now until the next notice is due, at most an hour.
func (d *deliverer) sleep() time.Duration {
	at, ok := d.sim.NextDue()
	if !ok {
		return time.Hour
	}
	return min(time.Duration(max(at-d.sim.now(), 0))*time.Millisecond, time.Hour)
}

// ended deletes the open row of an acknowledged notice. The payment of a refused notice goes
// back to the customer. A notice that was neither acknowledged nor refused is put back, to be
// sent again.
func (d *deliverer) ended(i *item, err error) {
	now := d.sim.now()
	refused := isRefused(i, err)
	if refused {
		err = d.sim.sendBack(i)
	}
	d.mu.Lock()
	moves := d.outbox.endDelivery(i, err == nil, now)
	d.mu.Unlock()
	if moves {
		d.rouse()
	}
	if err != nil {
		d.complain(i.notice, err, now)
		return
	}
	if i.acked != nil {
		close(i.acked)
	}
	if refused {
		return // sendBack has deleted the row
	}
	d.sim.store.Append(&wal.Entry{Ops: []wal.Op{{Kind: wal.OpDelete, Key: i.key}}, Lazy: true})
}

// tellEvery is the least time in ms between two log lines about notices that were not
// acknowledged.
const tellEvery = pix.Millis(10_000)

func (d *deliverer) complain(n scheme.Notice, err error, now pix.Millis) {
	d.mu.Lock()
	if d.reported != 0 && now-d.reported < tellEvery {
		d.unreported++
		d.mu.Unlock()
		return
	}
	others := d.unreported
	d.reported, d.unreported = now, 0
	d.mu.Unlock()
	d.sim.opts.Log.Warn("simulator: notice not acknowledged", "kind", n.Kind.String(), "transaction", n.Tx.String(),
		"end_to_end_id", n.EndToEnd, "error", err, "others_since", others)
}

// ackPatience is the longest time after the booking for which Pay and ReturnPayout wait for the
// engine's acknowledgement. The notice is delivered even if they no longer wait.
const ackPatience = 2 * time.Second

// await waits until the notice is acknowledged, for at most ackPatience. It does not wait
// before Start, because then no goroutine delivers notices.
func (d *deliverer) await(ctx context.Context, acked <-chan struct{}) {
	if !d.started.Load() {
		return
	}
	patience := time.NewTimer(ackPatience)
	defer patience.Stop()
	select {
	case <-acked:
	case <-patience.C:
	case <-ctx.Done():
	}
}

func (d *deliverer) close() {
	close(d.stop)
	if d.started.Load() {
		<-d.done
	}
}
