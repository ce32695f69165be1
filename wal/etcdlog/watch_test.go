package etcdlog

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"pixd/wal"
)

// lying is an etcd whose watches do not bring what they should: each of them as the next of faults says.
type lying struct {
	clientv3.Watcher
	began  *atomic.Int64
	faults []func(clientv3.WatchResponse) []clientv3.WatchResponse
}

// Watch implements clientv3.Watcher.
func (w lying) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	n := int(w.began.Add(1)) - 1
	from, to := w.Watcher.Watch(ctx, key, opts...), make(chan clientv3.WatchResponse)
	fault := func(r clientv3.WatchResponse) []clientv3.WatchResponse { return []clientv3.WatchResponse{r} }
	if n < len(w.faults) {
		fault = w.faults[n]
	}
	go func() {
		defer close(to)
		for r := range from {
			for _, told := range fault(r) {
				select {
				case to <- told:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return to
}

// TestFollowBelievesNoWatch follows a log while watches bring batches twice, leave batches out and bring nothing at
// all. Each batch comes once and in its turn all the same.
func TestFollowBelievesNoWatch(t *testing.T) {
	t.Parallel()
	l := start(t, options(t, 1))[0].under("lying/")
	if _, err := l.Found(t.Context(), wal.Cluster{}); err != nil {
		t.Fatal(err)
	}
	said, began := false, &atomic.Int64{}
	l.client.Watcher = lying{l.client.Watcher, began, []func(clientv3.WatchResponse) []clientv3.WatchResponse{
		func(r clientv3.WatchResponse) []clientv3.WatchResponse { // the first batch is left out
			if !said && len(r.Events) > 0 {
				said, r.Events = true, r.Events[1:]
			}
			return []clientv3.WatchResponse{r}
		},
		func(clientv3.WatchResponse) []clientv3.WatchResponse { return nil },
		func(r clientv3.WatchResponse) []clientv3.WatchResponse { return []clientv3.WatchResponse{r, r} },
	}}
	const last = 12
	heard := make(chan uint64)
	over := make(chan error, 1)
	go func() {
		next := uint64(1)
		over <- l.Follow(patient(t), 0, 0, func(position uint64, batch []byte) error {
			if position != next || string(batch) != fmt.Sprint(position) {
				return fmt.Errorf("batch %d is %q, behind %d", position, batch, next-1)
			}
			next++
			heard <- position
			if position == last {
				return errAll
			}
			return nil
		})
	}()
	for at := uint64(0); at < last; {
		end := min(at+2, last) // the watch leaves one out, and brings the next
		for ; at < end; at++ {
			if err := l.Append(t.Context(), 0, at, fmt.Append(nil, at+1)); err != nil {
				t.Fatal(err)
			}
		}
		for got := uint64(0); got < at; {
			select {
			case got = <-heard:
			case err := <-over:
				t.Fatalf("behind %d: %v", at, err)
			}
		}
	}
	if err := <-over; !errors.Is(err, errAll) {
		t.Error(err)
	}
	if n := began.Load(); n != 3 {
		t.Errorf("%d watches, want 3: one that left a batch out, one that brought nothing, and one that brought all twice", n)
	}
}
