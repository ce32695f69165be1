package etcdlog

import (
	"context"
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"pixd/wal"
)

// TestCallsBesideEnd checks that calls of a member which has ended by itself, as one that was removed does, fail, and neither
// panic nor wait for ever: its node would not end.
func TestCallsBesideEnd(t *testing.T) {
	t.Parallel()
	m := start(t, options(t, 1))[0]
	l := m.Log()
	if _, err := l.Found(patient(t), wal.Cluster{}); err != nil {
		t.Fatal(err)
	}
	glance := func(ctx context.Context) error {
		_, err := l.get(ctx, l.clusterKey(), clientv3.WithSerializable())
		return err
	}
	beside := make(chan struct{})
	for range 4 { // as a node looks at the others all the while
		go func() {
			defer func() { beside <- struct{}{} }()
			for glance(t.Context()) == nil {
			}
		}()
	}
	m.etcd.Server.HardStop()
	for range 4 {
		select {
		case <-beside:
		case <-time.After(20 * time.Second):
			t.Fatal("a call beside the end waits for ever")
		}
	}
	for name, call := range map[string]func(context.Context) error{
		"get": glance, "again": glance,
		"txn":    func(ctx context.Context) error { _, err := l.when(ctx, l.clusterKey(), []int64{2}); return err },
		"status": func(ctx context.Context) error { _, err := l.status(ctx); return err },
		"size":   func(ctx context.Context) error { _, _, err := l.Size(ctx); return err },
	} {
		answered := make(chan error, 1)
		go func() { answered <- call(patient(t)) }()
		select {
		case err := <-answered:
			if !errors.Is(err, errEnds) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%s waits for ever", name)
		}
	}
}

// TestOurPanicsGoOn checks that a panic is an error beside a member's end alone.
func TestOurPanicsGoOn(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("of an etcd in another process")
		}
	}()
	_, _ = asked(&Log{}, func() (int, error) { panic("our mistake") })
}
