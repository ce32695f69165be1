package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/cmd/certificate"
	"pixd/cmd/engine"
	"pixd/cmd/forward"
	"pixd/cmd/journal"
	"pixd/cmd/machine"
	"pixd/cmd/serving"
	"pixd/httpapi"
	"pixd/httpapi/control"
	"pixd/wal"
	"pixd/wal/etcdlog"
)

// Served is a node with its listeners.
type Served struct {
	MerchantAddr, AdminAddr, ClusterAddr net.Addr
	SchemeAddr                           net.Addr // nil: notices come to the operator API
	Token                                string   // the operator API's bearer token on this node

	config    engine.Config
	flags     Flags
	build     engine.Build
	peers     []peer
	certs     [5]*certificate.Certificate // of the merchant API, the operator API, the notices, the other nodes and an etcd
	clientTLS *tls.Config                 // towards other nodes; nil: plain HTTP
	serverTLS *tls.Config                 // of the listener for other nodes; nil: plain HTTP
	elapsed   func() time.Duration

	member     *etcdlog.Member // nil: the etcd is another's
	up         atomic.Pointer[upMember]
	hadData    bool   // the folder had data of a member at the start
	ofCluster  string // the cluster whose journal the folder had at the start; empty: none's
	ofItsOwn   uint64 // how many batches that journal had where it was of no cluster
	log        wal.Log
	node       atomic.Pointer[node]
	engine     atomic.Pointer[engine.Served] // nil: this node is not the owner, or does not serve yet
	forward    *forward.Forwarder
	notices    *forward.Forwarder      // of the scheme
	operate    *forward.Forwarder      // of operators
	asStandby  fasthttp.RequestHandler // the operator API of a node that is not the owner
	toMaker    *forward.Forwarder      // to the node that makes snapshots
	edges      []*edge
	inside     *fasthttp.Server     // for the other nodes
	within     *httpapi.Connections // theirs
	uncaughtAt time.Duration        // when config.Uncaught was set

	snapshotFolder sync.RWMutex // see snapshots.Options.Folder
	fetched        int          // how often the journal was copied from others
	sending        atomic.Bool  // a copy of the journal is being sent
	inHand         atomic.Int64 // forwarded requests that the engine has
	sent           atomic.Int64 // long answers to other forwarded requests, which only have to be sent
	meters         *meters

	ends     chan error // receives an error when a listener, or the node, ends by itself
	handover chan order
	stop     context.CancelFunc
	over     chan struct{} // closed once the node has ended
	unended  error         // what went wrong while the node was ended; to be read once over is closed
	work     sync.WaitGroup
}

// order asks the owner to hand the log over to the node to, or to any.
type order struct {
	to   string
	done chan error // receives nil once the log is handed over
}

// Serve takes the ports, joins the cluster and follows the log. Until it returns, the operator API
// answers only the probes; from then on the node forwards requests, or answers them while it is the owner.
func Serve(ctx context.Context, c engine.Config, f Flags, b engine.Build) (_ *Served, err error) {
	peers, err := parsePeers(f.Peers)
	if err != nil {
		return nil, err
	}
	c.Version = b.Version
	now := machine.Clocks().Elapsed
	s := &Served{
		config: c, flags: f, build: b, peers: peers, meters: newMeters(),
		elapsed: func() time.Duration { return time.Duration(now()) * time.Millisecond },
		ends:    make(chan error, 8), handover: make(chan order), over: make(chan struct{}),
	}
	s.meters.look = s.measures
	if err := s.open(ctx); err != nil {
		close(s.over)
		return nil, errors.Join(serving.Ended(ctx, err), s.Shutdown())
	}
	run, stop := context.WithCancel(context.Background())
	s.stop = stop
	go func() {
		defer close(s.over)
		s.ran(run, s.run(run))
	}()
	return s, nil
}

// ran takes in the error with which the node has ended: by itself, or while it was ended, which by itself is none.
func (s *Served) ran(ctx context.Context, err error) {
	switch {
	case err == nil:
	case ctx.Err() == nil:
		s.ends <- err
	case !serving.Canceled(err) && !serving.Stopped(err):
		s.unended = err
	}
}

// open does everything that must be done before the node follows.
func (s *Served) open(ctx context.Context) error {
	for _, step := range []func(context.Context) error{s.readFiles, s.openPorts, s.checkTrust, s.openLog, s.begin} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// readFiles reads certificates and the token, before anything is written.
func (s *Served) readFiles(context.Context) (err error) {
	c, f := &s.config, &s.flags
	if err := wal.InUse(filepath.Join(c.DataDir, journal.Folder)); err != nil {
		return err
	}
	for i, of := range []struct {
		flag  string
		files certificate.Files
	}{{"tls", c.TLS}, {"admin-tls", c.AdminTLS}, {"scheme-tls", c.SchemeTLS}} {
		if s.certs[i], err = certificate.Read(of.flag, of.files); err != nil {
			return err
		}
	}
	if s.certs[3], s.serverTLS, s.clientTLS, err = forward.TLS(f.TLS.Cert, f.TLS.Key, f.CA); err != nil {
		return err
	}
	if u, _ := url.Parse(urlOf(s.peers, f.Node)); s.clientTLS != nil {
		if err := s.certs[3].Accepted(s.clientTLS.RootCAs, u.Hostname()); err != nil {
			return fmt.Errorf("the other nodes would refuse this one: %w", err)
		}
	}
	if err := c.ReadFiles(); err != nil {
		return err
	}
	if err := c.MakeFolder(); err != nil {
		return err
	}
	s.Token, err = c.Token()
	return err
}

// openPorts takes the ports and begins to serve them.
func (s *Served) openPorts(context.Context) error {
	c, f := &s.config, &s.flags
	s.hadData = hasLogData(c.DataDir)
	port, err := serving.Listen(f.Listen)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	s.ClusterAddr = port.Addr()
	if err := s.readFolder(); err != nil {
		return errors.Join(err, port.Close())
	}
	s.forward = forward.New(forward.Options{Owner: s.where, Self: f.Node, TLS: s.clientTLS, Forwarded: s.meters.forwarded.Inc, NoOwner: noOwner, Log: c.Log})
	s.notices = forward.New(forward.Options{Owner: s.where, Self: f.Node, TLS: s.clientTLS, Forwarded: s.meters.forwarded.Inc, NoOwner: noOwner, Log: c.Log})
	s.operate = forward.New(forward.Options{Owner: s.where, Self: f.Node, TLS: s.clientTLS, Forwarded: s.meters.forwarded.Inc, NoOwner: control.NotReady, Log: c.Log})
	s.toMaker = forward.New(forward.Options{Owner: s.whereSnapshots, Self: f.Node, TLS: s.clientTLS, NoOwner: control.NotReady, Log: c.Log})
	s.inside = forward.NewServer(forward.Receive(s.handler, c.Log), s.answerNode, c.Log)
	s.within = httpapi.Limit(port, httpapi.ConnectionOptions{TLS: s.serverTLS, Total: serving.Room(serving.AsNode, c.Log), Log: c.Log})
	s.serve(s.inside, s.within)
	return s.openEdges()
}

// readFolder settles what was left of copies, and reads whose journal the folder has. Another process with these settings
// would have the port: while it copies, its journal is closed, and says nothing of it.
func (s *Served) readFolder() (err error) {
	if err := settleCopies(s.config.DataDir); err != nil {
		return err
	}
	dir := filepath.Join(s.config.DataDir, journal.Folder)
	if s.ofCluster, err = wal.ClusterOf(dir); err == nil && s.ofCluster == "" {
		s.ofItsOwn, err = wal.EndOf(dir)
	}
	return err
}

// serve serves a listener until it is closed.
func (s *Served) serve(server *fasthttp.Server, l net.Listener) {
	s.work.Go(func() {
		if err := server.Serve(l); err != nil && !errors.Is(err, net.ErrClosed) {
			s.ends <- err
		}
	})
}

// where returns where the owner is, for the forwarder.
func (s *Served) where() (name, url string, ok bool) {
	if n := s.node.Load(); n != nil {
		return n.where()
	}
	return "", "", false
}

// whereSnapshots returns where snapshots are made.
func (s *Served) whereSnapshots() (name, url string, ok bool) {
	if n := s.node.Load(); n != nil {
		return s.maker(n)
	}
	return "", "", false
}

// noOwner answers a request for which no owner was found.
func noOwner(ctx *fasthttp.RequestCtx) {
	httpapi.Unavailable(ctx, "no node owns the journal now: send the request again")
}

// handler returns the engine's handler of a face for requests that other nodes forward; nil: this
// node is not the owner, or not certain of it.
func (s *Served) handler(face forward.Face) fasthttp.RequestHandler {
	if face == forward.Local {
		return s.ownSnapshots
	}
	s.inHand.Add(1) // before the engine is read: whoever takes the engine away waits for those that have it
	e, n := s.engine.Load(), s.node.Load()
	if e == nil || n == nil || !n.serves() {
		s.inHand.Add(-1)
		return nil
	}
	of := face
	if face == forward.Checked {
		of = forward.Operator
	}
	handle := e.Handler(of)
	if handle == nil {
		handle = func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(fasthttp.StatusNotFound) }
	}
	if face == forward.Checked {
		handle = s.asOperator(handle)
	}
	return s.counted(handle)
}

// counted handles a forwarded request that was counted as in hand.
func (s *Served) counted(handle fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		defer func() {
			if !httpapi.OnlySends(ctx) {
				httpapi.AfterWork(ctx, func() { s.inHand.Add(-1) })
				return
			}
			s.sent.Add(1)
			httpapi.AfterWork(ctx, func() { s.sent.Add(-1) })
			s.inHand.Add(-1)
		}()
		ctx.SetUserValue(forwarded{}, true)
		handle(ctx)
	}
}

// answerNode answers what nodes ask each other.
func (s *Served) answerNode(ctx *fasthttp.RequestCtx) {
	switch string(ctx.Path()) {
	case helloPath:
		answerJSON(ctx, s.hello())
	case checkpointPath:
		n := s.node.Load()
		if n == nil || !n.follows() || s.sending.Swap(true) {
			ctx.SetStatusCode(fasthttp.StatusServiceUnavailable)
			return
		}
		if err := sendCheckpoint(ctx, n.store, s.config.DataDir, func() { s.sending.Store(false) }); err != nil {
			s.config.Log.Error("cluster: no copy of the journal for another node", "error", err)
			ctx.SetStatusCode(fasthttp.StatusInternalServerError)
		}
	default:
		ctx.SetStatusCode(fasthttp.StatusNotFound)
	}
}

// Reload reads the certificate files again.
func (s *Served) Reload() {
	certificate.Reload(s.config.Log, s.certs[:]...) // the engine has the same
}

// Failed returns a channel that receives an error when a listener, or the node, ends by itself.
func (s *Served) Failed() <-chan error { return s.ends }

// Shutdown hands the log over, if this node is the owner, and closes.
func (s *Served) Shutdown() error {
	if s.stop != nil {
		s.stop()
	}
	<-s.over
	errs := []error{s.unended}
	for _, e := range s.edges {
		errs = append(errs, e.close())
	}
	if s.inside != nil {
		ctx, cancel := context.WithTimeout(context.Background(), lastWords)
		defer cancel()
		if err := s.inside.ShutdownWithContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
			errs = append(errs, err)
		}
	}
	for _, f := range []*forward.Forwarder{s.forward, s.notices, s.operate, s.toMaker} {
		if f != nil {
			f.Close()
		}
	}
	if n := s.node.Load(); n != nil {
		errs = append(errs, n.store.Close())
	}
	if s.log != nil {
		errs = append(errs, s.log.Close())
	}
	if s.member != nil {
		s.member.Close()
	}
	return errors.Join(errs...)
}

// lastWords is the time in which answers may still be sent at the end.
const lastWords = 250 * time.Millisecond

func splitList(text string) []string { return strings.Split(text, ",") }
