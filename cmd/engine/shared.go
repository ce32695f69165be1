package engine

import (
	"context"
	"errors"
	"net"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/cmd/certificate"
	"pixd/cmd/forward"
	"pixd/cmd/serving"
	"pixd/cmd/snapshots"
	"pixd/httpapi/admin"
	"pixd/wal"
)

// Shared is what an engine gets from its node if several nodes share its journal.
type Shared struct {
	Store *wal.Store // follows the log up to the batch that has made this node the owner; the engine closes it
	Lead  wal.Lead

	Certain func(context.Context) bool // as Lead.Certain, and false where the context ends first

	Merchant, Admin, Scheme net.Listener // in place of the ports of Config; Scheme may be nil
	Cluster                 admin.Cluster
	Door                    func(forward.Face, fasthttp.RequestHandler) fasthttp.RequestHandler // wraps the handlers of merchants and of notices: it asks first whether this node is certain
	Others                  func() int64                                                        // how many connections other nodes have open, on which they forward requests
	Collectors              []prometheus.Collector
	Certificates            [3]*certificate.Certificate                           // of the merchant API, of the operator API, and of the notices' own listener, as in Served
	Snapshots               *snapshots.Maker                                      // makes snapshots of the journal, whoever the owner is
	OnSnapshots             fasthttp.RequestHandler                               // answers for the paths about snapshots
	Operators               func(fasthttp.RequestHandler) fasthttp.RequestHandler // wraps the operator API: some paths are about one of the nodes

	// Resign, where it is not nil, is called when the engine closes, once nothing is added to the
	// journal any more: the log is handed over to the node that it returns, or to any.
	Resign func() (next string, resign bool)
}

// The kinds of alert that a node which owns the log raises about the nodes and the log.
const (
	AlertNodeGone    = "node_gone"    // a node has not been heard of
	AlertNodeBehind  = "node_behind"  // a node does not get the owner's batches in time
	AlertTookOver    = "took_over"    // this node has taken over from one that was lost
	AlertLogMismatch = "log_mismatch" // a node has met a batch that does not continue its journal
	AlertLogFull     = "log_full"     // the log's database has half of what it may have
)

// fenced is a scheme that is told of nothing but while this node is certain that it owns the log. It may
// be asked at any time.
type fenced struct {
	scheme.Scheme
	certain func(context.Context) bool
}

// errFenced says that nothing was sent: another node goes on with the payment.
var errFenced = errors.New("this node is not certain that it owns the log: nothing was sent")

// Submit implements scheme.Scheme.
func (f fenced) Submit(ctx context.Context, p scheme.Payment) (scheme.State, error) {
	if !f.certain(ctx) {
		return scheme.State{}, errFenced
	}
	return f.Scheme.Submit(ctx, p)
}

// Return implements scheme.Scheme.
func (f fenced) Return(ctx context.Context, r scheme.Refund) (scheme.State, error) {
	if !f.certain(ctx) {
		return scheme.State{}, errFenced
	}
	return f.Scheme.Return(ctx, r)
}

// RegisterKey implements scheme.Scheme.
func (f fenced) RegisterKey(ctx context.Context, k pix.Key, a pix.AccountID) error {
	if !f.certain(ctx) {
		return errFenced
	}
	return f.Scheme.RegisterKey(ctx, k, a)
}

// DeregisterKey implements scheme.Scheme.
func (f fenced) DeregisterKey(ctx context.Context, k pix.Key, a pix.AccountID) error {
	if !f.certain(ctx) {
		return errFenced
	}
	return f.Scheme.DeregisterKey(ctx, k, a)
}

// resign hands the log over, if the engine has one and is to.
func (e *Engine) resign() error {
	if sh := e.Config.Shared; sh != nil && sh.Resign != nil {
		if next, resign := sh.Resign(); resign {
			return e.Store.Resign(next)
		}
	}
	return nil
}

// Handler is the handler of a listener, for requests that reach this engine by way of another node.
// Nil: the engine has no such listener.
func (s *Served) Handler(f forward.Face) fasthttp.RequestHandler {
	switch {
	case f == forward.Merchant:
		return s.merchant.Handler
	case f == forward.Operator:
		return s.admin.Handler
	case s.notices != nil:
		return s.notices.Handler
	}
	return nil
}

// open returns how many connections there are on which merchants' requests come, from other nodes too.
func (s *Served) open() int64 {
	n := s.connections.Open()
	if sh := s.Config.Shared; sh != nil {
		n += sh.Others()
	}
	return n
}

// door wraps a handler so that it is not called while this node is not certain that it owns the log.
func (e *Engine) door(face forward.Face, h fasthttp.RequestHandler) fasthttp.RequestHandler {
	if sh := e.Config.Shared; sh != nil {
		return sh.Door(face, h)
	}
	return h
}

// makeSnapshots makes what makes snapshots, and begins its schedule.
func (e *Engine) makeSnapshots() (err error) {
	if sh := e.Config.Shared; sh != nil {
		e.snapshots = sh.Snapshots
		return nil
	}
	if e.snapshots, err = snapshots.NewMaker(e.Config.SnapshotOptions(snapshots.Options{
		Store: e.Store, Now: e.Clock.Now, Raise: e.Config.alerts.RaiseGeneral, Ending: e.ending,
	})); err == nil {
		go e.snapshots.Run(e.ending) // nobody waits for it: the folder may not answer
	}
	return err
}

// SnapshotOptions completes the options with which snapshots of a journal are made.
func (c *Config) SnapshotOptions(o snapshots.Options) snapshots.Options {
	o.DataDir, o.Dir, o.ISPB, o.Version, o.MinFree, o.PackCommand, o.FS, o.Log = c.DataDir, c.snapshotDir(), c.ISPB, c.Version, c.minFree(), c.PackCommand, c.files(), c.Log
	o.Every, o.Full, o.Keep, o.MaxSize = c.SnapshotEvery, c.SnapshotFull, c.SnapshotKeep, c.SnapshotMaxSize
	if c.inProcess() {
		o.SimDir = c.simDir()
	}
	return o
}

// Raise raises an alert about a node or the log.
func (s *Served) Raise(kind, message string) { s.Engine.Config.alerts.RaiseGeneral(kind, message) }

// Drain stops accepting connections, and ends those that are open once their requests are over. Requests that come by
// Handler go on until Close; but browsers that show the console's figures are let go at once, and audits end.
//
// It does not wait for a moment without requests by Handler, which come all the while: the server takes a connection on
// which nothing has come yet for one with a request, and would wait as long as a request may take to come.
func (s *Served) Drain() error {
	s.unwatch()
	s.endAudits()
	err := serving.Drain(s.merchant, func() bool { return s.connections.Midway() != 0 }, s.Config.Log)
	return errors.Join(err, s.lastProbe())
}

// onSnapshots answers for the paths about snapshots where another node may make them; nil: this engine makes them.
func (s *Served) onSnapshots() fasthttp.RequestHandler {
	if sh := s.Config.Shared; sh != nil {
		return sh.OnSnapshots
	}
	return nil
}

// cluster is what the operator API says and does about the nodes; nil: there is one.
func (s *Served) cluster() admin.Cluster {
	if sh := s.Engine.Config.Shared; sh != nil {
		return sh.Cluster
	}
	return nil
}
