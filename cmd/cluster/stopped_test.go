package cluster

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"pixd/cmd/engine"
	"pixd/cmd/serving"
	"pixd/wal"
	"pixd/wal/waltest"
)

// silent is a log that answers nothing until a call's context ends, and then not with the context's error, as a member of
// etcd in this process.
type silent struct{ wal.Log }

func cancelled(ctx context.Context) error {
	<-ctx.Done()
	return errors.New("etcdserver: request cancelled")
}

// Cluster implements wal.Log.
func (silent) Cluster(ctx context.Context) (wal.Cluster, error) { return wal.Cluster{}, cancelled(ctx) }

// Nodes implements wal.Log.
func (silent) Nodes(ctx context.Context) ([]wal.NodeState, error) { return nil, cancelled(ctx) }

// Node implements wal.Log.
func (silent) Node(ctx context.Context, _ wal.NodeVersion, _ []byte) (wal.NodeVersion, error) {
	return wal.NodeVersion{}, cancelled(ctx)
}

// End implements wal.Log.
func (silent) End(ctx context.Context, _ uint16) (uint64, error) { return 0, cancelled(ctx) }

// TestStartStopped checks that a start which is ended while the log does not answer is stopped, and has not failed.
func TestStartStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := aNode(t, waltest.NewTape(), "a", t.TempDir())
		n.log = silent{n.log}
		for step, of := range map[string]func(context.Context) error{
			"register": n.register,
			"renew":    n.renew,
			"agree":    func(ctx context.Context) error { _, err := n.agree(ctx, nil, wal.Cluster{}); return err },
			"lacks":    func(ctx context.Context) error { _, err := n.lacks(ctx, nil); return err },
			"end":      func(ctx context.Context) error { return n.longEnough(ctx, wal.Cluster{}) },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			time.AfterFunc(time.Second, cancel)
			if err := serving.Ended(ctx, of(ctx)); !errors.Is(err, serving.ErrStopped) {
				t.Errorf("%s: %v", step, err)
			}
		}
	})
}

// TestDialStopped checks the same of a node that connects to an etcd which is frozen.
func TestDialStopped(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	s := &Served{config: engine.Config{Log: slog.New(slog.DiscardHandler)}, flags: Flags{Log: "http://" + l.Addr().String()}}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if err := serving.Ended(ctx, s.openLog(ctx)); !errors.Is(err, serving.ErrStopped) {
		t.Error(err)
	}
}
