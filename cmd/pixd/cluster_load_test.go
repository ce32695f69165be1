package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// traffic is what merchants and customers do while nodes are lost.
type traffic struct {
	t      *testing.T
	n      *nodes
	s      shop
	client *http.Client
	rate   chan struct{} // a payout may be sent
	over   chan struct{}
	work   sync.WaitGroup

	payouts  atomic.Int64 // numbers of payouts that were sent
	payments atomic.Int64 // customers' payments that were made
	reads    *judgedAccounts
	lost     atomic.Bool              // the owner cannot ask the scheme, and refuses payouts
	homes    atomic.Pointer[[]string] // where clients go

	mu     sync.Mutex
	open   map[int64]time.Time // payouts whose outcome is unknown, and when they were sent last
	is     map[int64]string    // the transaction of each payout that was answered
	last   map[int]time.Time   // by client: when it succeeded last
	gaps   map[int]time.Duration
	failed map[string]int // requests that were not answered well, by node and reason
}

// startTraffic begins to send payouts, so many a second, from clients that are divided among the nodes;
// customers' payments; and what is judged.
func startTraffic(n *nodes, s shop, clients, perSecond int) *traffic {
	l := &traffic{
		t: n.t, n: n, s: s, rate: make(chan struct{}, 8), over: make(chan struct{}), reads: newJudged(n),
		client: &http.Client{Timeout: 8 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: clients}},
		open:   map[int64]time.Time{}, is: map[int64]string{}, last: map[int]time.Time{}, gaps: map[int]time.Duration{}, failed: map[string]int{},
	}
	l.goTo(n.names...)
	l.work.Go(func() { l.paces(time.Second / time.Duration(perSecond)) })
	for c := range clients {
		l.work.Go(func() { l.clientOf(c) })
	}
	l.work.Go(l.customers)
	l.reads.run(&l.work, l.over)
	n.t.Cleanup(l.stop)
	return l
}

// goTo has the clients use these nodes from now on.
func (l *traffic) goTo(names ...string) { l.homes.Store(&names) }

func (l *traffic) paces(every time.Duration) {
	for next := time.Now(); ; next = next.Add(every) {
		time.Sleep(time.Until(next))
		if time.Since(next) > time.Second {
			next = time.Now() // what a pause has left out is not made up for
		}
		select {
		case <-l.over:
			close(l.rate)
			return
		case l.rate <- struct{}{}:
		}
	}
}

// clientOf sends one payout after the other to one node, and after a failure to the next.
func (l *traffic) clientOf(c int) {
	for home := c; ; {
		if _, more := <-l.rate; !more {
			return
		}
		homes := *l.homes.Load()
		if !l.pay(l.take(), homes[home%len(homes)], c) {
			home++
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// take returns a payout whose outcome has been unknown for a second, or a new one.
func (l *traffic) take() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, at := range l.open {
		if time.Since(at) > time.Second {
			l.open[i] = time.Now()
			return i
		}
		break // not all are looked at each time
	}
	return l.payouts.Add(1)
}

// pay sends a payout to a node, and reports whether its outcome is known.
func (l *traffic) pay(i int64, node string, c int) bool {
	r, err := l.s.request("http://"+l.n.at[node].merchant, "/pix/cash-out", fmt.Sprintf(`{"amount":1,"pix_key":"k%d@example.com"}`, i), fmt.Sprint("payout-", i))
	if err != nil {
		l.t.Error(err)
		return false
	}
	r.GetBody = nil // otherwise a request that was cut is sent again by the client itself
	var made struct {
		ID string `json:"transaction_id"`
	}
	status, got, err := do(l.client, r)
	if err == nil && (status/100 != 2 || json.Unmarshal(got, &made) != nil || made.ID == "") {
		err = fmt.Errorf("answer %d %.80s", status, got)
		unasked := l.lost.Load() && strings.Contains(string(got), `"code":"dict_lookup_failed"`)
		if status/100 == 4 && status != http.StatusConflict && !unasked {
			l.t.Errorf("payout %d: %d %s", i, status, got)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.open[i] = time.Now()
		l.failed[node+": "+reason(err)]++
		return false
	}
	delete(l.open, i)
	if was := l.is[i]; was != "" && was != made.ID {
		l.t.Errorf("payout %d was %s, and is %s now", i, was, made.ID)
	}
	l.is[i] = made.ID
	now := time.Now()
	if last := l.last[c]; !last.IsZero() {
		l.gaps[c] = max(l.gaps[c], now.Sub(last))
	}
	l.last[c] = now
	return true
}

// reason returns an error without the request's address.
func reason(err error) string {
	text := err.Error()
	if i := strings.Index(text, `": `); i >= 0 {
		text = text[i+3:]
	}
	for _, word := range []string{"connection refused", "connection reset", "broken pipe", "EOF", "Client.Timeout"} {
		if strings.Contains(text, word) {
			return word
		}
	}
	return text
}

// customers pay, one after the other.
func (l *traffic) customers() {
	for {
		select {
		case <-l.over:
			return
		case <-time.After(20 * time.Millisecond):
		}
		i := l.payments.Add(1)
		if _, err := pays(l.n.sim, l.s, i); err != nil {
			l.t.Error(err)
		}
	}
}

// mark begins to measure pauses, and to count failures, anew.
func (l *traffic) mark() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gaps, l.failed = map[int]time.Duration{}, map[string]int{}
}

// pauses returns for each client the longest time between two payouts that were answered since the
// mark, in order.
func (l *traffic) pauses() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []time.Duration
	for _, gap := range l.gaps {
		all = append(all, gap)
	}
	slices.Sort(all)
	return all
}

// failures returns what went wrong since the mark.
func (l *traffic) failures() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string]int{}
	for what, times := range l.failed {
		all[what] = times
	}
	return all
}

// flows waits until every client has had a payout answered from now on.
func (l *traffic) flows(clients int) {
	l.t.Helper()
	from := time.Now()
	l.n.waits("payouts are answered", func() (bool, string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		served := 0
		for _, at := range l.last {
			if at.After(from) {
				served++
			}
		}
		return served == clients, fmt.Sprintf("%d of %d clients; %v", served, clients, l.failed)
	})
}

// stop ends the traffic.
func (l *traffic) stop() {
	select {
	case <-l.over:
	default:
		close(l.over)
	}
	l.work.Wait()
}
