package cluster

import (
	"context"
	"errors"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"pixd/wal"
	"pixd/wal/waltest"
)

// TestMeasures checks what the metrics say of a node's role and of how far it is behind.
func TestMeasures(t *testing.T) {
	n := aNode(t, waltest.NewTape(), "a", filled(t, "x"))
	now := time.Minute
	n.elapsed = func() time.Duration { return now }
	n.lease = newLease(n.elapsed)
	n.become(roleStandby)
	n.seen = seenNodes{"a": {since: now}}
	n.heads.note(9, now-3*time.Second)
	s := &Served{log: n.log}
	s.node.Store(n)
	if role, lag, _ := s.measures(); role != roleStandby || lag != 3*time.Second {
		t.Error(role, lag)
	}
}

// failing is a log that takes nothing.
type failing struct{ wal.Log }

func (failing) Append(context.Context, uint16, uint64, []byte) error {
	return errors.New("no majority")
}

// TestAppendsTimed checks that only what a majority has is measured as an append.
func TestAppendsTimed(t *testing.T) {
	m := newMeters()
	if err := (timed{failing{}, m}).Append(t.Context(), 0, 0, nil); err == nil {
		t.Fatal("appended")
	}
	var is dto.Metric
	if err := m.appended.Write(&is); err != nil || is.GetHistogram().GetSampleCount() != 0 {
		t.Error(&is, err)
	}
}
