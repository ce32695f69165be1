package etcdlog

import (
	"bytes"
	"context"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"pixd/wal"
)

func (l *Log) logKey(log uint16) string { return fmt.Sprintf("%slog/%03d", l.prefix, log) }

// Append implements wal.Log.
func (l *Log) Append(ctx context.Context, log uint16, after uint64, batch []byte) error {
	c, err := l.Cluster(ctx)
	if err != nil {
		return err
	}
	if after < c.Base {
		return wal.ErrMoved
	}
	key, version := l.logKey(log), after-c.Base
	r, err := l.txnAgain(ctx, batches, []clientv3.Cmp{isVersion(key, version)},
		[]clientv3.Op{clientv3.OpPut(key, string(batch))}, []clientv3.Op{clientv3.OpGet(key)})
	if err != nil {
		return fmt.Errorf("etcdlog: append to %s behind %d: %w", key, after, err)
	}
	return added(r, version+1, batch)
}

// Take implements wal.Log.
func (l *Log) Take(ctx context.Context, log uint16, after uint64, deposed wal.NodeVersion, batch []byte) error {
	if deposed.Name == "" {
		return l.Append(ctx, log, after, batch)
	}
	c, err := l.Cluster(ctx)
	if err != nil {
		return err
	}
	if after < c.Base {
		return wal.ErrMoved
	}
	node := l.nodeKey(deposed.Name)
	// Where the node has another version than deposed's by now, the transaction changes nothing. So
	// what is written below is always what this read has found.
	found, err := l.get(ctx, node)
	if err != nil {
		return fmt.Errorf("etcdlog: read %s: %w", node, err)
	}
	key, version := l.logKey(log), after-c.Base
	r, err := l.txnAgain(ctx, batches, []clientv3.Cmp{isVersion(key, version), isWriting(node, deposed.Version)},
		[]clientv3.Op{clientv3.OpPut(key, string(batch)), clientv3.OpPut(node, deposedState(found.Kvs))},
		[]clientv3.Op{clientv3.OpGet(key)})
	if err != nil {
		return fmt.Errorf("etcdlog: take %s behind %d from %s: %w", key, after, node, err)
	}
	return added(r, version+1, batch)
}

// isVersion compares the number of a key's writings, which is 0 for a key that is not there.
func isVersion(key string, version uint64) clientv3.Cmp {
	return clientv3.Compare(clientv3.Version(key), "=", int64(version))
}

// isWriting compares the revision of a key's newest writing, which is 0 for a key that is not there.
func isWriting(key string, revision uint64) clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(key), "=", int64(revision))
}

// added says what became of a batch that was to be the log's given version. A transaction that has
// changed nothing returns the log's newest batch: an earlier call may have added it.
func added(r *clientv3.TxnResponse, version uint64, batch []byte) error {
	if r.Succeeded {
		return nil
	}
	newest := first(r.Responses[0].GetResponseRange().Kvs)
	if versionOf(newest) == version && bytes.Equal(newest.Value, batch) {
		return nil
	}
	return wal.ErrMoved
}

// first returns the key that was read; nil: it is not there.
func first(kvs []*mvccpb.KeyValue) *mvccpb.KeyValue {
	if len(kvs) == 0 {
		return nil
	}
	return kvs[0]
}

// versionOf returns the number of a key's writings.
func versionOf(kv *mvccpb.KeyValue) uint64 {
	if kv == nil {
		return 0
	}
	return uint64(kv.Version)
}
