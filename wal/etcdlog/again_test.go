package etcdlog

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"pixd/wal"
)

// losing is an etcd that loses transactions, before or after they are done, and says nothing.
type losing struct {
	clientv3.KV
	lose  *atomic.Int32 // so many more
	after bool
	lost  chan struct{} // has one for each that is lost; may be nil
}

// Txn implements clientv3.KV.
func (k losing) Txn(ctx context.Context) clientv3.Txn { return losingTxn{k.KV.Txn(ctx), k, ctx} }

type losingTxn struct {
	clientv3.Txn
	of  losing
	ctx context.Context
}

func (t losingTxn) If(c ...clientv3.Cmp) clientv3.Txn  { t.Txn = t.Txn.If(c...); return t }
func (t losingTxn) Then(o ...clientv3.Op) clientv3.Txn { t.Txn = t.Txn.Then(o...); return t }
func (t losingTxn) Else(o ...clientv3.Op) clientv3.Txn { t.Txn = t.Txn.Else(o...); return t }
func (t losingTxn) Commit() (*clientv3.TxnResponse, error) {
	if t.of.lose.Add(-1) < 0 {
		return t.Txn.Commit()
	}
	if t.of.after {
		_, _ = t.Txn.Commit()
	}
	select {
	case t.of.lost <- struct{}{}:
	default:
	}
	<-t.ctx.Done()
	return nil, t.ctx.Err()
}

// TestLost loses the first transactions of a batch, a renewal and a takeover. Each is answered long before
// its time is over, and is done once.
func TestLost(t *testing.T) {
	t.Parallel()
	o := options(t, 1)
	o[0].Timeout = time.Minute
	m := start(t, o)[0]
	for _, after := range []bool{false, true} {
		l := m.under(map[bool]string{false: "before/", true: "after/"}[after])
		ctx := patient(t)
		if _, err := l.Found(ctx, wal.Cluster{}); err != nil {
			t.Fatal(err)
		}
		var lose atomic.Int32
		l.client.KV = losing{KV: l.client.KV, lose: &lose, after: after}
		lose.Store(2)
		if err := l.Append(ctx, 0, 0, []byte("a")); err != nil {
			t.Fatalf("lost %v: %v", after, err)
		}
		lose.Store(2)
		n, err := l.Node(ctx, wal.NodeVersion{Name: "n"}, []byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		lose.Store(1)
		if err := l.Take(ctx, 0, 1, n, []byte("b")); err != nil {
			t.Fatal(err)
		}
		if end, err := l.End(ctx, 0); end != 2 || err != nil {
			t.Errorf("the log ends at %d: %v", end, err)
		}
		if _, err := l.Node(ctx, n, []byte("y")); !errors.Is(err, wal.ErrMoved) {
			t.Errorf("a node that was deposed: %v", err)
		}
	}
}

// TestLostToLeader has another member lead while a batch is lost. It is sent again at once.
func TestLostToLeader(t *testing.T) {
	t.Parallel()
	members, ctx := start(t, options(t, 3)), patient(t)
	if err := members[0].Lead(ctx); err != nil {
		t.Fatal(err)
	}
	l := members[2].Log()
	if _, err := l.Found(ctx, wal.Cluster{}); err != nil {
		t.Fatal(err)
	}
	l.timeout = time.Minute
	lost := losing{KV: l.client.KV, lose: new(atomic.Int32), lost: make(chan struct{}, 8)}
	lost.lose.Store(1)
	l.client.KV = lost
	done := make(chan error, 1)
	go func() {
		_, err := l.txnAgain(ctx, resending{time.Minute, 1}, nil, []clientv3.Op{clientv3.OpPut("x", "y")}, nil)
		done <- err
	}()
	<-lost.lost
	if err := members[1].Lead(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
