package etcdlog

import (
	"context"
	"fmt"

	"github.com/goccy/go-json"
	clientv3 "go.etcd.io/etcd/client/v3"

	"pixd/wal"
)

func (l *Log) clusterKey() string { return l.prefix + "cluster" }

// Cluster implements wal.Log. It asks etcd once: a cluster never changes.
func (l *Log) Cluster(ctx context.Context) (wal.Cluster, error) {
	l.mu.Lock()
	known := l.agree
	l.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	key := l.clusterKey()
	r, err := l.get(ctx, key)
	if err != nil {
		return wal.Cluster{}, fmt.Errorf("etcdlog: read %s: %w", key, err)
	}
	if len(r.Kvs) == 0 {
		return wal.Cluster{}, wal.ErrNoCluster
	}
	return l.learn(r.Kvs[0].Value)
}

// Found implements wal.Log.
func (l *Log) Found(ctx context.Context, c wal.Cluster) (wal.Cluster, error) {
	key := l.clusterKey()
	value, err := json.Marshal(c)
	if err != nil {
		return wal.Cluster{}, fmt.Errorf("etcdlog: encode %s: %w", key, err)
	}
	r, err := l.txn(ctx, []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(key), "=", 0)},
		[]clientv3.Op{clientv3.OpPut(key, string(value))}, []clientv3.Op{clientv3.OpGet(key)})
	if err != nil {
		return wal.Cluster{}, fmt.Errorf("etcdlog: found %s: %w", key, err)
	}
	if !r.Succeeded {
		value = r.Responses[0].GetResponseRange().Kvs[0].Value
	}
	return l.learn(value)
}

// learn decodes a cluster and keeps it.
func (l *Log) learn(value []byte) (wal.Cluster, error) {
	c := &wal.Cluster{}
	if err := json.Unmarshal(value, c); err != nil {
		return wal.Cluster{}, fmt.Errorf("etcdlog: decode %s: %w", l.clusterKey(), err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.agree = c
	return *c, nil
}
