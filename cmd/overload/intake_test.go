package overload

import (
	"context"
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
