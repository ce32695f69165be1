package main

import (
	"context"
	"crypto/tls"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pixd/cmd/certificate"
	"pixd/wal"
	"pixd/wal/etcdlog"
	"pixd/wal/waltest"
)

// TestClusterEtcd runs three nodes on an etcd of its own, with certificates towards it and towards each
// other. What does not belong to them is refused; a lost owner is replaced; and an etcd that was restored
// from an older copy is refused by all.
func TestClusterEtcd(t *testing.T) {
	notShort(t)
	t.Parallel()
	logs, among := newAuthority(t, "logs"), newAuthority(t, "among")
	etcd := newEtcd(t, logs, "")
	n := newNodes(t, slices.Concat([]string{"--log", etcd.log()}, logs.flags("--log-"), among.flags("--cluster-"))...)
	n.peers = strings.ReplaceAll(n.peers, "http:", "https:")
	n.startSim()
	n.differ()
	n.start(n.names...)
	hung := n.proc[n.standby()]
	if err := hung.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	hung.says(`msg="certificate reloaded"`, 2) // towards the etcd, and towards the other nodes
	const clients = 6
	l := startTraffic(n, n.proc[n.standby()].shop(), clients, 100)
	l.flows(clients)
	old := etcd.copies(t)
	l.flows(clients)

	l.mark()
	owner := n.owner()
	n.end(owner, syscall.SIGKILL)
	n.owner()
	l.flows(clients)
	t.Logf("killed: clients paused for %v; %v", brief(l.pauses()), l.failures())
	n.untrusted(owner, among)
	n.start(owner)
	l.flows(clients)
	n.refusedProcess(n.beside(n.standby()), "another process runs under this node's name")
	l.settle()
	n.closed()

	n.otherCluster(etcd, logs)
	n.start(n.names...)
	n.restored(etcd, logs, old)
}

// restored has the etcd become older while nodes run. A standby says so and writes it down, so that no node that
// was itself behind takes over; the owner is fenced. Started again, none of them serves.
func (n *nodes) restored(etcd *etcdServer, by *authority, old string) {
	n.t.Helper()
	const says = "restored from a backup, or a majority has lost them; docs/cluster.md says how to go on"
	owner := n.owner()
	etcd.restores(n.t, old)
	for _, name := range n.names {
		if name != owner {
			n.refusedStart(name, says)
		} else if code := n.ended(name); code != 3 {
			n.t.Errorf("node %s, the owner: exit %d with an etcd that has become older\n%s", name, code, n.proc[name].words())
		}
	}
	is, err := dials(n.t, etcd, by, etcdlog.DefaultPrefix).Nodes(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	for _, node := range is {
		if noted := strings.Contains(string(node.State), says); node.Name != owner && !noted {
			n.t.Errorf("the log says of node %s: %s", node.Name, node.State)
		}
	}
	n.launch(n.names...)
	for _, name := range n.names {
		n.refusedStart(name, says)
	}
}

// differ starts a new node, and a second one with another list of nodes. One is refused, and the other
// waits; it ends with the test of it.
func (n *nodes) differ() {
	n.t.Helper()
	n.launch("a")
	mine := n.peers
	n.peers = strings.Replace(n.peers, "c=http", "d=http", 1)
	n.launch("b")
	n.peers = mine
	n.waits("a node is refused", func() (bool, string) {
		return len(n.proc["a"].exited)+len(n.proc["b"].exited) > 0, "both run"
	})
	for _, name := range []string{"a", "b"} {
		if len(n.proc[name].exited) > 0 {
			n.refusedStart(name, "--cluster-peers differs")
		} else {
			_ = n.proc[name].cmd.Process.Kill() // it may be refused just now
			n.ended(name)
		}
	}
}

// untrusted starts processes under the name of a node that has ended, with certificates of others'
// authorities, each with a folder and ports of its own.
func (n *nodes) untrusted(name string, among *authority) {
	n.t.Helper()
	stranger := newAuthority(n.t, "stranger")
	theirs, key := stranger.sign("127.0.0.1")
	elsewhere, elsewhereKey := among.sign("127.0.0.2")
	refused := map[string]*process{}
	for says, flags := range map[string][]string{
		"x509: certificate signed by unknown authority":             {"--log-ca", stranger.file},
		"tls: certificate required":                                 {"--log-cert", "", "--log-key", ""},
		"tls: unknown certificate authority":                        {"--log-cert", theirs, "--log-key", key},
		"the other nodes would refuse this one: --cluster-cert":     {"--cluster-cert", theirs, "--cluster-key", key},
		"valid for 127.0.0.2, not 127.0.0.1":                        {"--cluster-cert", elsewhere, "--cluster-key", elsewhereKey},
		"an etcd is not asked with a name and a password; --log-ce": {"--log", strings.Replace(n.flags[1], "https://", "https://x:y@", 1)},
	} {
		refused[says] = n.beside(name, flags...)
	}
	waiting := n.beside(name, stranger.flags("--cluster-")...) // for the others to mend their certificates
	for says, p := range refused {
		n.refusedProcess(p, says)
	}
	n.waits("a node of another authority says so", func() (bool, string) {
		return strings.Contains(waiting.words(), "do not take each other's certificates"), waiting.words()
	})
	if code := waiting.end(syscall.SIGTERM); code != 0 || strings.Contains(waiting.words(), "msg=ready") {
		n.t.Errorf("exit %d\n%s", code, waiting.words())
	}
}

// beside starts a process under a node's name, with a folder and ports of its own.
func (n *nodes) beside(name string, flags ...string) *process {
	n.t.Helper()
	ports := waltest.FreePorts(n.t, 2, 2)
	flags = slices.Concat(n.flagsOf(name), []string{"--cluster-listen", ports[0], "--listen", ports[1], "--admin-listen", after(ports[1])}, flags)
	return launch(n.t, filepath.Join(n.t.TempDir(), "data"), flags...)
}

// otherCluster starts a node on the log of another cluster, and on one of none.
func (n *nodes) otherCluster(etcd *etcdServer, by *authority) {
	n.t.Helper()
	if _, err := dials(n.t, etcd, by, "other/").Found(n.t.Context(), wal.Cluster{ID: "another"}); err != nil {
		n.t.Fatal(err)
	}
	for prefix, says := range map[string]string{
		"other/": "and the log is of cluster another",
		"none/":  "the log knows of no cluster",
	} {
		n.refusedProcess(launch(n.t, n.folder("a"), append(n.flagsOf("a"), "--log-prefix", prefix)...), says)
	}
}

// dials connects to an etcd as a node does.
func dials(t *testing.T, etcd *etcdServer, by *authority, prefix string) *etcdlog.Log {
	t.Helper()
	trust, err := certificate.Trusting("log-ca", by.file)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(by.sign("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	trust.Certificates = []tls.Certificate{pair}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	log, err := etcdlog.Dial(ctx, etcdlog.Options{Endpoints: etcd.Clients, TLS: trust, Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	return log
}

// TestClusterEtcdOld starts a node on an etcd that is too old. Nothing is written into it.
func TestClusterEtcdOld(t *testing.T) {
	t.Parallel()
	n := newNodes(t, "--log", newEtcd(t, nil, "3.5.2").log())
	began := time.Now()
	n.launch("a")
	n.refusedStart("a", "a member of the etcd has version 3.5.2; the oldest that is used is 3.5.3")
	t.Logf("refused after %v", time.Since(began).Round(time.Millisecond))
	if files, err := os.ReadDir(filepath.Join(n.folder("a"), "journal")); err == nil {
		t.Errorf("there is a journal: %v", files)
	}
}
