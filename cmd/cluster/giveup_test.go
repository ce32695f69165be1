package cluster

import (
	"sync/atomic"
	"testing"
	"time"

	"pixd/cmd/engine"
)

// TestGivesUp checks that an owner that is to end, and whose log takes nothing, ends the process after a while and not before.
func TestGivesUp(t *testing.T) {
	var now atomic.Int64
	now.Store(int64(time.Minute))
	elapsed := func() time.Duration { return time.Duration(now.Load()) }
	failed := make(chan error, 1)
	s := &Served{config: engine.Config{OnFailure: func(err error) { failed <- err }}}
	n := &node{name: "a", elapsed: elapsed, lease: newLease(elapsed)}
	ended := make(chan struct{})
	defer close(ended)
	go s.giveUp(n, ended)
	for _, after := range []time.Duration{giveUpAfter, time.Millisecond} {
		time.Sleep(2 * lookEvery)
		select {
		case err := <-failed:
			t.Fatal("too early:", err)
		default:
		}
		now.Add(int64(after))
	}
	select {
	case err := <-failed:
		if err == nil {
			t.Error("no reason")
		}
	case <-time.After(5 * time.Second):
		t.Error("it waits for ever")
	}
}
