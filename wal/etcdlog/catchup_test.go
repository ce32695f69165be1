package etcdlog

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"pixd/wal"
)

// counting is an etcd whose calls are counted, and take a while longer.
type counting struct {
	clientv3.KV
	calls *atomic.Int64
	way   time.Duration
}

func (c counting) count() {
	c.calls.Add(1)
	time.Sleep(c.way)
}

// Get implements clientv3.KV.
func (c counting) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	c.count()
	return c.KV.Get(ctx, key, opts...)
}

// Txn implements clientv3.KV.
func (c counting) Txn(ctx context.Context) clientv3.Txn {
	c.count()
	return c.KV.Txn(ctx)
}

// written has a log of so many batches, each of a size. Between them a node now and then writes its state.
func written(t testing.TB, l *Log, batches uint64, size func() int) {
	t.Helper()
	if _, err := l.Found(t.Context(), wal.Cluster{}); err != nil {
		t.Fatal(err)
	}
	n := wal.NodeVersion{Name: "n"}
	for i := range batches {
		batch := binary.BigEndian.AppendUint64(bytes.Repeat([]byte("x"), size()), i+1)
		err := l.Append(t.Context(), 0, i, batch)
		for beats := rand.N(8); err == nil && beats > 6; beats = rand.N(8) {
			n, err = l.Node(t.Context(), n, fmt.Append(nil, i, n.Version))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

var errAll = errors.New("all batches")

// caughtUp follows a log from behind a batch up to another, and checks that each comes in its turn.
func caughtUp(t testing.TB, l *Log, after, last uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := l.Follow(ctx, 0, after, func(position uint64, batch []byte) error {
		after++
		if is := binary.BigEndian.Uint64(batch[len(batch)-8:]); position != after || is != after {
			t.Fatalf("batch %d at %d; want %d", is, position, after)
		}
		if position == last {
			return errAll
		}
		return nil
	})
	if !errors.Is(err, errAll) {
		t.Fatal(err)
	}
}

// TestCatchUp checks that a follower far behind reads many small batches in one call, fewer large ones, and
// what is left of a log that was trimmed.
func TestCatchUp(t *testing.T) {
	t.Parallel()
	m := start(t, options(t, 1))[0]
	for _, c := range []struct {
		name    string
		batches uint64
		size    func() int
		least   int64 // calls
		most    int64
	}{
		{"small", 1_000, func() int { return 100 }, 40, 80},
		{"large", 60, func() int { return 700 << 10 }, 60, 100},
		{"mixed", 300, func() int { return 1 << rand.N(20) }, 20, 100},
	} {
		l, calls := m.under(c.name+"/"), &atomic.Int64{}
		written(t, l, c.batches+70, c.size)
		l.client.KV = counting{KV: l.client.KV, calls: calls}
		caughtUp(t, l, 0, c.batches)
		t.Logf("%s: %d calls for %d batches", c.name, calls.Load(), c.batches)
		if got := calls.Load(); got < c.least || got > c.most {
			t.Errorf("%s: %d calls for %d batches", c.name, got, c.batches)
		}
	}
	l := m.under("small/")
	if err := l.Trim(t.Context(), 0, 500); err != nil {
		t.Fatal(err)
	}
	caughtUp(t, l, 600, 1_070)
}

// narrow is an etcd whose answers come too late where they have many bytes.
type narrow struct{ clientv3.KV }

func (n narrow) Txn(ctx context.Context) clientv3.Txn { return narrowTxn{n.KV.Txn(ctx)} }

type narrowTxn struct{ clientv3.Txn }

func (t narrowTxn) If(c ...clientv3.Cmp) clientv3.Txn  { return narrowTxn{t.Txn.If(c...)} }
func (t narrowTxn) Then(o ...clientv3.Op) clientv3.Txn { return narrowTxn{t.Txn.Then(o...)} }
func (t narrowTxn) Else(o ...clientv3.Op) clientv3.Txn { return narrowTxn{t.Txn.Else(o...)} }
func (t narrowTxn) Commit() (*clientv3.TxnResponse, error) {
	r, err := t.Txn.Commit()
	if err != nil {
		return nil, err
	}
	bytes := 0
	for _, one := range r.Responses {
		for _, kv := range one.GetResponseRange().GetKvs() {
			bytes += len(kv.Value)
		}
	}
	if bytes > 2<<20 {
		return nil, context.DeadlineExceeded
	}
	return r, nil
}

// TestCatchUpNarrow checks that a follower for whom large batches behind small ones are too much for one call reads fewer
// of them.
func TestCatchUpNarrow(t *testing.T) {
	t.Parallel()
	l := start(t, options(t, 1))[0].under("narrow/")
	const small, large = 100, 60
	n := 0
	written(t, l, small+large+70, func() int {
		if n++; n <= small {
			return 100
		}
		return 300 << 10
	})
	l.client.KV = narrow{l.client.KV}
	caughtUp(t, l, 0, small+large)
}

// BenchmarkCatchUp follows 5,000 batches of 4 KiB, from a member in this process and from an etcd that is 1 ms away.
func BenchmarkCatchUp(b *testing.B) {
	const batches = 5_000
	m := start(b, options(b, 1))[0]
	written(b, m.under("x/"), batches+70, func() int { return 4 << 10 })
	for _, way := range []time.Duration{0, time.Millisecond} {
		b.Run(fmt.Sprint("way=", way), func(b *testing.B) {
			for b.Loop() {
				l := m.under("x/")
				l.client.KV = counting{l.client.KV, &atomic.Int64{}, way}
				caughtUp(b, l, 0, batches)
			}
			b.ReportMetric(float64(b.N*batches)/b.Elapsed().Seconds(), "batches/s")
		})
	}
}
