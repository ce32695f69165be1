package overload

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// TestIntake checks when requests count as waiting too long: at a long wait, also at one that has
// not ended yet, until a short wait; and never while there are few connections.
func TestIntake(t *testing.T) {
	t.Parallel()
	var connections atomic.Int64
	i, err := NewIntake(connections.Load)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []struct {
		wait time.Duration
		want bool
	}{
		{mostIntake, false}, {mostIntake + 1, true}, {backIntake, true}, {backIntake - 1, false}, {backIntake, false},
	} {
		if i.waited(s.wait); i.Late.Load() != s.want {
			t.Errorf("after %v late is %v", s.wait, i.Late.Load())
		}
	}
	becomes := func(what string, want bool) {
		t.Helper()
		for until := time.Now().Add(10 * time.Second); i.Late.Load() != want; time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				t.Fatalf("%s: late is %v", what, !want)
			}
		}
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); i.Run(ctx) }()
	connections.Store(int64(ManyConnections()))
	i.Late.Store(true)
	becomes("few connections", false)
	i.Late.Store(true)
	connections.Store(int64(ManyConnections()) + 1)
	becomes("bytes that do not wait", false)
	for range 2 { // one byte after the other
		arrives(t, i)
	}
	end()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the measurement does not end")
	}

	if i, err = NewIntake(connections.Load); err != nil {
		t.Fatal(err)
	}
	i.sent.Store(1) // a byte that never arrives
	ctx, end = context.WithCancel(t.Context())
	defer end()
	go i.Run(ctx)
	becomes("a byte that is still on its way", true)
}

// arrives waits until a byte is sent, and then until it has arrived.
func arrives(t *testing.T, i *Intake) {
	t.Helper()
	until := time.Now().Add(10 * time.Second)
	for _, sent := range []bool{true, false} {
		for (i.sent.Load() != 0) != sent {
			if time.Now().After(until) {
				t.Fatalf("no byte is sent or has arrived: %v", sent)
			}
			runtime.Gosched()
		}
	}
}

// TestCrowded checks from how many connections on requests may wait for each other.
func TestCrowded(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{0: false, ManyConnections(): false, ManyConnections() + 1: true} {
		i, err := NewIntake(func() int64 { return int64(n) })
		if err != nil {
			t.Fatal(err)
		}
		if i.Crowded() != want {
			t.Errorf("%d connections: %v", n, i.Crowded())
		}
		_, _ = i.from.Close(), i.to.Close()
	}
}
