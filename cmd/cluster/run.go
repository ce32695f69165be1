package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"

	"pixd/cmd/certificate"
	"pixd/cmd/engine"
	"pixd/cmd/forward"
	"pixd/wal"
)

// run follows the log, and serves while this node is the owner, until ctx ends.
func (s *Served) run(ctx context.Context) error {
	for {
		again, err := s.live(ctx)
		if ctx.Err() != nil || err != nil && !again {
			return err
		}
		if err != nil {
			s.config.Log.Warn("cluster: beginning anew", "error", err)
		}
		if err := s.begin(ctx); err != nil {
			return err
		}
	}
}

// live is the life of one node: from following the log until it has handed it over, or can neither
// follow nor serve. again: the node is closed, and may begin anew.
func (s *Served) live(ctx context.Context) (again bool, err error) {
	n := s.node.Load()
	n.become(roleStandby)
	defer n.endSnapshots()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	// The node renews its state until it has closed: a journal that is handed over is still its own.
	life, over := context.WithCancel(context.WithoutCancel(ctx))
	var beside sync.WaitGroup
	defer n.lease.lose() // whoever still waits to be certain waits no more
	defer beside.Wait()
	defer over()
	beside.Go(func() {
		if err := n.keep(life); errors.Is(err, wal.ErrMoved) {
			s.deposed(n, end)
		}
	})
	beside.Go(func() { _ = n.look(life) })
	beside.Go(func() { s.watch(life, n) })
	go n.maker.Run(life) // nobody waits for it: the folder of snapshots may not answer
	switch err := n.follow(ctx); {
	case err == nil:
		return s.own(ctx, n)
	case errors.Is(err, wal.ErrShort), errors.Is(context.Cause(ctx), errTaken) && n.isAhead(life):
		n.endSnapshots()
		return true, errors.Join(n.store.Close(), err) // a start says what is wrong, and writes it into the log
	case errors.Is(err, wal.ErrTrimmed):
		n.become(roleJoining) // while it copies, it is nobody's heir, makes no snapshots and gives no copy
		n.endSnapshots()
		closed, fetched := n.store.Close(), s.fetch(ctx)
		if fetched != nil && ctx.Err() != nil {
			fetched = context.Cause(ctx)
		}
		if err := errors.Join(closed, fetched); err != nil {
			return false, err
		}
		return true, err
	case n.isWrong():
		s.config.Log.Error("cluster: this node follows no more; it goes on forwarding", "alert", engine.AlertLogMismatch, "error", err)
		<-ctx.Done()
		return false, context.Cause(ctx)
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	default:
		return false, err
	}
}

// watch tells the forwarders who the owner is, until ctx ends.
func (s *Served) watch(ctx context.Context, n *node) {
	for pause(ctx, lookEvery) == nil {
		if name, url, ok := n.where(); ok {
			s.moved(name, url)
		}
		if name, url, ok := s.maker(n); ok {
			s.toMaker.Moved(name, url)
		}
	}
}

// moved tells the forwarders who the owner is: of operators' requests and notices, too, that wait for one which is frozen.
func (s *Served) moved(name, url string) {
	for _, f := range []*forward.Forwarder{s.forward, s.notices, s.operate} {
		f.Moved(name, url)
	}
}

// deposed ends a node whose state another has written. If it was the owner, nothing more leaves the
// process.
func (s *Served) deposed(n *node, end context.CancelCauseFunc) {
	if n.owns() {
		s.failed(fmt.Errorf("cluster: node %s: %w", n.name, wal.ErrFenced))
	}
	end(fmt.Errorf("--node %s: %w", n.name, errTaken))
}

func (n *node) isWrong() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.wrong != ""
}

// follows reports whether the node has a journal that others may copy: it serves it, or follows with it.
func (n *node) follows() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.wrong == "" && n.role != roleJoining
}

// own serves until the log is handed over, or ctx ends.
func (s *Served) own(ctx context.Context, n *node) (again bool, err error) {
	began := time.Now()
	s.mayCatchUp()
	resigning := &resignation{}
	e, err := engine.Serve(s.engineConfig(ctx, n, resigning), s.build)
	if why := engine.GoesOn(err); why != nil {
		s.config.Uncaught, s.uncaughtAt = why, s.elapsed()
		n.over.Store(true)
		for _, edge := range s.edges {
			edge.serve() // the engine has closed the listeners that it was given
		}
		return true, err
	}
	if err != nil {
		return false, err // the engine has closed the journal; another node takes over
	}
	if why := e.Unasked(); why != nil && s.config.Uncaught == nil {
		s.config.Uncaught, s.uncaughtAt = why, s.elapsed()
	}
	s.engine.Store(e)
	n.become(roleOwner)
	s.meters.takeovers.Inc()
	s.config.Log.Info("cluster: this node is the owner", "node", n.name, "batch", n.store.Owner().Epoch, "after", time.Since(began).Round(time.Millisecond))
	k := s.newKeeper(n, e.Raise)
	tookOver(k, n.former)
	keeping, end := context.WithCancel(ctx)
	defer end()
	s.work.Go(func() { k.run(keeping) })
	var leading sync.WaitGroup
	leads, giveWay := context.WithCancel(keeping)
	leading.Go(func() { s.lead(leads, n) })
	var asked order
	select {
	case <-ctx.Done():
		again = false
	case err = <-e.Failed():
	case asked = <-s.handover:
		again, resigning.next = true, asked.to
	}
	giveWay()
	leading.Wait() // or it would try again to take the lead
	err = errors.Join(err, s.disown(n, e, resigning))
	if asked.done != nil {
		asked.done <- err
	}
	return again && err == nil, err
}

// uncaughtFor is how long a node that could not catch up with the scheme, whose gap is accepted, does not try it again when it
// becomes the owner: a try may take a minute, in which nobody serves.
const uncaughtFor = time.Hour

// mayCatchUp forgets a try to catch up that was made too long ago.
func (s *Served) mayCatchUp() {
	if s.elapsed()-s.uncaughtAt > uncaughtFor {
		s.config.Uncaught = nil
	}
}

// resignation says whether, and to whom, an engine that closes hands the log over.
type resignation struct {
	next   string
	wanted bool
}

// disown ends the engine. New connections go to the forwarder at once, and requests in hand end; only then do requests go to
// the heir, because what was sent to this node before is cut once there is another to send to.
func (s *Served) disown(n *node, e *engine.Served, r *resignation) error {
	began := time.Now()
	s.config.Log.Info("cluster: the engine ends", "node", n.name)
	n.become(roleStandby)
	ended := make(chan struct{})
	defer close(ended)
	go s.giveUp(n, ended)
	for _, edge := range s.edges {
		edge.serve()
	}
	n.endSnapshots() // while requests are served: a copy of the journal cannot be cut short
	heir := n.successor(r.next, "")
	yielding := s.yield(n, heir)
	err := e.Drain()
	<-yielding
	until := time.Now().Add(drainFor)
	await(&s.sent, until.Add(-drainFor/2)) // requests are served meanwhile: who reads slowly keeps nobody waiting
	n.over.Store(true)
	s.engine.Store(nil)
	await(&s.inHand, until)
	soon, cancel := context.WithTimeout(context.Background(), yieldFor)
	r.wanted = n.lease.certainBy(soon) // a failed yield has held up renewals; without one the log is not handed over
	cancel()
	if next := n.successor(r.next, heir); next != "" { // the node that was ordered may have ended meanwhile
		r.next = next
	}
	n.bequeath(r.next)
	if err = errors.Join(err, e.Close()); err == nil {
		s.resigned(n, r, time.Since(began).Round(time.Millisecond))
	}
	return err
}

// resigned says how the engine has ended.
func (s *Served) resigned(n *node, r *resignation, after time.Duration) {
	if r.wanted {
		s.config.Log.Info("cluster: handed over", "node", n.name, "to", r.next, "after", after)
		return
	}
	s.config.Log.Warn("cluster: the log was not handed over, because a majority has not answered in time; another node takes it over once this one has not been heard of for a while", "node", n.name, "after", after)
}

// await waits until nothing is counted any more, or the time is over.
func await(count *atomic.Int64, until time.Time) {
	for count.Load() > 0 && time.Now().Before(until) {
		time.Sleep(time.Millisecond)
	}
}

// giveUp ends the process if the engine cannot end because the log takes nothing: where all nodes are
// ended at once, the last of them has no majority left.
func (s *Served) giveUp(n *node, ended <-chan struct{}) {
	for certain := n.elapsed(); ; {
		select {
		case <-ended:
			return
		case <-time.After(lookEvery):
		}
		switch now := n.elapsed(); {
		case n.lease.valid():
			certain = now
		case now-certain > giveUpAfter:
			s.failed(fmt.Errorf("cluster: node %s has not handed over: a majority of the nodes has not answered for %s", n.name, giveUpAfter))
			return
		}
	}
}

// giveUpAfter is how long an owner that is to end waits for a log that takes nothing.
const giveUpAfter = 5 * time.Second

// drainFor is how long forwarded requests in hand may go on when the engine ends, and answers that are only sent half as
// long. Both times begin once this node's own connections have ended.
const drainFor = 10 * time.Second

// yieldFor is how long it is waited for another member of etcd to begin to lead, and as long again for a renewal after that.
const yieldFor = time.Second

// yield makes the member of the node that is to be the next owner the one that leads, while requests are still served: a
// former owner that ends would leave it to others later, and nothing is written while a member begins to lead. What it
// returns is closed once that is over.
func (s *Served) yield(n *node, next string) <-chan struct{} {
	done := make(chan struct{})
	if s.member == nil || !n.mayLead(next) {
		close(done)
		return done
	}
	go func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(context.Background(), yieldFor)
		defer cancel()
		if err := s.member.Yield(ctx, next); err != nil {
			s.config.Log.Warn("cluster: the next owner's member of etcd does not lead", "error", err)
		}
	}()
	return done
}

// leadAfter is how long an owner serves before its embedded member is made the one that leads. Nothing is written while a member
// begins to lead, about 0.1 s, and a second on a slow disk: that should not come on top of the pause in which this node took over.
const leadAfter = 2 * time.Second

// lead makes the embedded member the one that leads, unless its machine is slow.
func (s *Served) lead(ctx context.Context, n *node) {
	if s.member == nil || pause(ctx, leadAfter) != nil || !n.mayLead(n.name) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := s.member.Lead(ctx); err != nil && ctx.Err() == nil {
		s.config.Log.Warn("cluster: another member of etcd leads", "error", err)
	}
}

// engineConfig returns the settings of the engine over a node's journal.
func (s *Served) engineConfig(ctx context.Context, n *node, r *resignation) engine.Config {
	c := s.config
	c.AdminToken = s.Token
	c.Starting = ctx
	c.OnFailure = s.failed
	owns := s.proof(n)
	sh := &engine.Shared{
		Store: n.store, Cluster: s, Snapshots: n.maker, OnSnapshots: s.aboutSnapshots, Operators: s.operatorsOf(n), Certain: before(owns, n.lease), Collectors: []prometheus.Collector{s.meters},
		Lead: wal.Lead{Log: timed{s.log, s.meters}, Certain: owns.certain},
		Door: s.door(n), Others: s.within.Open,
		Resign: func() (string, bool) { return r.next, r.wanted }, Certificates: [3]*certificate.Certificate(s.certs[:3]),
	}
	sh.Merchant, sh.Admin = s.edge(forward.Merchant).give(), s.edge(forward.Operator).give()
	if notices := s.edge(forward.Scheme); notices != nil {
		sh.Scheme = notices.give()
	}
	c.Shared = sh
	return c
}

// door lets requests reach an engine only while its node may be the owner.
func (s *Served) door(n *node) func(forward.Face, fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(face forward.Face, h fasthttp.RequestHandler) fasthttp.RequestHandler {
		elsewhere := s.elsewhere(face)
		return func(ctx *fasthttp.RequestCtx) {
			if n.serves() {
				h(ctx)
			} else {
				aside(ctx, elsewhere)
			}
		}
	}
}

// elsewhere passes merchants' requests and notices on to the owner, each by connections of their own.
func (s *Served) elsewhere(face forward.Face) fasthttp.RequestHandler {
	if face == forward.Scheme {
		return s.notices.Handler(face)
	}
	return s.forward.Handler(face)
}

// forwarded marks the requests that another node has forwarded.
type forwarded struct{}

// aside passes on a request that meets the engine's door when this node is the owner no more. One that was forwarded
// goes back instead: to hand the log over waits for it, and it would wait for that.
func aside(ctx *fasthttp.RequestCtx, elsewhere fasthttp.RequestHandler) {
	if ctx.UserValue(forwarded{}) != nil {
		forward.NotOwner(ctx)
		return
	}
	elsewhere(ctx)
}
