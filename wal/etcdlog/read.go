package etcdlog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// End implements wal.Log.
func (l *Log) End(ctx context.Context, log uint16) (uint64, error) {
	c, err := l.Cluster(ctx)
	if err != nil {
		return 0, err
	}
	newest, _, err := l.newest(ctx, l.logKey(log), clientv3.WithKeysOnly())
	return c.Base + versionOf(newest), err
}

// newest returns the newest writing of a key, as a majority knows it, and the revision at which it
// was the newest. Nil: the key is not there.
func (l *Log) newest(ctx context.Context, key string, opts ...clientv3.OpOption) (*mvccpb.KeyValue, int64, error) {
	r, err := l.get(ctx, key, opts...)
	if err != nil {
		return nil, 0, fmt.Errorf("etcdlog: read %s: %w", key, err)
	}
	return first(r.Kvs), r.Header.Revision, nil
}

// at returns a key as it was at a revision. Nil: it was not there, or the revision is compacted.
func (l *Log) at(ctx context.Context, key string, revision int64, opts ...clientv3.OpOption) (*mvccpb.KeyValue, error) {
	opts = append(slices.Clone(opts), clientv3.WithRev(revision))
	// What was is the same on each member that knows it; the one that is asked may be behind.
	r, err := l.get(ctx, key, append(opts, clientv3.WithSerializable())...)
	if errors.Is(err, rpctypes.ErrFutureRev) {
		r, err = l.get(ctx, key, opts...)
	}
	if errors.Is(err, rpctypes.ErrCompacted) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("etcdlog: read %s at revision %d: %w", key, revision, err)
	}
	return first(r.Kvs), nil
}

// find returns a version of a key whose writing is at a revision from low to high, and where it is
// compacted the first that is not. It looks near low first. Nil: neither is there.
func (l *Log) find(ctx context.Context, key string, version uint64, low, high int64, opts ...clientv3.OpOption) (later *mvccpb.KeyValue, err error) {
	for step := int64(1); low <= high; step *= 2 {
		revision := low + min(step-1, (high-low)/2)
		kv, err := l.at(ctx, key, revision, opts...)
		switch {
		case err != nil:
			return nil, err
		case versionOf(kv) < version:
			low = revision + 1
		case versionOf(kv) == version:
			return kv, nil
		default:
			later, high = kv, kv.ModRevision-1
		}
	}
	return later, nil
}
