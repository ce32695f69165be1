package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/registry"
	"pixd/cmd/forward"
	"pixd/cmd/machine"
	"pixd/cmd/serving"
	"pixd/httpapi"
	"pixd/httpapi/admin"
	"pixd/httpapi/control"
	"pixd/wal"
)

// edge is one of the node's public ports.
type edge struct {
	face   forward.Face
	relay  *relay
	limits httpapi.ConnectionOptions
	server *fasthttp.Server // forwards; one for all the times that the node has the port, so that closing ends all its connections
}

// nodeConnections is how many connections may be open at once on a port other than the merchants'.
const nodeConnections = 1024

// openEdges takes the public ports and forwards what comes.
func (s *Served) openEdges() error {
	c := &s.config
	for _, e := range []struct {
		face    forward.Face
		address string
		at      *net.Addr
		handle  fasthttp.RequestHandler
		limits  httpapi.ConnectionOptions
	}{
		{forward.Merchant, c.Listen, &s.MerchantAddr, s.elsewhere(forward.Merchant), httpapi.ConnectionOptions{
			TLS: s.certs[0].Config(), Total: serving.Room(serving.AsNode, c.Log), PerIP: c.ConnectionsPerIP, Trusted: c.TrustedProxies, Log: c.Log,
		}},
		{forward.Operator, c.AdminListen, &s.AdminAddr, s.standby(), httpapi.ConnectionOptions{
			TLS: s.certs[1].Config(), Total: nodeConnections, PerIP: nodeConnections / 8, Trusted: machineItself, Log: c.Log,
		}},
		{forward.Scheme, c.SchemeListen, &s.SchemeAddr, s.elsewhere(forward.Scheme), httpapi.ConnectionOptions{
			TLS: cmp.Or(s.certs[2], s.certs[1]).Config(), Total: nodeConnections, PerIP: nodeConnections / 2, Log: c.Log,
		}},
	} {
		if e.address == "" {
			continue
		}
		port, err := serving.Listen(e.address)
		if err != nil {
			return fmt.Errorf("%s listener: %w", e.face, err)
		}
		*e.at = port.Addr()
		o := httpapi.ServerOptions{Name: string(e.face), NewRequestID: machine.RequestID, Log: c.Log}
		if e.face == forward.Merchant {
			o.Trusted = c.TrustedProxies // they may bring an id of a request
		}
		made := &edge{face: e.face, relay: newRelay(port), limits: e.limits, server: httpapi.NewServer(s.untilOwner(e.handle), o)}
		s.edges = append(s.edges, made)
		made.serve()
		s.work.Go(func() {
			if err := made.relay.run(); !errors.Is(err, net.ErrClosed) {
				s.ends <- err
			}
		})
	}
	return nil
}

// untilOwner ends connections from before this node was the owner, with an answer: the next request on them would
// take the way over the network to this node itself, and the metrics would be those of a standby.
func (s *Served) untilOwner(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		next(ctx)
		if n := s.node.Load(); n != nil && n.is(roleOwner) {
			ctx.SetConnectionClose()
		}
	}
}

// machineItself are this machine's own addresses.
var machineItself = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// serve gives the port's new connections to the node itself, which forwards their requests.
func (e *edge) serve() {
	l := httpapi.Limit(e.relay.next(), e.limits)
	go func() { _ = e.server.Serve(l) }() // its connections go on when the port is given to the engine
}

// give returns a listener that has the port's new connections from now on.
func (e *edge) give() net.Listener { return e.relay.next() }

// close closes the port, and the connections whose requests are over.
func (e *edge) close() error {
	err := e.relay.port.Close()
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	if over := e.server.ShutdownWithContext(ctx); !errors.Is(over, context.DeadlineExceeded) {
		err = errors.Join(err, over)
	}
	return err
}

// edge returns the port of a face; nil: the node has none.
func (s *Served) edge(face forward.Face) *edge {
	for _, e := range s.edges {
		if e.face == face {
			return e
		}
	}
	return nil
}

// standby returns the operator API of a node that is not the owner.
func (s *Served) standby() fasthttp.RequestHandler {
	s.asStandby = s.operators(admin.NewStandby(admin.Standby{
		Cluster: s, Ready: s.ready, Metrics: s.metrics(), GuardMetrics: s.certs[1] != nil,
		Version: s.build.Version, Commit: s.build.Commit, Tokens: s.tokens(), Log: s.config.Log,
		Next: s.forwardOperator(),
	}))
	return s.asStandby
}

// operatorsOf wraps the operator API of the engine over a node's journal: while that is not certain to be
// the owner, it answers as any other node.
func (s *Served) operatorsOf(n *node) func(fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(own fasthttp.RequestHandler) fasthttp.RequestHandler {
		return func(ctx *fasthttp.RequestCtx) {
			if n.serves() {
				own(ctx)
			} else {
				aside(ctx, s.asStandby)
			}
		}
	}
}

// ready reports whether the node serves or forwards.
func (s *Served) ready() bool {
	_, _, ok := s.where()
	return ok
}

// tokens are the tokens of operators at this node: the token of its own file, and those of operators with
// names as far as it has applied the log.
func (s *Served) tokens() control.Tokens {
	return control.Tokens{Root: s.Token, Now: machine.Clocks().Wall, Named: func(token string) (*registry.Operator, error) {
		all, err := s.operatorsNow()
		for until := s.elapsed() + closedFor; errors.Is(err, wal.ErrClosed) && s.elapsed() < until; all, err = s.operatorsNow() {
			time.Sleep(lookEvery / 4)
		}
		return registry.WithToken(all, token), err
	}}
}

// closedFor is how long a token waits for the journal of a node that begins anew. The forwarder waits for 4 s in all.
const closedFor = 2 * time.Second

// errUnopened says that a node has no journal that can be read: it starts, or copies one.
var errUnopened = errors.New("the journal is not open yet")

// operatorsNow reads the operators with names. The error is wal.ErrClosed for a moment while the node begins anew.
func (s *Served) operatorsNow() ([]*registry.Operator, error) {
	n := s.node.Load()
	if n == nil || n.is(roleJoining) {
		return nil, errUnopened
	}
	return registry.OperatorsNow(n.store)
}

// forwardOperator forwards requests of operators. The token of the owner's file may be another: where that of
// this node's file was checked, the owner is told so. A named operator's is the same at all nodes.
func (s *Served) forwardOperator() fasthttp.RequestHandler {
	plain, checked := s.operate.Handler(forward.Operator), s.operate.Handler(forward.Checked)
	return func(ctx *fasthttp.RequestCtx) {
		if admin.Guarded(string(ctx.URI().PathOriginal())) && control.Who(ctx).Name == registry.Root {
			checked(ctx)
			return
		}
		plain(ctx)
	}
}

// asOperator gives a request that another node has checked this node's own token.
func (s *Served) asOperator(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		ctx.Request.Header.Set(fasthttp.HeaderAuthorization, "Bearer "+s.Token)
		next(ctx)
	}
}

func answerJSON(ctx *fasthttp.RequestCtx, value any) { control.Answer(ctx, fasthttp.StatusOK, value) }
