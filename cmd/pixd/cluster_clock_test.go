package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestClusterClocks runs three nodes, one of them with a wall clock that is an hour ahead, and one an hour
// behind. Who is the owner does not depend on that. The scheme refuses an owner whose clock is wrong, which hears
// from the others that it is, and no payout leaves; the next owner pays what was refused, though its own time is behind the journal's.
func TestClusterClocks(t *testing.T) {
	notShort(t)
	t.Parallel()
	const (
		clients              = 6
		right, ahead, behind = "a", "b", "c"
	)
	n := newNodes(t)
	n.program[ahead] = built(t, "pixd/cmd/machine.wallAhead=1h")
	n.program[behind] = built(t, "pixd/cmd/machine.wallAhead=-1h")
	n.startSim()
	n.start(n.names...)
	n.ownedBy(right)
	l := startTraffic(n, n.proc[right].shop(), clients, 100)
	l.flows(clients)
	rounds := []clockRound{{ahead, true}, {behind, false}, {behind, true}, {ahead, false}}
	if !*clusterLong {
		rounds = rounds[:1]
	}
	for _, r := range rounds {
		l.wrongs(r.wrong)
		n.waits("the owner tells of its clock", func() (bool, string) {
			_, got, err := n.proc[r.wrong].operate("GET", "/admin/alerts", "")
			return strings.Contains(string(got), "the clock of this node, "+r.wrong+", is"), fmt.Sprint(string(got), err)
		})
		if r.killed {
			began := time.Now()
			n.end(r.wrong, syscall.SIGKILL)
			next := n.owner()
			t.Logf("node %s serves %v after a kill of %s", next, time.Since(began).Round(time.Millisecond), r.wrong)
		}
		n.ownedBy(right)
		l.flows(clients)
		l.lost.Store(false)
		l.reads.resting.Store(false)
		l.flows(clients)
		if clock := n.proc[right].reported("clock", "show"); !strings.Contains(clock, "doubted             yes") || !strings.Contains(clock, "behind the journal  5") {
			t.Errorf("behind a journal that was written an hour ahead:\n%s", clock)
		}
		if r.killed {
			n.start(r.wrong)
		}
	}
	if clock := n.proc[right].reported("clock", "accept", "--operator", "ana"); !strings.Contains(clock, "doubted             no") {
		t.Error(clock)
	}
	l.flows(clients)
	l.settle()
	n.closed()
}

// clockRound is the time of an owner whose clock is wrong. It ends by a kill, or a handover.
type clockRound struct {
	wrong  string
	killed bool
}

// ownedBy hands the log over to a node, if it has not got it.
func (n *nodes) ownedBy(name string) {
	n.t.Helper()
	n.whole()
	if owner := n.owner(); owner != name {
		n.proc[owner].reported("cluster", "handover", "--to", name)
	}
	n.whole()
}

// wrongs hands the log over to a node whose clock is wrong. Balances are read and accounts credited; no
// payout leaves.
func (l *traffic) wrongs(node string) {
	l.t.Helper()
	l.lost.Store(true)
	l.reads.rests()
	l.n.ownedBy(node)
	time.Sleep(time.Second) // longer than settleDelay
	sent := l.sent()
	from := l.reads.begun.Load()
	l.n.waits("credits go on", func() (bool, string) { return l.reads.certain.Load() > from+10, "" })
	l.n.waits("payouts are refused", func() (bool, string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.open) > 20, ""
	})
	if now := l.sent(); now != sent {
		l.t.Errorf("the scheme has settled %d at first and %d later, under an owner that it does not listen to", sent, now)
	}
}

// sent returns how much the accounts have sent, by the scheme's book.
func (l *traffic) sent() (sum int64) {
	l.t.Helper()
	status, got, err := l.n.sim.operate("GET", "/sim/book", "")
	var book struct{ Accounts []struct{ Sent int64 } }
	if err != nil || status != http.StatusOK || json.Unmarshal(got, &book) != nil {
		l.t.Fatalf("%d %s %v", status, got, err)
	}
	for _, a := range book.Accounts {
		sum += a.Sent
	}
	return sum
}
