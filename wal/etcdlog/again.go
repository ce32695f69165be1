package etcdlog

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// resending says when a transaction that has no answer is sent again: first after pause, and then each
// time after factor times the pause before.
//
// While another member begins to lead, etcd drops what it is asked, and does not say so. A renewal that is
// waited for until its time is over comes too late then, and the node has lost the log. Where the member is in
// this process, which hears of it, all that has no answer is sent again at once.
type resending struct {
	pause  time.Duration
	factor time.Duration
}

var (
	renewals = resending{300 * time.Millisecond, 1}
	batches  = resending{500 * time.Millisecond, 2} // they may be large, and etcd slow
)

// txnAgain is txn for a transaction that has an effect once, however often etcd gets it, and whose answer
// shows whether it has had it. It returns the first answer.
func (l *Log) txnAgain(ctx context.Context, how resending, ifs []clientv3.Cmp, then, otherwise []clientv3.Op) (*clientv3.TxnResponse, error) {
	ctx, cancel := l.call(ctx)
	defer cancel()
	if ctx.Err() != nil { // a member in this process might do it all the same
		return nil, context.Cause(ctx)
	}
	commit := func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return l.client.Txn(ctx).If(ifs...).Then(then...).Else(otherwise...).Commit()
	}
	waiting, answered := context.WithCancel(ctx)
	defer answered()
	var later atomic.Pointer[clientv3.TxnResponse] // the answer to one that was sent again
	again := func() {
		if r, err := commit(ctx); err == nil && later.CompareAndSwap(nil, r) {
			answered()
		}
	}
	defer context.AfterFunc(l.leading(), again)()
	defer time.AfterFunc(how.pause, func() {
		for pause := how.pause * how.factor; ctx.Err() == nil; pause *= how.factor {
			go again()
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	}).Stop()
	r, err := commit(waiting)
	if is := later.Load(); err != nil && is != nil {
		return is, nil
	}
	return r, err
}

// leading returns a context that ends as soon as another member is known to lead.
func (l *Log) leading() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leader
}

// ledAnew says that another member leads.
func (l *Log) ledAnew() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deposed()
	l.leader, l.deposed = context.WithCancel(context.Background())
}

// watchLeader tells the logs when another member leads, until ctx ends.
func (m *Member) watchLeader(ctx context.Context) {
	for changed := m.etcd.Server.LeaderChangedNotify(); ; {
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		changed = m.etcd.Server.LeaderChangedNotify()
		m.mu.Lock()
		logs := slices.Clone(m.logs)
		m.mu.Unlock()
		for _, l := range logs {
			l.ledAnew()
		}
	}
}
