package webhook

import (
	"context"
	"testing"
	"time"

	"pixd/actors/layout"
	"pixd/wal"
)

// TestSweepCountsLastAttempt checks that what became of a delivery is kept from its last attempt on, however old its
// first one is.
func TestSweepCountsLastAttempt(t *testing.T) {
	k := newDesk(t, nil)
	const day = 24 * hour
	now := k.now()
	s := layout.DeliveryStatus{Record: 1, CreatedAt: now - 100*day, Attempts: []layout.Attempt{{At: now - 100*day, Status: 500}, {At: now - day, Status: 200}}}
	var keys [][]byte
	k.rows(func(r *shelf) {
		for _, state := range []layout.DeliveryState{layout.DeliveryDelivered, layout.DeliveryDead} {
			keys = append(keys, layout.DeliveryKey(target(1), state, 1))
			r.apply([]wal.Op{{Kind: wal.OpSet, Key: keys[len(keys)-1], Value: s.Encode()}})
		}
	})
	if err := k.Sweep(); err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if _, there, _ := k.Get(key); !there {
			t.Errorf("%q is gone a day after its last attempt", key)
		}
	}
}

// TestRetryAllHeld checks that RetryAll puts deliveries back in line that are held, and none that waits for its next attempt.
func TestRetryAllHeld(t *testing.T) {
	k := newDesk(t, nil)
	k.rows(func(s *shelf) {
		for n := range uint64(300) {
			s.wait(target(1), 1+n, t0)
		}
	})
	k.rows(func(s *shelf) {
		if n, err := Hold(s, 1000, func(ops []wal.Op) error { s.apply(ops); return nil }); n != 300 || err != nil {
			t.Fatal(n, err)
		}
		// one that waits for its next attempt
		p := layout.Pending{Target: target(1), Due: k.now() + hour, Sequence: 1000, Record: 1000, Tries: 1}
		status := layout.DeliveryStatus{Record: 1000, CreatedAt: t0, Due: p.Due, Attempts: []layout.Attempt{{At: t0, Status: 500}}}
		s.apply([]wal.Op{
			{Kind: wal.OpSet, Key: p.Key(), Value: p.Value()},
			{Kind: wal.OpSet, Key: layout.DeliveryKey(target(1), layout.DeliveryPending, 1000), Value: status.Encode()},
		})
	})
	k.run()
	if n, err := k.RetryAll(target(1)); n != 300 || err != nil {
		t.Error(n, err)
	}
	for n := range uint64(300) {
		k.becomes(1+n, "delivered")
	}
	k.becomes(1000, "pending")
}

// TestRetryAllBesideAttempt checks that RetryAll does not wait for a delivery of which an attempt runs.
func TestRetryAllBesideAttempt(t *testing.T) {
	let := make(chan struct{})
	k := newDesk(t, func(context.Context, Post) Answer { <-let; return Answer{Status: 200} })
	k.rows(func(s *shelf) { s.wait(target(1), 1, t0) })
	k.run()
	<-k.posts
	k.rows(func(s *shelf) { // RetryAll has listed it as dead before another retry put it back
		status := layout.DeliveryStatus{Record: 1, CreatedAt: t0}
		s.apply([]wal.Op{{Kind: wal.OpSet, Key: layout.DeliveryKey(target(1), layout.DeliveryDead, 1), Value: status.Encode()}})
	})
	done := make(chan int, 1)
	go func() {
		n, _ := k.RetryAll(target(1))
		done <- n
	}()
	select {
	case n := <-done:
		if n != 0 {
			t.Errorf("%d are back in line", n)
		}
	case <-time.After(5 * time.Second):
		t.Error("RetryAll waits for ever")
	}
	close(let)
}

// TestCutAttemptIsNotCounted checks that nothing is written about an attempt that the end of the process cut short.
func TestCutAttemptIsNotCounted(t *testing.T) {
	k := newDesk(t, func(ctx context.Context, _ Post) Answer { <-ctx.Done(); return Answer{Err: "cut"} })
	k.rows(func(s *shelf) { s.wait(target(1), 1, t0) })
	k.run()
	<-k.posts
	k.end()
	written := make(chan error, 1)
	k.Append(&wal.Entry{Shared: true, Out: []wal.Out{resultTo(written)}}) // everything before it is written
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	k.becomes(1, "new")
}
