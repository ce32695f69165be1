package sim

import (
	"container/heap"
	"errors"
	"sync"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/scheme"
	"pixd/wal"
)

// item is a notice to deliver at an instant.
type item struct {
	at     ledger.Millis
	key    []byte // its open row
	notice scheme.Notice
	acked  chan struct{} // closed once acknowledged; may be nil
	tries  int           // without success
}

type items []item

func (q items) Len() int           { return len(q) }
func (q items) Less(i, j int) bool { return q[i].at < q[j].at }
func (q items) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *items) Push(x any)        { *q = append(*q, x.(item)) }
func (q *items) Pop() any {
	old := *q
	x := old[len(old)-1]
	old[len(old)-1] = item{}
	*q = old[:len(old)-1]
	return x
}

// openAtOnce bounds the notices delivered and not acknowledged.
const openAtOnce = 4096

// again is when a notice that was not acknowledged comes again: after 1 s, then
// twice as late each time, up to a minute.
func (i item) again(now ledger.Millis) item {
	i.at = now + min(ledger.Millis(1000)<<min(i.tries, 6), 60_000)
	i.tries++
	return i
}

// deliverer hands notices to the feed when they are due, until acknowledged.
type deliverer struct {
	sim  *Sim
	mu   sync.Mutex
	wait items
	open int
	wake chan struct{} // capacity 1
	stop chan struct{}
	done chan struct{}
}

func newDeliverer(s *Sim) *deliverer {
	return &deliverer{sim: s, wake: make(chan struct{}, 1), stop: make(chan struct{})}
}

func (d *deliverer) add(i item) {
	d.mu.Lock()
	first := len(d.wait) == 0 || i.at < d.wait[0].at
	heap.Push(&d.wait, i)
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

// start reads what an earlier process left open, and begins to deliver.
func (d *deliverer) start(feed scheme.Feed) error {
	err := d.sim.store.Scan([]byte{rowOpen}, []byte{rowOpen + 1}, func(k, v []byte) (bool, error) {
		i, err := d.sim.reopen(k, v)
		if err == nil {
			d.add(i)
		}
		return true, err
	})
	if err != nil {
		return err
	}
	d.done = make(chan struct{})
	go d.run(feed)
	return nil
}

// reopen makes an open row's notice again.
func (s *Sim) reopen(k, v []byte) (item, error) {
	i := item{at: openInstant(k), key: append([]byte(nil), k...)}
	about := string(k[9:])
	switch {
	case len(v) == 1 && v[0] == rowPayment:
		var p payment
		ok, err := read(s.store, key(rowPayment, about), &p)
		i.notice = p.notice()
		return i, present(ok, err)
	case len(v) == 1 && v[0] == rowArrival:
		var a arrival
		ok, err := read(s.store, key(rowArrival, about), &a)
		i.notice = a.notice()
		return i, present(ok, err)
	}
	return i, errors.New("sim: open row of no known kind")
}

func present(ok bool, err error) error {
	if err == nil && !ok {
		return errors.New("sim: open row without what it is about")
	}
	return err
}

func (d *deliverer) run(feed scheme.Feed) {
	defer close(d.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		i, ready, after := d.next()
		if ready {
			feed(i.notice, func(err error) { d.acknowledged(i, err) })
			continue
		}
		timer.Reset(after)
		select {
		case <-d.stop:
			return
		case <-d.wake:
		case <-timer.C:
		}
	}
}

// next is the earliest notice where it is due, else how long to sleep.
func (d *deliverer) next() (item, bool, time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-d.stop:
		return item{}, false, time.Hour
	default:
	}
	if len(d.wait) == 0 || d.open >= openAtOnce {
		return item{}, false, time.Hour
	}
	if left := d.wait[0].at - d.sim.opts.Now(); left > 0 {
		return item{}, false, time.Duration(left) * time.Millisecond
	}
	d.open++
	return heap.Pop(&d.wait).(item), true, 0
}

// acknowledged drops the open row; what was not acknowledged comes again.
func (d *deliverer) acknowledged(i item, err error) {
	d.mu.Lock()
	d.open--
	full := d.open == openAtOnce-1
	d.mu.Unlock()
	if err != nil {
		d.sim.opts.Log.Warn("simulator: notice not acknowledged", "transaction", i.notice.Tx.String(), "end_to_end_id", i.notice.EndToEnd, "error", err)
		d.add(i.again(d.sim.opts.Now()))
		return
	}
	if full {
		d.rouse()
	}
	if i.acked != nil {
		close(i.acked)
	}
	d.sim.store.Append(&wal.Entry{Ops: []wal.Op{{Kind: wal.OpDelete, Key: i.key}}})
}

func (d *deliverer) close() {
	close(d.stop)
	if d.done != nil {
		<-d.done
	}
}
