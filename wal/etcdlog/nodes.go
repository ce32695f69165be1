package etcdlog

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"pixd/wal"
)

// The first byte of a node's value says who has written it; its state follows. So a node that was
// deposed and repeats its newest renewal does not take the value for its own.
const (
	byItself = 'n'
	byTaker  = 'd'
)

func (l *Log) nodeKey(name string) string { return l.prefix + "node/" + name }

// Node implements wal.Log. A node's version is the revision of its key.
func (l *Log) Node(ctx context.Context, self wal.NodeVersion, state []byte) (wal.NodeVersion, error) {
	key, value := l.nodeKey(self.Name), append([]byte{byItself}, state...)
	r, err := l.txnAgain(ctx, renewals, []clientv3.Cmp{isWriting(key, self.Version)},
		[]clientv3.Op{clientv3.OpPut(key, string(value))}, []clientv3.Op{clientv3.OpGet(key)})
	if err != nil {
		return wal.NodeVersion{}, fmt.Errorf("etcdlog: write %s at %d: %w", key, self.Version, err)
	}
	if r.Succeeded {
		return wal.NodeVersion{Name: self.Name, Version: uint64(r.Header.Revision)}, nil
	}
	there := first(r.Responses[0].GetResponseRange().Kvs)
	if there != nil && bytes.Equal(there.Value, value) {
		return wal.NodeVersion{Name: self.Name, Version: uint64(there.ModRevision)}, nil
	}
	return wal.NodeVersion{}, wal.ErrMoved
}

// deposedState returns the value of a node that was read, as a taker writes it.
func deposedState(kvs []*mvccpb.KeyValue) string {
	value := []byte{byTaker}
	if kv := first(kvs); kv != nil && len(kv.Value) > 0 {
		value = append(value, kv.Value[1:]...)
	}
	return string(value)
}

// Nodes implements wal.Log.
func (l *Log) Nodes(ctx context.Context) ([]wal.NodeState, error) { return l.nodes(ctx) }

// Glance implements wal.Log.
func (l *Log) Glance(ctx context.Context) ([]wal.NodeState, error) {
	return l.nodes(ctx, clientv3.WithSerializable())
}

func (l *Log) nodes(ctx context.Context, how ...clientv3.OpOption) ([]wal.NodeState, error) {
	prefix := l.nodeKey("")
	r, err := l.get(ctx, prefix, append(how, clientv3.WithPrefix())...)
	if err != nil {
		return nil, fmt.Errorf("etcdlog: read %s: %w", prefix, err)
	}
	nodes := make([]wal.NodeState, 0, len(r.Kvs))
	for _, kv := range r.Kvs {
		if len(kv.Value) == 0 || kv.Value[0] != byItself && kv.Value[0] != byTaker {
			return nil, fmt.Errorf("etcdlog: %s is no node's state", kv.Key)
		}
		self := wal.NodeVersion{Name: strings.TrimPrefix(string(kv.Key), prefix), Version: uint64(kv.ModRevision)}
		nodes = append(nodes, wal.NodeState{NodeVersion: self, State: kv.Value[1:]})
	}
	return nodes, nil
}

// Leave implements wal.Log.
func (l *Log) Leave(ctx context.Context, name string) error {
	key := l.nodeKey(name)
	if _, err := l.txn(ctx, nil, []clientv3.Op{clientv3.OpDelete(key)}, nil); err != nil {
		return fmt.Errorf("etcdlog: remove %s: %w", key, err)
	}
	return nil
}
