package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"time"
)

// neighbours is the scenario in which a modest account is measured alone and beside a greedy one,
// for each way of being greedy. The accounts are its own: the modest one, then one for each way.
const neighbours = "neighbours"

// mostBeside is how many times as long as alone the modest account's p99 may be beside a greedy
// account.
const mostBeside = 2.0

// A Neighbour compares what the modest account meets alone with what it meets beside an account
// that is greedy in one way.
type Neighbour struct {
	Way     string  `json:"way"`
	Says    string  `json:"says"`     // what the greedy account does
	LeftOut string  `json:"left_out"` // why the way was not measured; empty: it was
	Alone   Modest  `json:"alone"`
	Beside  Modest  `json:"beside"`
	Greedy  Greed   `json:"greedy"`
	Ratio   float64 `json:"ratio"`      // p99 of Requests, beside to alone; 0: not known
	Told    float64 `json:"told_ratio"` // p99 of Webhooks, beside to alone; 0: not known
}

// Modest is what the modest account met.
type Modest struct {
	Requests Latency `json:"requests"` // of its payouts' answers and its lookups, from when each was due
	Webhooks Latency `json:"webhooks"` // from a payout's request until its webhook has arrived; all 0: it has none
	Errors   []Count `json:"errors"`   // requests that were not answered as the way lets expect
	Untold   int     `json:"untold"`   // payouts whose webhook did not arrive
}

// Greed is what the greedy account was given.
type Greed struct {
	Sent   int     `json:"sent"`
	Done   int     `json:"done"` // requests that were carried out (2xx)
	Errors []Count `json:"errors"`
}

// A way is one of being greedy.
type way struct {
	name, says string
	rate       int // requests per second of the greedy account
	clients    int // the most connections that it opens
	next       func(g *greedy, i int) request

	ready func(ctx context.Context, g *greedy) error // makes what the account needs, before either measurement; nil: nothing
	world func(ctx context.Context, s *session) (restore func(context.Context) error, err error)
	begin func(ctx context.Context, g *greedy) (end func(context.Context) error, err error)
	// queued makes every fourth payout of the modest account one that the directory refuses once.
	queued bool
	// down says that the scheme is: then a payout is refused for good, with 400, and is not an error.
	down bool
}

// leftOut is the error of a way that cannot be measured on this engine.
type leftOut string

func (l leftOut) Error() string { return string(l) }

// measureWays measures every way of being greedy.
func (s *session) measureWays(ctx context.Context, tag string, r *Report) error {
	h, err := newHook()
	if err != nil {
		return err
	}
	defer h.close()
	m := &modest{session: s, tag: tag, hook: h}
	if err := m.subscribe(ctx); err != nil {
		return err
	}
	s.show(Progress{Stage: "warming up", What: neighbours})
	if warm := s.modestLoad(m, max(s.WarmUp, time.Second)).Run(ctx); warm.Done == 0 && ctx.Err() == nil {
		return fmt.Errorf("%s: none of %d requests was carried out: %s", neighbours, warm.Sent, showKinds(warm.counts()))
	}
	all := s.waysOfGreed()
	for i := range all {
		if ctx.Err() != nil {
			return nil
		}
		g := &greedy{session: s, way: &all[i], account: 1 + i, tag: fmt.Sprintf("%sg%d-", tag, i), hook: h}
		n := Neighbour{Way: g.way.name, Says: g.way.says}
		if err := s.measureWay(ctx, m, g, &n, r); err != nil {
			var reason leftOut
			if !errors.As(err, &reason) {
				return fmt.Errorf("%s, %s: %w", neighbours, n.Way, err)
			}
			n.LeftOut = reason.Error()
		}
		r.Neighbours = append(r.Neighbours, n)
	}
	return nil
}

func (o *Options) waysOfGreed() []way {
	if o.ways != nil {
		return o.ways
	}
	return ways
}

// measureWay measures the modest account alone, then beside the greedy one.
func (s *session) measureWay(ctx context.Context, m *modest, g *greedy, n *Neighbour, r *Report) (err error) {
	if g.way.ready != nil {
		if err := g.way.ready(ctx, g); err != nil {
			return err
		}
	}
	m.way = g.way
	if g.way.world != nil {
		restore, err := g.way.world(ctx, s)
		if err != nil {
			return err
		}
		defer func() {
			if failed := restore(context.WithoutCancel(ctx)); err == nil {
				err = failed
			}
		}()
	}
	if n.Alone, err = s.measureModest(ctx, m, "alone ("+n.Way+")", r); err != nil || ctx.Err() != nil {
		return err
	}
	load, stop := context.WithCancel(ctx)
	defer stop()
	if g.way.begin != nil {
		end, err := g.way.begin(ctx, g)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, end(context.WithoutCancel(ctx))) }()
	}
	greed := make(chan *Result, 1)
	go func() { greed <- g.load(s.Duration + greedyHead + time.Second).Run(load) }()
	time.Sleep(greedyHead)
	n.Beside, err = s.measureModest(ctx, m, "beside "+n.Way, r)
	stop()
	got := <-greed
	n.Greedy = Greed{Sent: got.Sent, Done: got.Done, Errors: got.counts()}
	n.Ratio, n.Told = ratio(n.Alone.Requests, n.Beside.Requests), ratio(n.Alone.Webhooks, n.Beside.Webhooks)
	return err
}

// greedyHead is for how long the greedy account is at work before the modest one is measured.
const greedyHead = time.Second

// ratio is how many times as long as alone the p99 is.
func ratio(alone, beside Latency) float64 {
	if alone.P99 == 0 || beside.P99 == 0 {
		return 0
	}
	return float64(beside.P99) / float64(alone.P99)
}

// measureModest loads the engine with the modest account's requests, and adds a Run to the report.
func (s *session) measureModest(ctx context.Context, m *modest, name string, r *Report) (Modest, error) {
	m.loads++
	m.hook.begin()
	run, err := s.measuredLoad(ctx, neighbours+" "+name, s.modestLoad(m, s.Duration))
	if err != nil {
		return Modest{}, err
	}
	run.Accounts, run.Prepared = 1, 0
	r.Runs = append(r.Runs, *run)
	got := Modest{Requests: run.Latency, Errors: run.Errors}
	got.Webhooks, got.Untold = m.hook.end(ctx)
	return got, nil
}

// modestRate is how many requests the modest account makes in a second: 10 payouts and 10 lookups.
const modestRate = 20

func (s *session) modestLoad(m *modest, d time.Duration) Load {
	return Load{
		Addr: s.target.addr, TLS: s.target.tls, From: s.from(0, 1), Connections: openConnections, Duration: d, Rate: modestRate, Source: m,
		Expected: m.expected,
	}
}

// from returns the source addresses from number i to number j, or all if there are fewer.
func (s *session) from(i, j int) []netip.Addr {
	if len(s.target.from) < j || i >= j {
		return s.target.from
	}
	return s.target.from[i:j]
}

// expected reports whether a status is what the modest account may be answered.
func (m *modest) expected(status int) bool {
	return status/100 == 2 || m.way != nil && m.way.down && status == http.StatusBadRequest
}
