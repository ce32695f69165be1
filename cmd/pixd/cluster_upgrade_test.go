package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestClusterUpgrade rolls three nodes to a binary that writes a newer format. While one node has it, and
// owns the log, the others follow; they are not handed the log, and do not take it when the owner is
// killed. The newer node comes back and goes on.
func TestClusterUpgrade(t *testing.T) {
	notShort(t)
	t.Parallel()
	const clients, newer = 6, "" // the program under test
	older := built(t, "pixd/wal.levelSet=7")
	n := newNodes(t)
	for _, name := range n.names {
		n.program[name] = older
	}
	n.startSim()
	n.start(n.names...)
	l := startTraffic(n, n.proc[n.standby()].shop(), clients, 100)
	l.flows(clients)
	first := n.standby()
	n.upgrades(first, newer)
	l.flows(clients)
	n.proc[n.owner()].reported("cluster", "handover", "--to", first)
	n.whole()
	l.flows(clients)

	others := slices.DeleteFunc(slices.Clone(n.names), func(name string) bool { return name == first })
	for says, args := range map[string][]string{
		"no other node is a standby that follows":                    nil,
		"node " + others[0] + " is not a standby that follows (409)": {"--to", others[0]},
	} {
		if code, out, errs := n.proc[first].operates(append([]string{"cluster", "handover"}, args...)...); code != 1 || !strings.Contains(errs, says) {
			t.Errorf("handover %v to an older binary: exit %d, want %q\n%s%s", args, code, says, out, errs)
		}
	}
	ways := []syscall.Signal{syscall.SIGKILL}
	if *clusterLong {
		ways = append(ways, syscall.SIGTERM)
	}
	for _, s := range ways {
		n.end(first, s)
		n.unowned(others, first)
		n.start(first)
		l.flows(clients)
	}
	if !*clusterLong {
		others = others[:1] // the last node stays as it is, and does not take over
	}
	for _, name := range others {
		n.upgrades(name, newer)
		l.flows(clients)
	}
	l.mark()
	n.end(first, syscall.SIGKILL)
	n.owner()
	l.flows(clients)
	t.Logf("killed: clients paused for %v; %v", brief(l.pauses()), l.failures())
	n.start(first)
	l.settle()
	n.closed()
}

// upgrades ends a node, and starts it with another program.
func (n *nodes) upgrades(name, program string) {
	n.t.Helper()
	if code := n.end(name, syscall.SIGTERM); code != 0 {
		n.t.Errorf("node %s: exit %d", name, code)
	}
	n.program[name] = program
	n.start(name)
}

// unowned checks for longer than a takeover lasts that none of the nodes becomes the owner.
func (n *nodes) unowned(names []string, former string) {
	n.t.Helper()
	for until := time.Now().Add(4 * time.Second); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		for _, name := range names {
			if s, err := n.status(name); err != nil || s.Owner != nil && *s.Owner != former || roles(s)[name] != "standby" {
				n.t.Fatalf("node %s, without %s: %v %v", name, former, roles(s), err)
			}
		}
	}
}
