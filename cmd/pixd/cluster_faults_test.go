package main

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// How long TestClusterFaults goes on, which runs only where it is asked for: make cluster-faults.
var (
	clusterLong  = flag.Bool("cluster.long", false, "run TestClusterFaults")
	clusterKills = flag.Int("cluster.kills", 50, "how often TestClusterFaults kills the owner")
	clusterSync  = flag.Duration("cluster.sync", 200*time.Millisecond, "how long each sync of a slow disk takes in TestClusterFaults")
	clusterRate  = flag.Int("cluster.rate", 1000, "payouts a second in TestClusterFaults")
)

// faultClients is how many clients there are.
const faultClients = 48

// TestClusterFaults loses and cuts off nodes in every way that a machine allows, each under load. Each
// time another node serves before long, each payout happens once, no balance is read that is not true,
// and the journals are the same in the end.
func TestClusterFaults(t *testing.T) {
	if !*clusterLong {
		t.Skip("a quarter of an hour: make cluster-faults")
	}
	runFor = 10 * time.Minute
	for _, one := range []struct {
		name string
		run  func(f *faults)
	}{
		{"kills", (*faults).kills},
		{"handovers", func(f *faults) { f.handovers(false) }},
		{"owner ended", func(f *faults) { f.handovers(true) }},
		{"owner stopped for 1s", func(f *faults) { f.stops(time.Second) }},
		{"owner stopped for 3s", func(f *faults) { f.stops(3 * time.Second) }},
		{"owner stopped for 6s", func(f *faults) { f.stops(6 * time.Second) }},
		{"standby stopped", (*faults).stopsStandby},
		{"all killed", (*faults).killsAll},
		{"etcd's leader killed", (*faults).killsLeader},
		{"owner cut off both ways", func(f *faults) { f.cuts(func(out, in []way) []way { return append(out, in...) }, false) }},
		{"owner cut off outwards", func(f *faults) { f.cuts(func(out, _ []way) []way { return out }, false) }},
		{"owner cut off inwards", func(f *faults) { f.cuts(func(_, in []way) []way { return in }, false) }},
		{"owner's etcd cut off both ways", func(f *faults) { f.cuts(func(out, in []way) []way { return append(out, in...) }, true) }},
		{"owner's etcd cut off outwards", func(f *faults) { f.cuts(func(out, _ []way) []way { return out }, true) }},
		{"owner's etcd cut off inwards", func(f *faults) { f.cuts(func(_, in []way) []way { return in }, true) }},
		{"full disk", (*faults).fillsDisk},
		{"slow disk", (*faults).slowsDisk},
	} {
		t.Run(one.name, func(t *testing.T) {
			f := &faults{T: t, n: newNodes(t, "--min-free-disk", "0")}
			one.run(f)
			if !t.Failed() {
				f.l.settle()
				f.n.closed()
			}
		})
	}
}

// faults is a cluster under load that has something happen to it.
type faults struct {
	*testing.T
	n *nodes
	l *traffic
}

// begin starts the nodes and the load.
func (f *faults) begin() {
	f.Helper()
	f.n.startSim()
	f.n.start(f.n.names...)
	f.load()
}

func (f *faults) load() {
	f.Helper()
	f.l = startTraffic(f.n, f.n.proc[f.n.standby()].shop(), faultClients, *clusterRate)
	f.l.flows(faultClients)
}

// took notes how long clients were not served.
func (f *faults) took(what string) {
	f.Helper()
	f.Logf("%s: clients paused for %v; %v", what, brief(f.l.pauses()), f.l.failures())
}

// others are the nodes beside one.
func (f *faults) others(node string) []string {
	return slices.DeleteFunc(slices.Clone(f.n.names), func(name string) bool { return name == node })
}

func (f *faults) kills() {
	f.begin()
	var all []time.Duration
	for i := range *clusterKills {
		f.l.mark()
		owner := f.n.owner()
		f.n.end(owner, syscall.SIGKILL)
		f.n.owner()
		f.l.flows(faultClients)
		took := f.l.pauses()
		all = append(all, took...)
		f.Logf("kill %d, of %s: %v; %d payouts", i+1, owner, brief(took), f.l.payouts.Load())
		f.n.start(owner)
		f.l.flows(faultClients)
	}
	slices.Sort(all)
	f.Logf("%d kills under %d payouts/s: clients paused for %v (p50, p100)", *clusterKills, *clusterRate, brief(all))
	if longest := all[len(all)-1]; longest > 10*time.Second {
		f.Errorf("a client was not served for %v", longest)
	}
}

// handovers has each owner hand over to the next, as it is asked to or because it is ended. A client that loses
// an owner goes to another node.
func (f *faults) handovers(ended bool) {
	f.begin()
	var all []time.Duration
	late := 0
	for range *clusterKills {
		f.l.mark()
		former := f.n.owner()
		if ended {
			if code := f.n.end(former, syscall.SIGTERM); code != 0 {
				f.Errorf("node %s ended with status %d", former, code)
			}
		} else {
			if code, out, errs := f.n.proc[former].operates("cluster", "handover"); code != 0 {
				for _, name := range f.n.names {
					f.Logf("node %s:\n%s", name, f.n.proc[name].stuck())
				}
				f.Fatalf("a handover of node %s: exit %d\n%s%s", former, code, out, errs)
			}
		}
		f.n.owner(former)
		f.l.flows(faultClients)
		took := f.l.pauses()
		if all = append(all, took...); took[len(took)-1] >= handoverGoal {
			late++
			f.Logf("handover of %s: %v", former, brief(took))
		}
		if ended {
			f.n.start(former)
		}
		f.n.whole()
	}
	slices.Sort(all)
	f.Logf("%d handovers under %d payouts/s: clients paused for %v (p50, p100); %d with a pause of %v", *clusterKills, *clusterRate, brief(all), late, handoverGoal)
}

// handoverGoal is how long a handover may keep requests waiting.
const handoverGoal = 500 * time.Millisecond

// stops stops the owner for a while. What it was asked meanwhile it does not answer by itself.
func (f *faults) stops(long time.Duration) {
	f.begin()
	f.l.mark()
	owner := f.n.owner()
	p := f.n.proc[owner]
	f.signal(owner, syscall.SIGSTOP)
	time.Sleep(long)
	taken := long > 2*time.Second
	var asked func()
	if taken {
		f.n.owner(owner)
		f.moreCredits()
		asked = f.asks(owner)
	}
	f.signal(owner, syscall.SIGCONT)
	if !taken {
		f.waitsEndOrOwner(owner)
		return
	}
	asked()
	if code, said := f.n.ended(owner), strings.TrimSpace(p.words()); code != 3 || !strings.Contains(said[strings.LastIndexByte(said, '\n')+1:], "another node owns the log") {
		f.Errorf("the owner that was stopped: exit %d\n%s", code, said)
	}
	f.l.flows(faultClients)
	f.took("stopped")
	f.n.start(owner)
	f.l.flows(faultClients)
}

func (f *faults) signal(node string, s syscall.Signal) {
	f.Helper()
	if err := f.n.proc[node].cmd.Process.Signal(s); err != nil {
		f.Fatal(err)
	}
}

// moreCredits waits until a credit that has begun from now on is confirmed.
func (f *faults) moreCredits() {
	f.Helper()
	c := f.l.reads
	from := c.begun.Load()
	f.n.waits("credits go on", func() (bool, string) { return c.certain.Load() > from, fmt.Sprint(c.certain.Load(), " of ", from) })
}

// asks sends a stopped node requests for a balance, and returns what waits for the answers. Any that it
// gives is judged by what was confirmed elsewhere before.
func (f *faults) asks(node string) func() {
	var work sync.WaitGroup
	said := make(chan error, 16)
	for range cap(said) {
		work.Go(func() { said <- f.l.reads.asked(node) })
	}
	time.Sleep(200 * time.Millisecond) // they are at the node's port by then
	return func() {
		work.Wait()
		answered := 0
		for range cap(said) {
			if <-said == nil {
				answered++
			}
		}
		f.Logf("of %d requests for a balance to the stopped node, %d were answered, by way of the new owner", cap(said), answered)
	}
}

// waitsEndOrOwner takes either outcome of a short stop: the node is still the owner, or another has taken
// over and the node ends.
func (f *faults) waitsEndOrOwner(node string) {
	f.l.flows(faultClients)
	f.took("stopped")
	owner := f.n.owner(map[bool][]string{true: {node}}[len(f.n.proc[node].exited) > 0]...)
	if owner == node {
		f.n.whole()
		return
	}
	f.Logf("node %s has taken over", owner)
	if code := f.n.ended(node); code != 3 {
		f.Errorf("the owner that was stopped: exit %d", code)
	}
	f.n.start(node)
}

// stopsStandby stops a standby. Whoever uses the other nodes does not notice.
func (f *faults) stopsStandby() {
	f.begin()
	standby := f.n.standby()
	f.l.goTo(f.others(standby)...)
	f.l.flows(faultClients)
	f.l.flows(faultClients)
	f.l.mark()
	f.signal(standby, syscall.SIGSTOP)
	time.Sleep(6 * time.Second)
	f.l.flows(faultClients)
	f.signal(standby, syscall.SIGCONT)
	f.n.whole()
	f.took("a standby stopped")
	if failed := f.l.failures(); len(failed) > 0 {
		f.Error(failed)
	}
	f.l.goTo(f.n.names...)
	f.l.flows(faultClients)
}

func (f *faults) killsAll() {
	f.begin()
	f.l.mark()
	for _, name := range f.n.names {
		f.signal(name, syscall.SIGKILL)
	}
	for _, name := range f.n.names {
		f.n.ended(name)
	}
	f.n.start(f.n.names...)
	f.l.flows(faultClients)
	f.took("all killed")
}

// cuts cuts the owner off, or only its member of etcd. Another takes over; once the network is whole
// again, the former owner ends.
func (f *faults) cuts(which func(out, in []way) []way, etcdOnly bool) {
	d := f.n.divide()
	f.begin()
	owner := f.n.owner()
	p := f.n.proc[owner]
	out, in := d.ways(owner, etcdOnly)
	f.l.mark()
	d.cut(which(out, in)...)
	f.l.goTo(f.others(owner)...) // as a balancer does that asks each node whether it is ready
	f.Logf("node %s takes over from %s", f.n.owner(owner), owner)
	f.l.flows(faultClients)
	f.took("cut off")
	f.moreCredits()
	f.moreCredits()
	d.heal()
	if code := f.n.ended(owner); code != 3 {
		f.Errorf("the owner that was cut off: exit %d\n%s", code, p.words())
	}
	f.l.goTo(f.n.names...)
	f.n.start(owner)
	f.l.flows(faultClients)
}
