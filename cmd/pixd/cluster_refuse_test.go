package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pixd/wal/waltest"
)

// TestClusterFlags gives a node flags that are wrong. Each is refused in one line before anything is written.
func TestClusterFlags(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key, _ := certify(t, dir, 1)
	const peers = "a=http://127.0.0.1:18090,b=http://127.0.0.1:18092,c=http://127.0.0.1:18094"
	secure := strings.ReplaceAll(peers, "http:", "https:")
	scheme := []string{"--scheme", "http://127.0.0.1:1"}
	node := slices.Clip(append([]string{"--node", "a", "--cluster-listen", "127.0.0.1:18090"}, scheme...))
	for _, c := range []struct {
		flags []string
		says  string
	}{
		{[]string{"--node", "a", "--cluster-listen", "127.0.0.1:18090", "--cluster-peers", peers}, "the simulator in this process is of one node alone"},
		{append([]string{"--node", "a", "--cluster-peers", peers}, scheme...), "--cluster-listen is missing"},
		{node, "NAME=URL"},
		{append([]string{"--cluster-peers", peers}, scheme...), "--node NAME is missing"},
		{append([]string{"--node", "d", "--cluster-listen", "127.0.0.1:18090", "--cluster-peers", peers}, scheme...), "does not name this node, d"},
		{append([]string{"--node", "A", "--cluster-listen", "127.0.0.1:18090", "--cluster-peers", peers}, scheme...), `--node "A"`},
		{append(node, "--cluster-peers", peers+",a=http://127.0.0.1:18096"), "node a is named twice"},
		{append(node, "--cluster-peers", peers+",d=http://127.0.0.1:18090"), "http://127.0.0.1:18090 is named twice"},
		{append(node, "--cluster-peers", "a=127.0.0.1:18090"), "http://HOST:PORT or https://HOST:PORT"},
		{append(node, "--cluster-peers", "a=http://127.0.0.1"), "http://HOST:PORT or https://HOST:PORT"},
		{append(node, "--cluster-peers", peers, "--cluster-listen", "127.0.0.1"), "HOST:PORT, with a port"},
		{append(node, "--cluster-peers", peers, "--cluster-listen", "127.0.0.1:0"), "HOST:PORT, with a port"},
		{append(node, "--cluster-peers", peers, "--cluster-listen", "0.0.0.0:18090"), "loopback addresses only"},
		{append(node, "--cluster-peers", secure), "https:// goes with --cluster-cert"},
		{append(node, "--cluster-peers", peers, "--cluster-cert", cert, "--cluster-key", key, "--cluster-ca", cert), "https:// goes with --cluster-cert"},
		{append(node, "--cluster-peers", secure, "--cluster-cert", cert, "--cluster-key", key), "go together"},
		{append(node, "--cluster-peers", secure, "--cluster-cert", cert, "--cluster-ca", cert), "cluster"},
		{append(node, "--cluster-peers", secure, "--cluster-cert", filepath.Join(dir, "none"), "--cluster-key", key, "--cluster-ca", cert), "none"},
		{append(node, "--cluster-peers", secure, "--cluster-cert", key, "--cluster-key", key, "--cluster-ca", cert), "key.pem"},
		{append(node, "--cluster-peers", secure, "--cluster-cert", cert, "--cluster-key", key, "--cluster-ca", key), "key.pem"},
		{append(node, "--cluster-peers", peers, "--log", "etcd:2379"), `--log "etcd:2379"`},
		{append(node, "--cluster-peers", peers, "--log-ca", cert), "for an etcd of its own"},
		{append(node, "--cluster-peers", peers, "--log-prefix", ""), "--log-prefix is empty"},
		{append(node, "--cluster-peers", peers, "--leave-cluster"), "leave out --node"},
	} {
		data := filepath.Join(dir, "data")
		code, out, errs := run(t, []string{"PIXD_ADMIN_TOKEN=" + token, "PIXD_SCHEME_SECRET=" + schemeWord}, append([]string{"serve", "--data-dir", data}, c.flags...)...)
		if code != 1 || out != "" || strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, "pixd: ") || !strings.Contains(errs, c.says) {
			t.Errorf("%v: exit %d, want %q\n%s%s", c.flags, code, c.says, out, errs)
		}
		if _, err := os.Stat(data); err == nil {
			t.Fatalf("%v: the folder was made", c.flags)
		}
	}
}

// TestClusterBase makes a single node's journal the cluster's, refuses folders and names that do not
// belong to it, and serves one node's folder alone again.
func TestClusterBase(t *testing.T) {
	notShort(t)
	t.Parallel()
	n := newNodes(t)
	n.startSim()
	single := start(t, n.folder("b"), "--listen", n.at["b"].merchant, "--admin-listen", n.at["b"].operator, "--scheme", "http://"+n.book)
	n.proc["b"] = single
	s := single.shop()
	n.payouts(s, 20)
	want := rest(single, s)
	n.end("b", syscall.SIGTERM)
	n.start(n.names...)
	for _, name := range n.names {
		if got, _ := s.balance(n.proc[name]); got != want {
			t.Errorf("node %s: balance %d, want %d", name, got, want)
		}
	}
	n.payouts(s, 20)
	n.twice()
	n.strangers(s)
	want = rest(n.proc[n.standby()], s)
	n.waits("node a has the whole journal", func() (bool, string) {
		is, err := n.status(n.owner())
		if err != nil {
			return false, err.Error()
		}
		for _, one := range is.Nodes {
			if one.Node == "a" {
				return one.Applied >= is.Log.Position, fmt.Sprintf("%d of %d", one.Applied, is.Log.Position)
			}
		}
		return false, "no node a"
	})
	n.closed()
	n.alone(s, want)
}

// twice starts a second process under a node's name.
func (n *nodes) twice() {
	n.t.Helper()
	name, ports := n.standby(), waltest.FreePorts(n.t, 2, 2)
	for _, second := range []struct{ dir, says string }{
		{n.folder(name), "in use"},
		{filepath.Join(n.t.TempDir(), "data"), "folder has not its data"},
	} {
		flags := append(n.flagsOf(name), "--cluster-listen", ports[0], "--listen", ports[1], "--admin-listen", after(ports[1]))
		n.refusedProcess(launch(n.t, second.dir, flags...), second.says)
	}
}

// refusedProcess waits until a process has ended, and checks that it says why in one line.
func (n *nodes) refusedProcess(p *process, why string) {
	n.t.Helper()
	select {
	case err := <-p.exited:
		if err == nil {
			n.t.Errorf("it ended well, want %q", why)
		}
	case <-time.After(patience):
		n.t.Fatalf("it does not end, want %q:\n%s", why, p.words())
	}
	line := lastLine(p.words())
	if code := p.cmd.ProcessState.ExitCode(); code != 1 || !strings.HasPrefix(line, "pixd: ") || !strings.Contains(line, why) {
		n.t.Errorf("exit %d, want %q\n%s", code, why, p.words())
	}
	if strings.Contains(p.words(), "msg=ready") {
		n.t.Errorf("it was ready before it ended\n%s", p.words())
	}
}

// strangers starts a standby on the journal of another engine, and one with another list of nodes.
func (n *nodes) strangers(s shop) {
	n.t.Helper()
	name := n.standby()
	n.end(name, syscall.SIGTERM)
	kept := n.folder(name) + ".kept"
	move := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			n.t.Fatal(err)
		}
	}
	move(filepath.Join(n.folder(name), "journal"), kept)
	other := filepath.Join(n.t.TempDir(), "data")
	p := start(n.t, other)
	p.shop()
	p.end(syscall.SIGTERM)
	move(filepath.Join(other, "journal"), filepath.Join(n.folder(name), "journal"))
	n.launch(name)
	n.refusedStart(name, "a node joins with an empty folder")
	if err := os.RemoveAll(filepath.Join(n.folder(name), "journal")); err != nil {
		n.t.Fatal(err)
	}
	move(kept, filepath.Join(n.folder(name), "journal"))
	n.start(name)
	n.payouts(s, 10)
}

// alone serves a node's folder by itself, which must be asked for. Nodes that come later without the log's
// data find that it is gone.
func (n *nodes) alone(s shop, want int64) {
	n.t.Helper()
	flags := []string{"--listen", n.at["a"].merchant, "--admin-listen", n.at["a"].operator, "--scheme", "http://" + n.book}
	n.refusedProcess(launch(n.t, n.folder("a"), flags...), "alone it may be served only after it has left the cluster")
	for _, name := range n.names {
		if err := os.RemoveAll(filepath.Join(n.folder(name), "etcd")); err != nil {
			n.t.Fatal(err)
		}
	}
	n.launch(n.names...)
	for _, name := range n.names {
		n.refusedStart(name, "the log knows of no cluster")
	}
	p := start(n.t, n.folder("a"), append(flags, "--leave-cluster")...)
	if got, _ := s.balance(p); got != want {
		n.t.Errorf("balance %d, want %d", got, want)
	}
	p.end(syscall.SIGTERM)
	p = start(n.t, n.folder("a"), flags...)
	if got, _ := s.balance(p); got != want {
		n.t.Errorf("balance %d, want %d", got, want)
	}
	p.end(syscall.SIGTERM)
}

// TestClusterPeersDiffer starts new nodes with different lists of nodes. The first that asks the other is
// refused; the other may have been refused too, or waits.
func TestClusterPeersDiffer(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	n.differ()
	for _, name := range []string{"a", "b"} {
		if files, err := os.ReadDir(filepath.Join(n.folder(name), "etcd")); err == nil {
			t.Errorf("node %s has begun: %v", name, files)
		}
	}
}

// TestClusterFolderStrange starts a node on the whole folder that it had in an earlier cluster at the same addresses, beside
// nodes of the present one, and one of these beside it. Each is refused before it serves: their members of etcd cannot tell
// the two clusters apart.
func TestClusterFolderStrange(t *testing.T) {
	notShort(t)
	t.Parallel()
	n := openNodes(t)
	for _, name := range n.names {
		n.end(name, syscall.SIGTERM)
	}
	strange := n.folder("c") + ".strange"
	move := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	move(n.folder("c"), strange)
	n.loses("a")
	n.loses("b")
	n.start(n.names...)
	s := n.proc[n.standby()].shop()
	n.payouts(s, 10)
	n.end("c", syscall.SIGTERM)
	kept := n.folder("c") + ".kept"
	move(n.folder("c"), kept)
	move(strange, n.folder("c"))
	n.launch("c")
	n.refusedStart("c", "this folder is of cluster ")
	n.payouts(s, 10)

	n.end("a", syscall.SIGKILL)
	n.end("b", syscall.SIGKILL)
	n.launch("c")
	n.waits("node c waits for a majority", func() (bool, string) { return hears(n.at["c"].cluster), n.proc["c"].words() })
	n.launch("a")
	n.refusedStart("a", "and that of node c at http://"+n.at["c"].cluster+" is of cluster ")
	n.end("c", syscall.SIGKILL)
	move(n.folder("c"), strange)
	move(kept, n.folder("c"))
	n.start(n.names...)
	n.payouts(s, 10)
	n.closed()
}

// hears reports whether a node says what it is to others.
func hears(cluster string) bool {
	r, err := http.Get("http://" + cluster + "/cluster/hello") //nolint:noctx // of a test
	if err != nil {
		return false
	}
	_ = r.Body.Close()
	return r.StatusCode == http.StatusOK
}
