package webhook

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// TestRetries checks that a delivery is put back in line whatever became of it, and what is
// refused.
func TestRetries(t *testing.T) {
	var status atomic.Int64
	hold := make(chan struct{})
	k := newDesk(t, func(_ context.Context, p Post) Answer {
		if id, _ := pix.ParseEventID(string(p.Body)); id.Sequence() == 2 {
			<-hold
		}
		return Answer{Status: int(status.Load())}
	})
	status.Store(200)
	k.rows(func(s *shelf) { s.wait(target(1), 1, t0) })
	k.run()
	k.becomes(1, "delivered")
	status.Store(500)
	retry := func(sequence uint64) {
		t.Helper()
		if err := k.Retry(target(1), k.event(sequence)); err != nil {
			t.Fatal(err)
		}
	}
	retry(1)
	if s := k.becomes(1, "pending"); len(s.Attempts) > 2 || s.CreatedAt != t0+100*24*hour {
		t.Errorf("%+v", s)
	}
	for len(k.becomes(1, "pending").Attempts) != 2 {
		time.Sleep(time.Millisecond)
	}
	retry(1) // although it is not due
	for len(k.becomes(1, "pending").Attempts) != 3 {
		time.Sleep(time.Millisecond)
	}
	k.clock.Add(int64(2 * hour))
	if s := k.becomes(1, "dead"); len(s.Attempts) != 4 {
		t.Errorf("%+v", s)
	}
	status.Store(200)
	retry(1)
	if s := k.becomes(1, "delivered"); len(s.Attempts) != 5 || s.Due != 0 || s.Why != "" {
		t.Errorf("%+v", s)
	}

	for range len(k.posts) {
		<-k.posts
	}
	k.rows(func(s *shelf) { s.wait(target(1), 2, k.now()) })
	k.Emitted(waiting(2, k.now()))
	<-k.posts
	behind := make(chan error, 1)
	go func() { behind <- k.Retry(target(1), k.event(2)) }() // it runs, and delivers: there is nothing to do
	k.waitsBehind(1)
	close(hold)
	k.becomes(2, "delivered")
	if err := <-behind; err != nil {
		t.Error(err)
	}
	if len(k.posts) != 0 {
		t.Errorf("%d more attempts", len(k.posts))
	}
	k.refusals()
}

// waitsBehind waits until so many requests wait for the end of an attempt.
func (k *desk) waitsBehind(n int) {
	k.t.Helper()
	for until := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		wait := k.behind.Counts().InUse
		if wait == n {
			return
		}
		if time.Now().After(until) {
			k.t.Fatalf("%d requests wait, want %d", wait, n)
		}
	}
}

// event is an event of account 1, whose record is of now.
func (k *desk) event(sequence uint64) ledger.Event {
	return ledger.Event{Sequence: sequence, Record: waiting(sequence, k.now())}
}

// waiting is the record of an event for subscription 1 of account 1.
func waiting(sequence uint64, at pix.Millis) *ledger.Record {
	r := &ledger.Record{Account: 1, Seq: sequence, Time: at}
	r.Events, r.Totals.Events, r.Deliveries = []pix.EventKind{pix.EventReceived}, sequence, []ledger.Delivery{{Subscription: 1}}
	return r
}

// refusals checks which deliveries are not put back in line.
func (k *desk) refusals() {
	k.t.Helper()
	gone := layout.Target{Account: 1, Number: 3}
	for _, status := range []ledger.SubscriptionStatus{ledger.SubscriptionStopped, ledger.SubscriptionRemoved} {
		k.rows(func(s *shelf) { s.subscribe(gone, status) })
		_, err := k.RetryAll(gone)
		if !errors.Is(err, layout.ErrSubscriptionEnded) || !errors.Is(k.Retry(gone, k.event(1)), layout.ErrSubscriptionEnded) {
			k.t.Error(status, err)
		}
	}
	_, err := k.RetryAll(target(77))
	if !errors.Is(err, layout.ErrNoDelivery) || !errors.Is(k.Retry(target(77), k.event(1)), layout.ErrNoDelivery) || !errors.Is(k.Retry(target(1), k.event(77)), layout.ErrNoDelivery) {
		k.t.Error(err)
	}
}

// TestRetryAllDead checks that all dead deliveries of a subscription, and no others, are put
// back in line.
func TestRetryAllDead(t *testing.T) {
	k := newDesk(t, nil)
	ended := func(sequence uint64, state layout.DeliveryState) wal.Op {
		s := layout.DeliveryStatus{Record: sequence, CreatedAt: t0, Attempts: []layout.Attempt{{At: t0, Status: 500}}}
		return wal.Op{Kind: wal.OpSet, Key: layout.DeliveryKey(target(1), state, sequence), Value: s.Encode()}
	}
	const dead = 600
	k.rows(func(s *shelf) {
		for n := range uint64(dead) {
			s.apply([]wal.Op{ended(1000+n, layout.DeliveryDead)})
		}
		s.apply([]wal.Op{ended(1, layout.DeliveryDelivered)})
	})
	k.run()
	if n, err := k.RetryAll(target(1)); n != dead || err != nil {
		t.Error(n, err)
	}
	for n := range uint64(dead) {
		if s := k.becomes(1000+n, "delivered"); len(s.Attempts) != 2 {
			t.Fatalf("%+v", s)
		}
	}
	if n, err := k.RetryAll(target(1)); n != 0 || err != nil || len(k.posts) != dead {
		t.Error(n, err, len(k.posts))
	}
}

// TestSweep checks how long what became of deliveries is kept, and that nothing expires while
// the time is doubted.
func TestSweep(t *testing.T) {
	k := newDesk(t, nil)
	const day = 24 * hour
	row := func(number uint32, sequence uint64, state layout.DeliveryState, age pix.Millis) string {
		s := layout.DeliveryStatus{Record: sequence, CreatedAt: k.now() - age}
		key := layout.DeliveryKey(layout.Target{Account: 1, Number: number}, state, sequence)
		k.shelf.apply([]wal.Op{{Kind: wal.OpSet, Key: key, Value: s.Encode()}})
		return string(key)
	}
	var old, young []string
	k.rows(func(*shelf) {
		for number := range uint32(3) {
			for n := range uint64(1100) {
				old = append(old, row(number, n, layout.DeliveryDelivered, 7*day+2000-pix.Millis(n)))
			}
			young = append(young, row(number, 5000, layout.DeliveryDelivered, 7*day-100*second), row(number, 5001, layout.DeliveryDelivered, 0),
				row(number, 1, layout.DeliveryPending, 99*day), row(number, 2, layout.DeliveryDead, 90*day-100*second))
			old = append(old, row(number, 1, layout.DeliveryDead, 90*day))
		}
	})
	has := func(keys []string) (n int) {
		for _, key := range keys {
			if _, ok, _ := k.Get([]byte(key)); ok {
				n++
			}
		}
		return n
	}
	k.doubted.Store(true)
	if err := k.Sweep(); err != nil || has(old) != len(old) {
		t.Error(err, has(old))
	}
	k.doubted.Store(false)
	for range 2 {
		if err := k.Sweep(); err != nil || has(old) != 0 || has(young) != len(young) {
			t.Error(err, has(old), has(young))
		}
	}
	k.rows(func(s *shelf) { s.fail = errors.New("no disk") })
	if k.Sweep() == nil {
		t.Error("an error is not reported")
	}
}

// TestSweepPassesOver checks that what ended long ago is deleted although the first of a subscription's deliveries was
// attempted again of late.
func TestSweepPassesOver(t *testing.T) {
	k := newDesk(t, nil)
	const day = 24 * hour
	var keys [][]byte
	k.rows(func(s *shelf) {
		for n := range uint64(1000) {
			status := layout.DeliveryStatus{Record: n + 1, CreatedAt: k.now() - 30*day}
			at := k.now() - 30*day
			if n == 0 || n == 999 {
				at = k.now() - hour
			}
			status.Add(layout.Attempt{At: at, Status: 200})
			keys = append(keys, layout.DeliveryKey(target(1), layout.DeliveryDelivered, n+1))
			s.apply([]wal.Op{{Kind: wal.OpSet, Key: keys[n], Value: status.Encode()}})
		}
	})
	if err := k.Sweep(); err != nil {
		t.Fatal(err)
	}
	for n, key := range keys {
		if _, there, _ := k.Get(key); there != (n == 0 || n == 999) {
			t.Errorf("delivery %d is there: %v", n+1, there)
		}
	}
}

// TestRetryBesideLastAttempt puts a delivery back in line while its last attempt runs: where that fails, the delivery is not
// dead, and where it delivers, nothing is sent once more.
func TestRetryBesideLastAttempt(t *testing.T) {
	for status, sent := range map[int]int{500: 2, 200: 1} {
		let := make(chan int, 2)
		k := newDesk(t, func(context.Context, Post) Answer { return Answer{Status: <-let} })
		p := layout.Pending{Target: target(1), Due: k.now() - 1, Sequence: 7, Record: 7, Tries: 1} // the desk's schedule has one wait
		k.rows(func(s *shelf) {
			was := layout.DeliveryStatus{Record: 7, CreatedAt: k.now() - 1000, Due: p.Due}
			s.apply([]wal.Op{{Kind: wal.OpSet, Key: p.Key(), Value: p.Value()}, {Kind: wal.OpSet, Key: layout.DeliveryKey(target(1), layout.DeliveryPending, 7), Value: was.Encode()}})
		})
		k.run()
		<-k.posts
		done := make(chan error, 1)
		go func() {
			done <- k.Retry(target(1), ledger.Event{Record: &ledger.Record{Account: 1, Seq: 7, Time: k.now()}, Sequence: 7})
		}()
		k.waitsBehind(1)
		select {
		case err := <-done:
			t.Errorf("%d: it does not wait for the attempt: %v", status, err)
			done <- err
		default:
		}
		let <- status
		if err := <-done; err != nil {
			t.Errorf("%d: %v", status, err)
		}
		let <- 200
		k.becomes(7, "delivered")
		time.Sleep(3 * attemptLook)
		if n := 1 + len(k.posts); n != sent {
			t.Errorf("%d: sent %d times, want %d", status, n, sent)
		}
	}
}

// TestRetriesBesideAttemptAreBounded checks that of an account's requests a share waits for the end of an attempt, and that
// one beyond it is told so until one of them has ended.
func TestRetriesBesideAttemptAreBounded(t *testing.T) {
	let := make(chan struct{})
	k := newDesk(t, func(context.Context, Post) Answer { <-let; return Answer{Status: 200} })
	k.rows(func(s *shelf) { s.wait(target(1), 1, t0) })
	k.run()
	<-k.posts
	done := make(chan error, behindShare)
	for range behindShare {
		go func() { done <- k.Retry(target(1), k.event(1)) }()
	}
	k.waitsBehind(behindShare)
	if err := k.Retry(target(1), k.event(1)); !errors.Is(err, ledger.ErrBusy) {
		t.Error(err)
	}
	close(let)
	for range behindShare {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	k.waitsBehind(0)
}
