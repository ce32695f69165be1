package etcdlog

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// defaultQuota is an etcd's quota in bytes where it does not say another.
const defaultQuota = 2 << 30

// place is the oldest batch of a log that Trim was told to keep.
type place struct {
	version  uint64
	revision int64 // the log needs none before
}

// Trim implements wal.Log. Compaction is one for all logs: it goes as far as every log allows, and
// not at all before Trim was called through this Log for every log that the etcd has.
func (l *Log) Trim(ctx context.Context, log uint16, upto uint64) error {
	c, err := l.Cluster(ctx)
	if err != nil || upto <= c.Base {
		return err
	}
	logs := l.prefix + "log/"
	all, err := l.get(ctx, logs, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return fmt.Errorf("etcdlog: read %s: %w", logs, err)
	}
	key := l.logKey(log)
	for _, kv := range all.Kvs {
		if string(kv.Key) != key {
			continue
		}
		if err := l.keep(ctx, kv, upto-c.Base+1, all.Header.Revision); err != nil {
			return err
		}
	}
	return l.compact(ctx, all.Kvs)
}

// keep notes that a log needs no version before the given one. newest is the log's newest at
// revision head.
func (l *Log) keep(ctx context.Context, newest *mvccpb.KeyValue, version uint64, head int64) error {
	key := string(newest.Key)
	l.mu.Lock()
	p := l.kept[key]
	l.mu.Unlock()
	if version < p.version {
		return nil
	}
	p.version = min(version, versionOf(newest))
	if p.version == versionOf(newest) {
		p.revision = head // the newest is read without the history
	} else {
		kv, err := l.find(ctx, key, p.version, max(p.revision, 1), newest.ModRevision, clientv3.WithKeysOnly())
		if err != nil || kv == nil {
			return err
		}
		p.revision = max(p.revision, kv.ModRevision)
	}
	l.mu.Lock()
	l.kept[key] = p
	l.mu.Unlock()
	return nil
}

// compact has etcd remove what none of the logs needs.
func (l *Log) compact(ctx context.Context, logs []*mvccpb.KeyValue) error {
	revision := l.needed(logs)
	if revision == 0 {
		return nil
	}
	ctx, cancel := l.call(ctx)
	defer cancel()
	if _, err := l.client.Compact(ctx, revision); err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return fmt.Errorf("etcdlog: compact %s to revision %d: %w", l.prefix, revision, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = max(l.cut, revision)
	return nil
}

// needed returns the first revision that a log needs. 0: there is nothing new to compact.
func (l *Log) needed(logs []*mvccpb.KeyValue) (revision int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, kv := range logs {
		p := l.kept[string(kv.Key)]
		if i == 0 || p.revision < revision {
			revision = p.revision
		}
	}
	if revision <= l.cut {
		return 0
	}
	return revision
}

// Size implements wal.Log. It is the largest of the members' databases; a member that is older than
// 3.6 does not say its quota, which is then taken to be 2 GiB. Where a database has reached its
// quota, every Append fails.
func (l *Log) Size(ctx context.Context) (bytes, most int64, err error) {
	all, err := l.status(ctx)
	for _, s := range all {
		quota := s.DbSizeQuota
		if quota <= 0 {
			quota = defaultQuota
		}
		bytes = max(bytes, s.DbSizeInUse)
		if most == 0 || quota < most {
			most = quota
		}
	}
	return bytes, most, err
}
