package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// clusterPackets has nodes cut off by dropping packets: the test is in a network namespace of its own.
var clusterPackets = flag.Bool("cluster.packets", false, "TestClusterFaults is in a network namespace of its own, and drops packets in it")

// TestClusterPackets cuts the owner off as TestClusterFaults does, in a network namespace in which packets are dropped:
// what is sent is not held back but lost, and is sent again by TCP.
func TestClusterPackets(t *testing.T) {
	if !*clusterLong {
		t.Skip("minutes: make cluster-faults")
	}
	if os.Geteuid() != 0 {
		t.Skip("a network namespace needs root")
	}
	for _, tool := range []string{"unshare", "ip", "iptables"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("without ", tool)
		}
	}
	c := exec.CommandContext(t.Context(), "unshare", "--net", "sh", "-c", `ip link set lo up && exec "$@"`, "sh",
		os.Args[0], "-test.run", "^TestClusterFaults$/^owner.*cut_off", "-test.v", "-test.timeout", "0", "-cluster.long", "-cluster.packets", fmt.Sprint("-cluster.rate=", *clusterRate))
	out, err := c.CombinedOutput()
	if t.Logf("%s", out); err != nil || !strings.Contains(string(out), "\nPASS") || strings.Contains(string(out), "--- SKIP") || strings.Count(string(out), "    --- PASS") != 6 {
		t.Error("in a network namespace: ", err)
	}
}

// firstUser is the user of the first node, in a namespace: rules tell nodes by their users.
const firstUser = 60001

func (n *nodes) userOf(name string) uint32 { return firstUser + uint32(name[0]-'a') }

// asUser has a node run as a user of its own, who can reach the folder and the program.
func (n *nodes) asUser(name string, p *process) {
	n.t.Helper()
	user, dir := n.userOf(name), n.folder(name)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	for _, one := range []string{n.dir, filepath.Dir(n.dir), filepath.Dir(p.cmd.Path)} {
		if err := os.Chmod(one, 0o711); err != nil { //nolint:gosec // to be passed through
			n.t.Fatal(err)
		}
	}
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		err = os.Chown(dir, int(user), int(user))
	}
	if err != nil && !os.IsExist(err) {
		n.t.Fatal(err)
	}
}

// filter changes the rules of the namespace.
func (d *droppers) filter(args ...string) {
	d.n.t.Helper()
	if out, err := exec.Command("iptables", append([]string{"-w"}, args...)...).CombinedOutput(); err != nil {
		d.n.t.Fatalf("iptables %v: %v %s", args, err, out)
	}
}

// mark has each connection bear the user of the node that has opened it.
func (d *droppers) mark() {
	d.n.t.Helper()
	for _, name := range d.n.names {
		user := fmt.Sprint(d.n.userOf(name))
		d.filter("-t", "mangle", "-A", "OUTPUT", "-p", "tcp", "--syn", "-m", "owner", "--uid-owner", user, "-j", "CONNMARK", "--set-mark", user)
	}
}

// drop loses the packets that go one way: of the connections that the sender has opened, and its answers on those that the
// other has opened.
func (d *droppers) drop(w way) {
	d.n.t.Helper()
	port := func(name string) string {
		address := d.n.at[name].cluster
		if w.etcd {
			address = after(address)
		}
		return address[strings.LastIndex(address, ":")+1:]
	}
	d.filter("-A", "OUTPUT", "-p", "tcp", "-m", "owner", "--uid-owner", fmt.Sprint(d.n.userOf(w.from)), "--dport", port(w.to), "-j", "DROP")
	d.filter("-A", "OUTPUT", "-p", "tcp", "-m", "connmark", "--mark", fmt.Sprint(d.n.userOf(w.to)), "--sport", port(w.from), "-j", "DROP")
}
