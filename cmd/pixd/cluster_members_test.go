package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pixd/wal/waltest"
)

// TestClusterMembers adds a fourth node with an empty folder, removes it again, and replaces a node whose
// folder was lost.
func TestClusterMembers(t *testing.T) {
	if !*clusterLong {
		t.Skip("TestClusterFolderLost has a node leave and join: make cluster-faults")
	}
	t.Parallel()
	n := openNodes(t)
	s := n.proc[n.standby()].shop()
	n.payouts(s, 20)
	ports := waltest.FreePorts(t, 2, 2)
	n.at["d"] = place{merchant: ports[0], operator: after(ports[0]), cluster: ports[1]}
	n.names, n.peers = append(n.names, "d"), n.peers+",d=http://"+ports[1]
	n.launch("d")
	n.refusedStart("d", "is not a member")
	n.joins("d")
	n.payouts(s, 20)
	if code := n.end("d", syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d", code)
	}
	n.leaves("d")
	n.payouts(s, 20)

	lost := n.standby()
	n.end(lost, syscall.SIGKILL)
	n.loses(lost)
	n.launch(lost)
	n.refusedStart(lost, "folder has not its data")
	n.leaves(lost)
	n.joins(lost)
	n.payouts(s, 20)
	n.names = []string{"a", "b", "c"}
	n.closed()
}

// joins adds a node, and starts it.
func (n *nodes) joins(name string) {
	n.t.Helper()
	n.waits("the node may join", func() (bool, string) {
		code, out, errs := n.proc[n.owner()].operates("cluster", "join", "--node", name, "--peer", "http://"+n.at[name].cluster)
		return code == 0, out + errs
	})
	n.start(name)
}

// leaves removes a node that has ended.
func (n *nodes) leaves(name string) {
	n.t.Helper()
	n.waits("the node may leave", func() (bool, string) {
		code, out, errs := n.proc[n.owner()].operates("cluster", "leave", name)
		return code == 0 && !strings.Contains(out, "\n"+name+" "), out + errs
	})
}

// loses removes a node's folder.
func (n *nodes) loses(name string) {
	n.t.Helper()
	if err := os.RemoveAll(n.folder(name)); err != nil {
		n.t.Fatal(err)
	}
}

// refusedStart waits until a node has ended that may not start, and checks that it says why, in one line.
func (n *nodes) refusedStart(name, why string) {
	n.t.Helper()
	p := n.proc[name]
	if code := n.ended(name); code != 1 || !strings.HasPrefix(lastLine(p.words()), "pixd: ") || !strings.Contains(lastLine(p.words()), why) {
		n.t.Errorf("node %s: exit %d, want %q\n%s", name, code, why, p.words())
	}
}

// TestClusterFolderLost loses the folder of one node, and then the owner, while the third was away. What
// was answered is on no disk but the owner's: the two that are left must not go on without it.
func TestClusterFolderLost(t *testing.T) {
	notShort(t)
	t.Parallel()
	n := openNodes(t)
	s := n.proc[n.standby()].shop()
	owner, away := n.owner(), n.standby()
	n.end(away, syscall.SIGKILL)
	n.payouts(s, 20)
	lost := n.standby()
	n.end(lost, syscall.SIGKILL)
	n.end(owner, syscall.SIGKILL)
	n.loses(lost)
	n.launch(away, lost)
	for range 50 { // longer than two nodes with the journal take
		for _, name := range []string{away, lost} {
			if status, err := n.status(name); err == nil && status.Owner != nil && *status.Owner != owner {
				t.Fatalf("node %s is the owner, at batch %d", *status.Owner, status.Log.Position)
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	n.launch(owner)
	n.refusedStart(lost, "folder has not its data")
	n.whole()
	if got := rest(n.proc[n.owner()], s); got != 1_000_000_000-20*10_000 {
		t.Errorf("balance %d after %d payouts", got, n.paid)
	}
	n.leaves(lost)
	n.joins(lost)
	n.payouts(s, 20)
	n.closed()
}

// TestClusterPutBack puts a node's folder back to an earlier state while the others have gone on, with what is in it of
// etcd: the node is refused in words of its own, and has to leave and join again.
func TestClusterPutBack(t *testing.T) {
	notShort(t)
	t.Parallel()
	n := openNodes(t)
	s := n.proc[n.standby()].shop()
	n.whole()
	put := n.standby()
	n.end(put, syscall.SIGTERM)
	earlier := filepath.Join(t.TempDir(), "earlier")
	if err := os.CopyFS(earlier, os.DirFS(n.folder(put))); err != nil {
		t.Fatal(err)
	}
	n.start(put)
	n.payouts(s, 30)
	n.whole()
	n.end(put, syscall.SIGTERM)
	if err := errors.Join(os.RemoveAll(n.folder(put)), os.Rename(earlier, n.folder(put))); err != nil {
		t.Fatal(err)
	}
	n.launch(put)
	n.refusedStart(put, "put back to an earlier state")
	n.loses(put)
	n.leaves(put)
	n.joins(put)
	n.payouts(s, 10)
	n.closed()
}

// payouts makes payouts, each at another node.
func (n *nodes) payouts(s shop, count int) {
	n.t.Helper()
	for range count {
		n.paid++
		for name, p := range n.proc {
			if err := paysOut(p, s, fmt.Sprintf("k%d@example.com", n.paid), int64(n.paid)); err != nil {
				n.t.Fatalf("at node %s: %v", name, err)
			}
			break
		}
	}
}
