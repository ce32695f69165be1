package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pixd/httpapi/admin"
	"pixd/wal/waltest"
)

// nodes are the three nodes of a cluster and the scheme, each in a process of its own.
type nodes struct {
	t       *testing.T
	dir     string
	names   []string
	at      map[string]place
	peers   string // --cluster-peers of each node
	flags   []string
	program map[string]string   // nodes that run another program than the one under test
	proc    map[string]*process // those that run
	pids    sync.Map            // their processes' numbers, also of those that have ended
	sim     *process
	book    string // address of the simulator
	paid    int    // payouts that were made one by one
}

// notShort leaves a test out that takes half a minute on a busy machine, where only short ones are asked for:
// make race. make test runs it.
func notShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("not one of the short tests")
	}
}

// place is where a node listens.
type place struct{ merchant, operator, cluster string }

// after returns an address with the next port.
func after(address string) string {
	host, port, _ := net.SplitHostPort(address)
	var n int
	_, _ = fmt.Sscan(port, &n)
	return net.JoinHostPort(host, fmt.Sprint(n+1))
}

// newNodes returns nodes of which none runs yet.
func newNodes(t *testing.T, flags ...string) *nodes {
	t.Helper()
	n := &nodes{t: t, dir: t.TempDir(), names: []string{"a", "b", "c"}, at: map[string]place{}, proc: map[string]*process{}, program: map[string]string{}, flags: flags}
	ports := waltest.FreePorts(t, 7, 2)
	var peers []string
	for i, name := range n.names {
		n.at[name] = place{merchant: ports[i], operator: after(ports[i]), cluster: ports[3+i]}
		peers = append(peers, name+"=http://"+ports[3+i])
	}
	n.peers, n.book = strings.Join(peers, ","), ports[6]
	return n
}

// openNodes starts the scheme and three nodes from empty folders.
func openNodes(t *testing.T, flags ...string) *nodes {
	t.Helper()
	n := newNodes(t, flags...)
	n.startSim()
	n.start(n.names...)
	return n
}

func (n *nodes) startSim() {
	n.t.Helper()
	var engines []string
	for _, name := range n.names {
		engines = append(engines, "http://"+n.at[name].operator)
	}
	n.sim = launchSim(n.t, filepath.Join(n.dir, "sim"), n.book, strings.Join(engines, ",")).awaitReady()
}

func (n *nodes) folder(name string) string { return filepath.Join(n.dir, name) }

// flagsOf returns a node's flags.
func (n *nodes) flagsOf(name string) []string {
	at := n.at[name]
	return append([]string{
		"--node", name, "--cluster-listen", at.cluster, "--cluster-peers", n.peers, "--listen", at.merchant, "--admin-listen", at.operator,
		"--scheme", "http://" + n.book, "--rate-limit", "0", "--failed-auth-limit", "0", "--connections-per-ip", "0",
	}, n.flags...)
}

// launch starts nodes, and does not wait until they are ready.
func (n *nodes) launch(names ...string) {
	n.t.Helper()
	for _, name := range names {
		p := prepared(n.t, n.folder(name), n.flagsOf(name)...)
		if other := n.program[name]; other != "" {
			p.cmd.Path = other
		}
		if *clusterPackets {
			n.asUser(name, p)
		}
		n.proc[name] = p.begin()
		n.pids.Store(name, n.proc[name].cmd.Process.Pid)
	}
}

// start starts nodes, and waits until each forwards or serves, and follows.
func (n *nodes) start(names ...string) {
	n.t.Helper()
	n.launch(names...)
	for _, name := range names {
		n.proc[name].awaitReady()
	}
	n.whole()
}

// end ends a node with a signal, and returns its exit status.
func (n *nodes) end(name string, s syscall.Signal) int {
	n.t.Helper()
	p := n.proc[name]
	delete(n.proc, name)
	return p.end(s)
}

// ended waits until a node has ended by itself, and returns its exit status.
func (n *nodes) ended(name string) int {
	n.t.Helper()
	p := n.proc[name]
	select {
	case err := <-p.exited:
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			n.t.Fatal(err)
		}
	case <-time.After(30 * time.Second):
		n.t.Fatalf("node %s does not end:\n%s", name, p.words())
	}
	delete(n.proc, name)
	return p.cmd.ProcessState.ExitCode()
}

// status returns what a node says of the nodes.
func (n *nodes) status(name string) (s admin.ClusterStatus, err error) {
	r, err := newRequest("GET", "http://"+n.at[name].operator+"/admin/cluster", nil, "Authorization", "Bearer "+token)
	if err != nil {
		return s, err
	}
	status, got, err := do(&http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}, r)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%d %s", status, got)
	}
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(got, &s)
}

// roles returns how each node is, as a node says it.
func roles(s admin.ClusterStatus) map[string]string {
	all := map[string]string{}
	for _, is := range s.Nodes {
		all[is.Node] = is.Role
		if is.Err != nil {
			all[is.Node] = *is.Err
		}
	}
	return all
}

// patience is how long the nodes may need, on a busy machine, to come to where they have to be.
const patience = 90 * time.Second

// waits waits until something holds. told says what there is otherwise.
func (n *nodes) waits(what string, holds func() (ok bool, told string)) {
	n.t.Helper()
	for until := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		ok, told := holds()
		if ok {
			return
		}
		if time.Now().After(until) {
			for name, p := range n.proc {
				n.t.Logf("node %s:\n%s", name, p.words())
			}
			n.t.Fatalf("%s: %s", what, told)
		}
	}
}

// owner waits until a node other than those that are named serves, by its own words, and returns it.
func (n *nodes) owner(not ...string) (owner string) {
	n.t.Helper()
	n.waits("a node serves", func() (bool, string) {
		var told []string
		for name := range n.proc {
			if slices.Contains(not, name) {
				continue
			}
			s, err := n.status(name)
			if err == nil && s.Owner != nil && *s.Owner == name && roles(s)[name] == "owner" {
				owner = name
				return true, ""
			}
			told = append(told, fmt.Sprint(name, " ", roles(s), err))
		}
		return false, strings.Join(told, "; ")
	})
	return owner
}

// whole waits until one of the nodes that run serves, all others follow, and none is behind by more
// than a moment.
func (n *nodes) whole() {
	n.t.Helper()
	n.waits("all nodes follow", func() (bool, string) {
		for name := range n.proc {
			s, err := n.status(name)
			if err != nil || s.Owner == nil {
				return false, fmt.Sprint(name, " ", roles(s), err)
			}
			for other := range n.proc {
				i := slices.IndexFunc(s.Nodes, func(is admin.NodeStatus) bool { return is.Node == other })
				if i < 0 || s.Nodes[i].Err != nil || s.Nodes[i].LagSeconds > 5 || s.Nodes[i].Role != map[bool]string{true: "owner", false: "standby"}[other == *s.Owner] {
					return false, fmt.Sprint(name, " says of ", other, ": ", roles(s), " owner ", *s.Owner)
				}
			}
		}
		return true, ""
	})
}

// standby returns a node that runs and does not serve.
func (n *nodes) standby() string {
	owner := n.owner()
	for _, name := range n.names {
		if name != owner && n.proc[name] != nil {
			return name
		}
	}
	n.t.Fatal("no standby runs")
	return ""
}
