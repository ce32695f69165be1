package etcdlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"pixd/wal"
)

const (
	// watched is how many batches a watch may begin with. What is further back is read: etcd reads all that a
	// watch begins with at once, and stops writers meanwhile.
	watched = 64

	// silence is how long a watch may bring nothing before the log's end is read.
	silence = time.Second

	// pause is how long a follower waits after an error.
	pause = 100 * time.Millisecond
)

// follower is one call of Follow. It does not believe that a watch brings every batch: it delivers
// only the version that is next, and reads the log again where a watch brings another, ends, or
// brings nothing though the log goes on.
type follower struct {
	*Log
	key      string
	base     uint64
	have     uint64 // the version that was delivered last
	many     int    // how many batches one call may read
	revision int64  // of that version; 0: not known
	fn       func(position uint64, batch []byte) error
	final    error // why Follow ends
	troubled bool  // an error was logged, and nothing was heard from etcd since
}

// Follow implements wal.Log. Where etcd does not answer, it logs that once and goes on trying.
func (l *Log) Follow(ctx context.Context, log uint16, after uint64, fn func(position uint64, batch []byte) error) error {
	c, err := l.Cluster(ctx)
	if err != nil {
		return err
	}
	if after < c.Base {
		return wal.ErrTrimmed
	}
	f := &follower{Log: l, key: l.logKey(log), base: c.Base, have: after - c.Base, many: 1, fn: fn}
	alive, free := l.while(ctx)
	defer free()
	for {
		err := f.round(alive)
		switch {
		case f.final != nil:
			return f.final
		case ctx.Err() != nil:
			return ctx.Err()
		case alive.Err() != nil:
			return fmt.Errorf("etcdlog: follow %s: %w", f.key, errClosed)
		}
		f.trouble(err)
		select {
		case <-alive.Done():
		case <-time.After(pause):
		}
	}
}

// round reads what is in the log and watches what is added, until an error.
func (f *follower) round(ctx context.Context) error {
	from, err := f.catchUp(ctx)
	if err != nil {
		return err
	}
	return f.watch(ctx, from)
}

// catchUp delivers batches until few are missing. It returns the revision to watch from.
func (f *follower) catchUp(ctx context.Context) (from int64, err error) {
	for {
		newest, head, err := f.newest(ctx, f.key)
		if err != nil {
			return 0, err
		}
		f.heard()
		switch end := versionOf(newest); {
		case end < f.have:
			return 0, f.ends(wal.ErrShort)
		case end == f.have:
			return head + 1, nil
		case end == f.have+1:
			return head + 1, f.deliver(newest)
		case f.revision > 0 && end-f.have <= watched:
			return f.revision + 1, nil
		}
		if err := f.read(ctx, newest); err != nil {
			return 0, err
		}
	}
}

// watch delivers the batches that a watch brings, until it errs.
func (f *follower) watch(ctx context.Context, from int64) error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	late := time.AfterFunc(f.timeout, cancel) // a watch that cannot begin would wait for ever
	events := f.client.Watch(ctx, f.key, clientv3.WithRev(from), clientv3.WithProgressNotify())
	late.Stop()
	idle := time.NewTicker(silence)
	defer idle.Stop()
	heard, missing := f.have, false
	for {
		select {
		case r, open := <-events:
			if !open {
				return fmt.Errorf("etcdlog: watch %s: it was closed", f.key)
			}
			if err := f.take(r); err != nil {
				return err
			}
		case <-idle.C:
			if heard == f.have && missing {
				f.revision = 0
				return fmt.Errorf("etcdlog: watch %s: it does not bring version %d", f.key, f.have+1)
			}
			missing = heard == f.have && f.behind(ctx)
			heard = f.have
		}
	}
}

// take delivers what a watch has brought.
func (f *follower) take(r clientv3.WatchResponse) error {
	if err := r.Err(); err != nil {
		f.revision = 0 // it may be compacted
		return fmt.Errorf("etcdlog: watch %s: %w", f.key, err)
	}
	f.heard()
	for _, e := range r.Events {
		switch v := versionOf(e.Kv); {
		case e.Type != clientv3.EventTypePut:
			return f.ends(fmt.Errorf("etcdlog: %s was deleted", f.key))
		case v <= f.have: // it was read before
			continue
		case v != f.have+1:
			return fmt.Errorf("etcdlog: watch %s: it brings version %d behind %d", f.key, v, f.have)
		}
		kv := &mvccpb.KeyValue{Version: e.Kv.Version, ModRevision: e.Kv.ModRevision, Value: bytes.Clone(e.Kv.Value)} // a member in this process gives all watches the same bytes
		if err := f.deliver(kv); err != nil {
			return err
		}
	}
	return nil
}

// behind reports whether the log has a batch that was not delivered. It is false where etcd does not
// answer.
func (f *follower) behind(ctx context.Context) bool {
	newest, _, err := f.newest(ctx, f.key, clientv3.WithKeysOnly())
	if err != nil {
		if ctx.Err() == nil {
			f.trouble(err)
		}
		return false
	}
	f.heard()
	return versionOf(newest) != f.have
}

func (f *follower) deliver(kv *mvccpb.KeyValue) error {
	f.have, f.revision = versionOf(kv), kv.ModRevision
	if err := f.fn(f.base+f.have, kv.Value); err != nil {
		return f.ends(err)
	}
	return nil
}

// ends makes err what Follow returns.
func (f *follower) ends(err error) error {
	f.final = err
	return err
}

func (f *follower) trouble(err error) {
	if !f.troubled && !errors.Is(err, context.Canceled) {
		f.troubled = true
		f.log.Warn("the log cannot be followed; trying again", "key", f.key, "behind", f.base+f.have, "err", err)
	}
}

func (f *follower) heard() {
	if f.troubled {
		f.troubled = false
		f.log.Info("the log is followed again", "key", f.key, "behind", f.base+f.have)
	}
}
