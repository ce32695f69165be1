package etcdlog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"pixd/wal"
)

// What a follower that is far behind reads in one call. As many batches as have a size of readBytes together,
// by the largest of those that were read last: a larger one may follow, so they are no more than readBatches.
const (
	readRevisions = 128 // as many as etcd takes in one call
	readBatches   = 32
	readBytes     = 1 << 20
)

// read delivers the batches up to one that is in the log.
func (f *follower) read(ctx context.Context, to *mvccpb.KeyValue) error {
	for f.have < versionOf(to) {
		next, err := f.writings(ctx, to.ModRevision)
		if err != nil {
			return err
		}
		if len(next) == 0 {
			err = f.readOne(ctx, to)
		} else {
			err = f.readAll(ctx, next)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writings returns the revisions of the next versions, of those that are close behind the one that was delivered
// last. It may return none.
func (f *follower) writings(ctx context.Context, last int64) (revisions []int64, err error) {
	if f.revision == 0 {
		return nil, nil
	}
	var near []int64
	for r := f.revision + 1; r <= min(f.revision+readRevisions, last); r++ {
		near = append(near, r)
	}
	all, err := f.when(ctx, f.key, near, clientv3.WithKeysOnly())
	for _, kv := range all {
		if versionOf(kv) == f.have+uint64(len(revisions))+1 {
			revisions = append(revisions, kv.ModRevision)
		}
	}
	return revisions, err
}

// readAll delivers the versions that were written at some revisions. It ends before the last of them where they are compacted
// meanwhile.
func (f *follower) readAll(ctx context.Context, revisions []int64) error {
	for len(revisions) > 0 {
		some := min(f.many, len(revisions))
		all, err := f.when(ctx, f.key, revisions[:some])
		if err != nil {
			f.many = 1 // they may be too many bytes for the time that a call may take
			return err
		}
		largest := 1
		for _, kv := range all {
			if v := versionOf(kv); v != f.have+1 {
				return fmt.Errorf("etcdlog: read %s: it has version %d behind %d", f.key, v, f.have)
			}
			largest = max(largest, len(kv.Value))
			if err := f.deliver(kv); err != nil {
				return err
			}
		}
		if len(all) == 0 {
			return nil
		}
		f.many, revisions = min(max(readBytes/largest, 1), readBatches), revisions[some:]
	}
	return nil
}

// readOne delivers the next version, wherever it is. Where the log has it no more, the follower ends.
func (f *follower) readOne(ctx context.Context, to *mvccpb.KeyValue) error {
	kv, err := f.find(ctx, f.key, f.have+1, f.revision+1, to.ModRevision)
	if err != nil {
		return err
	}
	if versionOf(kv) != f.have+1 {
		return f.ends(wal.ErrTrimmed)
	}
	return f.deliver(kv)
}

// when returns a key as it was at each of some revisions. None: one of them is compacted, or the member that was asked
// does not have it yet.
func (l *Log) when(ctx context.Context, key string, revisions []int64, opts ...clientv3.OpOption) ([]*mvccpb.KeyValue, error) {
	var reads []clientv3.Op
	for _, r := range revisions {
		reads = append(reads, clientv3.OpGet(key, append(slices.Clone(opts), clientv3.WithRev(r), clientv3.WithSerializable())...))
	}
	r, err := l.txn(ctx, nil, reads, nil)
	if errors.Is(err, rpctypes.ErrCompacted) || errors.Is(err, rpctypes.ErrFutureRev) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("etcdlog: read %s at revisions from %d: %w", key, revisions[0], err)
	}
	all := make([]*mvccpb.KeyValue, 0, len(r.Responses))
	for _, one := range r.Responses {
		all = append(all, first(one.GetResponseRange().Kvs))
	}
	return all, nil
}
