package engine

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestIntake checks when requests count as waiting too long: at a long wait, also at one that has
// not ended yet, until a short wait; and never while there are few connections.
func TestIntake(t *testing.T) {
	t.Parallel()
	var crowded atomic.Bool
	i, err := newIntake(crowded.Load)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []struct {
		wait time.Duration
		want bool
	}{
		{mostIntake, false}, {mostIntake + 1, true}, {backIntake, true}, {backIntake - 1, false}, {backIntake, false},
	} {
		if i.waited(s.wait); i.late.Load() != s.want {
			t.Errorf("after %v late is %v", s.wait, i.late.Load())
		}
	}
	becomes := func(what string, want bool) {
		t.Helper()
		for until := time.Now().Add(10 * time.Second); i.late.Load() != want; time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				t.Fatalf("%s: late is %v", what, !want)
			}
		}
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); i.run(ctx) }()
	i.late.Store(true)
	becomes("few connections", false)
	i.late.Store(true)
	crowded.Store(true)
	becomes("bytes that do not wait", false)
	end()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the measurement does not end")
	}

	if i, err = newIntake(crowded.Load); err != nil {
		t.Fatal(err)
	}
	i.sent.Store(1) // a byte that never arrives
	ctx, end = context.WithCancel(t.Context())
	defer end()
	go i.run(ctx)
	becomes("a byte that is still on its way", true)
}

// TestIntakeIsMeasured checks that an engine with many connections measures its intake, and that
// its admission learns of it.
func TestIntakeIsMeasured(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem())
	if w.intake.crowded() || w.admission.late != &w.intake.late {
		t.Error("few connections, or nobody learns of it")
	}
	var open []net.Conn
	defer func() {
		for _, c := range open {
			_ = c.Close()
		}
	}()
	for range manyConnections + 1 {
		c, err := net.Dial("tcp", w.MerchantAddr.String())
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	w.becomes("many connections", 10*time.Second, w.intake.crowded)
	w.intake.late.Store(true)
	w.becomes("measured", 10*time.Second, func() bool { return !w.intake.late.Load() })
	w.paidOut(`{"amount":500,"pix_key":"settle-now@pix.test"}`)
}
