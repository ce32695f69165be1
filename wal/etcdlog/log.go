// Package etcdlog keeps a wal.Log in etcd: in an existing one, which Dial connects to, or in a
// member that is part of this process, which Start runs.
//
// Each batch is a new version of the log's key, so that the key's version is the batch's place in
// the log, and adding a batch is a transaction that compares it. The batches before the newest are
// the key's history, which etcd keeps until Trim has it compacted. Compaction is one for a whole
// etcd: it must be pixd's alone, and must compact nothing by itself.
package etcdlog

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-semver/semver"
	clientv3 "go.etcd.io/etcd/client/v3"

	"pixd/wal"
)

// DefaultPrefix is what the keys begin with where the options do not say otherwise.
const DefaultPrefix = "pixd/"

// defaultTimeout is how long one call of etcd may take.
const defaultTimeout = 2 * time.Second

// largestRequest is the size of the largest request in bytes: a batch of 4 MiB and what is around
// it.
const largestRequest = 5 << 20

// oldest is the first version of etcd that is used: 3.5.0 to 3.5.2 may differ between members after
// a crash.
var oldest = semver.Version{Major: 3, Minor: 5, Patch: 3}

var errClosed = errors.New("the connection is closed")

// Options say which etcd a log is in.
type Options struct {
	Endpoints []string      // URLs of the members; at least one
	TLS       *tls.Config   // nil: without TLS, also where a URL says https
	Prefix    string        // what all keys begin with; empty: DefaultPrefix
	Timeout   time.Duration // how long one call of etcd may take; 0: 2 s
	Log       *slog.Logger  // nil: messages are discarded
}

// Log is a wal.Log in etcd. Several goroutines may use it.
type Log struct {
	client  *clientv3.Client
	prefix  string
	timeout time.Duration
	log     *slog.Logger
	life    context.Context // ends with Close
	end     context.CancelFunc

	stopping <-chan struct{} // closed when the member in this process ends, by itself too; nil: the etcd is another process

	mu      sync.Mutex
	agree   *wal.Cluster     // nil: not read yet
	kept    map[string]place // by key: what Trim was told
	cut     int64            // the newest revision that Trim has had compacted
	leader  context.Context  // ends when another member leads; that of an etcd in another process never does
	deposed context.CancelFunc
}

var _ wal.Log = (*Log)(nil)

// Dial connects to an etcd. It returns an error where no member answers, one that answers is older than 3.5.3,
// or one takes fewer than 128 operations in a transaction (--max-txn-ops) or no requests of 5 MiB
// (--max-request-bytes), which batches of 4 need.
func Dial(ctx context.Context, o Options) (*Log, error) {
	logger := discardNil(o.Log)
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            o.Endpoints,
		TLS:                  o.TLS,
		DialKeepAliveTime:    10 * time.Second, // gRPC's least
		DialKeepAliveTimeout: 3 * time.Second,
		MaxCallSendMsgSize:   largestRequest,
		Logger:               zapTo(logger),
	})
	if err != nil {
		return nil, fmt.Errorf("etcdlog: dial %s: %w", strings.Join(o.Endpoints, ", "), err)
	}
	l := newLog(client, o.Prefix, o.Timeout, logger)
	err = l.fits(ctx, o)
	if err != nil && ctx.Err() != nil { // nobody was waited for: what was not answered means nothing
		err = fmt.Errorf("etcdlog: dial %s: %w", strings.Join(o.Endpoints, ", "), ctx.Err())
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// fits returns an error where the etcd does not answer, or not as a log needs it.
func (l *Log) fits(ctx context.Context, o Options) error {
	err := l.Check(ctx)
	if err == nil {
		return l.takesAll(ctx)
	}
	for _, e := range o.Endpoints {
		if why := handshake(ctx, e, o.TLS); why != nil {
			err = fmt.Errorf("%w; %s: %w", err, e, why)
		}
	}
	return err
}

func newLog(client *clientv3.Client, prefix string, timeout time.Duration, log *slog.Logger) *Log {
	if prefix == "" {
		prefix = DefaultPrefix
	}
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	l := &Log{client: client, prefix: prefix, timeout: timeout, log: log, kept: map[string]place{}}
	l.life, l.end = context.WithCancel(context.Background())
	l.leader, l.deposed = context.WithCancel(context.Background())
	return l
}

func discardNil(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return log
}

// Check returns an error where no member of the etcd answers, or one that does is older than 3.5.3.
func (l *Log) Check(ctx context.Context) error {
	all, err := l.status(ctx)
	if err != nil {
		return err
	}
	for _, s := range all {
		if err := usable(s.Version); err != nil {
			return err
		}
	}
	return nil
}

// usable returns an error where an etcd of a version is not used.
func usable(version string) error {
	v, err := semver.NewVersion(version)
	if err != nil {
		return fmt.Errorf("etcdlog: version %q of a member of the etcd: %w", version, err)
	}
	if v.LessThan(oldest) {
		return fmt.Errorf("etcdlog: a member of the etcd has version %s; the oldest that is used is %s", v, oldest)
	}
	return nil
}

// status asks all members at once how they are and returns those that answer, at least one: a call to a
// member that is down ends only with its time.
func (l *Log) status(ctx context.Context) (all []*clientv3.StatusResponse, err error) {
	endpoints := l.client.Endpoints()
	if len(endpoints) == 0 {
		endpoints = []string{""} // the member in this process
	}
	call, cancel := l.call(ctx)
	defer cancel()
	var work sync.WaitGroup
	var mu sync.Mutex
	for _, e := range endpoints {
		work.Go(func() {
			s, failed := asked(l, func() (*clientv3.StatusResponse, error) { return l.client.Status(call, e) })
			mu.Lock()
			defer mu.Unlock()
			if failed != nil {
				err = fmt.Errorf("etcdlog: status of %s: %w", e, failed)
				return
			}
			all = append(all, s)
		})
	}
	work.Wait()
	if len(all) == 0 {
		return nil, err
	}
	return all, nil
}

// while returns a context that ends with ctx, and with the log's connection.
func (l *Log) while(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.life, func() { cancel(errClosed) })
	if l.life.Err() != nil {
		cancel(errClosed)
	}
	return ctx, func() { stop(); cancel(nil) }
}

// call returns the context of one call of etcd.
func (l *Log) call(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, free := l.while(ctx)
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	return ctx, func() { cancel(); free() }
}

// txn does then where all of ifs are so, and otherwise the other.
func (l *Log) txn(ctx context.Context, ifs []clientv3.Cmp, then, otherwise []clientv3.Op) (*clientv3.TxnResponse, error) {
	ctx, cancel := l.call(ctx)
	defer cancel()
	if ctx.Err() != nil { // a member in this process might do it all the same
		return nil, context.Cause(ctx)
	}
	return asked(l, func() (*clientv3.TxnResponse, error) {
		return l.client.Txn(ctx).If(ifs...).Then(then...).Else(otherwise...).Commit()
	})
}

func (l *Log) get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	ctx, cancel := l.call(ctx)
	defer cancel()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return asked(l, func() (*clientv3.GetResponse, error) { return l.client.Get(ctx, key, opts...) })
}

// errEnds is the error of a call of a member in this process that ends, by itself too: it was removed.
var errEnds = errors.New("etcdlog: the member of etcd in this process ends")

// asked has etcd answer a call that may read its database. A member in this process that ends closes the database beside
// calls, of which one panics then, with a lock that others wait for without end: nobody waits for them.
func asked[T any](l *Log, call func() (T, error)) (T, error) {
	if l.stopping == nil {
		return call()
	}
	type answer struct {
		is  T
		err error
	}
	answered := make(chan answer, 1)
	ends := func() bool {
		select {
		case <-l.stopping:
			return true
		default:
			return false
		}
	}
	if ends() {
		return answer{}.is, errEnds
	}
	go func() {
		defer func() {
			if p := recover(); p != nil && !ends() {
				panic(p)
			}
		}()
		is, err := call()
		answered <- answer{is, err}
	}()
	select {
	case a := <-answered:
		return a.is, a.err
	case <-l.stopping:
		return answer{}.is, errEnds
	}
}

// Close implements wal.Log.
func (l *Log) Close() error {
	if l.life.Err() != nil {
		return nil
	}
	l.end()
	if err := l.client.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("etcdlog: close: %w", err)
	}
	return nil
}
