package cluster

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
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

// TestEndHasFailed checks that what goes wrong while a node is ended is an error of its end, and that the end of what was under
// way is none.
func TestEndHasFailed(t *testing.T) {
	failed := errors.New("the journal was not closed")
	for _, c := range []struct{ err, want error }{
		{failed, failed}, {errors.Join(context.Canceled, failed), failed}, {nil, nil}, {context.Canceled, nil}, {serving.ErrStopped, nil},
	} {
		s := &Served{over: make(chan struct{}), ends: make(chan error, 1)}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		s.ran(ctx, c.err)
		close(s.over)
		if err := s.Shutdown(); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || len(s.ends) > 0 {
			t.Errorf("%v: %v", c.err, err)
		}
	}
}

// TestNotHandedOver checks that a node whose engine ends without handing the log over says so.
func TestNotHandedOver(t *testing.T) {
	for wanted, want := range map[bool]string{true: "cluster: handed over", false: "the log was not handed over"} {
		var said bytes.Buffer
		s := &Served{config: engine.Config{Log: slog.New(slog.NewTextHandler(&said, nil))}}
		if s.resigned(&node{}, &resignation{wanted: wanted}, 0); !strings.Contains(said.String(), want) {
			t.Error(said.String())
		}
	}
}

// TestLosesItsNameWhileItCopies checks that a node whose name another process has taken while it copies the journal says that,
// and not that its work was cut short.
func TestLosesItsNameWhileItCopies(t *testing.T) {
	tape := waltest.NewTape()
	log := tape.Log()
	_, err := log.Found(t.Context(), wal.Cluster{ID: "c"})
	for at := range uint64(3) {
		err = errors.Join(err, log.Append(t.Context(), logNumber, at, []byte{byte(at)}))
	}
	if err := errors.Join(err, log.Trim(t.Context(), logNumber, 2)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s := &Served{
		config: engine.Config{DataDir: t.TempDir(), ISPB: agreedISPB, Log: slog.New(slog.DiscardHandler)}, flags: Flags{Node: "a"},
		peers: []peer{{"a", "http://a:1"}}, log: log, meters: newMeters(), elapsed: func() time.Duration { return time.Since(began) + time.Second },
	}
	n, err := s.openNode(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.node.Store(n)
	if _, err := tape.Log().Node(t.Context(), n.version, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if again, err := s.live(t.Context()); again || !errors.Is(err, errTaken) || errors.Is(err, context.Canceled) {
		t.Errorf("again %v: %v", again, err)
	}
}
