package console

import (
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/valyala/fasthttp"

	"pixd/actors/fair"
	"pixd/actors/pix"
	"pixd/httpapi"
	"pixd/httpapi/control"
)

// Figures are what the overview shows, measured at one instant. NaN: there is no such figure now.
type Figures struct {
	At pix.Millis

	// A second, since the figures before: payments that were received, payouts and refunds that were asked for.
	Payments, Payouts, Refunds float64
	// Latency of merchants' requests since the figures before, in milliseconds: half of them, and 99 of 100, took no longer.
	P50, P99 float64
	// Commit is the 99th percentile of a batch's time until it was durable since the figures before, in milliseconds.
	Commit float64

	InHand   float64 // merchants' requests
	Sending  float64 // payouts and refunds without an outcome: of which a call to the scheme is under way or due,
	Settling float64 // which the scheme has accepted,
	Doubt    float64 // of which a call's outcome is unknown,
	Queued   float64 // which wait for capacity of the directory,
	Approval float64 // which wait for approval
	Cases    float64 // special-return cases whose next deadline is to come

	Backlog  float64 // age in seconds of the oldest event of which a delivery waits
	Failing  float64 // webhook subscriptions whose deliveries fail
	Alerts   float64 // since the start
	DiskFree float64 // bytes
	Snapshot float64 // age of the newest snapshot in seconds

	ClockDoubted bool
	ClockWall    float64 // difference of the machine's clock in milliseconds, positive if it is ahead of engine time
	Role         string  // of this node: owner, standby or joining; empty: the engine is alone
	Lag          float64 // seconds that the furthest standby is behind
}

// hour is how many figures are kept, and keepEvery the time between two of them in milliseconds.
const (
	keepEvery = 10_000
	hour      = 3600_000 / keepEvery
)

// watchersAtOnce is how many browsers may have the overview open at once, and watchersShare how many of them may be of
// one operator.
const watchersAtOnce, watchersShare = 64, 16

// Live has the figures of the last hour, and hands new ones to the browsers that have the overview open.
type Live struct {
	ended    <-chan struct{}
	watchers *fair.Pool[string] // browsers that have the overview open, by the operator's name

	mu     sync.Mutex
	kept   []Figures     // at most hour, oldest first, about keepEvery apart
	newest Figures       // the zero Figures: there are none yet
	fresh  chan struct{} // closed when there are newer ones
}

// NewLive returns a Live without figures. When ended is closed, all browsers are let go.
func NewLive(ended <-chan struct{}) *Live {
	return &Live{
		ended: ended, fresh: make(chan struct{}),
		watchers: fair.New[string](fair.Bounds{Places: watchersAtOnce, Share: watchersShare}), // none waits
	}
}

// watched reports whether a browser has the overview open.
func (l *Live) watched() bool { return l.watchers.Counts().InUse > 0 }

// Wanted tells which new figures are worth measuring: for the browsers that wait for them, and for the last hour, which
// are since those before that were kept.
func (l *Live) Wanted(now pix.Millis) (live, kept bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.watched(), len(l.kept) == 0 || now-l.kept[len(l.kept)-1].At >= keepEvery
}

// Keep keeps figures for the last hour.
func (l *Live) Keep(f Figures) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept = append(l.kept, f); len(l.kept) > hour {
		l.kept = l.kept[1:]
	}
	if !l.watched() {
		l.newest = f
	}
}

// Publish hands out new figures.
func (l *Live) Publish(f Figures) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.newest = f
	close(l.fresh)
	l.fresh = make(chan struct{})
}

// now returns the newest figures, and what is closed when there are newer ones.
func (l *Live) now() (Figures, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.newest, l.fresh
}

// hour returns the figures of the last hour.
func (l *Live) hour() []Figures {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Figures(nil), l.kept...)
}

// live sends the overview's figures as server-sent events, as long as the session lasts.
func (c *console) live(ctx *fasthttp.RequestCtx) {
	v := c.visitor(ctx)
	if v == nil {
		refuse(ctx, fasthttp.StatusUnauthorized, "no session")
		return
	}
	lang, one, name := v.Lang, v.one, v.Who.Name
	if c.Live.watchers.Take(ctx, name) != nil {
		refuse(ctx, fasthttp.StatusServiceUnavailable, "too many browsers have the overview open")
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "10")
		return
	}
	httpapi.Stream(ctx, "text/event-stream", httpapi.Streamed{
		Write: func(w io.Writer) error { return c.tell(w, lang, one) },
		Done:  func(error) { c.Live.watchers.Give(name) },
	})
}

// tell writes an event for all figures as long as the session lasts.
func (c *console) tell(w io.Writer, lang language, one *session) error {
	for {
		f, fresh := c.Live.now()
		texts := map[string]any{"at": tile{Text: moment(lang, f.At.String())}}
		for _, t := range tilesOf(f, lang) {
			texts[t.Name] = t
		}
		if _, err := fmt.Fprintf(w, "retry: 2000\ndata: %s\n\n", control.Encode(texts)); err != nil {
			return err
		}
		select {
		case <-fresh:
		case <-c.Live.ended:
			return nil
		}
		if _, ok, _ := c.Tokens.Of(one.token); !ok || c.Tokens.Now() >= one.until || !c.sessions.has(one) {
			return nil
		}
	}
}

// tile is a figure of the overview.
type tile struct {
	Name string `json:"-"`
	Text string `json:"text"`
	Bad  bool   `json:"bad"` // somebody should look
	To   string `json:"-"`   // the page that has more about it; empty: none has
}

// tilesOf are the overview's figures as people read them.
func tilesOf(f Figures, l language) []tile {
	count := func(n float64) string { return l.number(n, 0) }
	rate := func(n float64) string { return l.number(n, 1) + "/s" }
	ms := func(n float64) string { return l.number(n, 1) + " ms" }
	all := []tile{
		{Name: "payments", Text: rate(f.Payments)},
		{Name: "payouts", Text: rate(f.Payouts)},
		{Name: "refunds", Text: rate(f.Refunds)},
		{Name: "p50", Text: ms(f.P50)},
		{Name: "p99", Text: ms(f.P99)},
		{Name: "commit", Text: ms(f.Commit)},
		{Name: "in_hand", Text: count(f.InHand)},
		{Name: "approval", Text: count(f.Approval), To: "/approvals"},
		{Name: "sending", Text: count(f.Sending)},
		{Name: "settling", Text: count(f.Settling)},
		{Name: "queued", Text: count(f.Queued), Bad: f.Queued > 0},
		{Name: "doubt", Text: count(f.Doubt), Bad: f.Doubt > 0},
		{Name: "cases", Text: count(f.Cases), To: "/med"},
		{Name: "backlog", Text: l.age(f.Backlog), Bad: f.Backlog > 300, To: "/webhooks"},
		{Name: "failing", Text: count(f.Failing), Bad: f.Failing > 0, To: "/webhooks"},
		{Name: "alerts_since", Text: count(f.Alerts), Bad: f.Alerts > 0, To: "/alerts"},
		{Name: "disk", Text: l.number(f.DiskFree/(1<<30), 1) + " GiB", Bad: f.DiskFree < 2<<30},
		{Name: "snapshot", Text: l.age(f.Snapshot), To: "/snapshots"},
		{Name: "clock", Text: l.clock(f), Bad: f.ClockDoubted},
	}
	if f.Role != "" {
		all = append(all, tile{Name: "cluster", Text: f.Role + ", " + l.number(f.Lag, 1) + " s", Bad: f.Lag > 10})
	}
	return all
}

// clock says whether engine time is doubted, and how far the machine's clock is from it.
func (l language) clock(f Figures) string {
	if f.ClockDoubted {
		return l.say("doubted")
	}
	return l.number(f.ClockWall/1000, 1) + " s"
}

// age writes a time that has passed, in seconds.
func (l language) age(seconds float64) string {
	switch {
	case math.IsNaN(seconds):
		return "–"
	case seconds < 120:
		return l.number(seconds, 0) + " s"
	case seconds < 2*3600:
		return l.number(seconds/60, 0) + " min"
	case seconds < 48*3600:
		return l.number(seconds/3600, 0) + " h"
	}
	return l.number(seconds/86400, 0) + " d"
}
