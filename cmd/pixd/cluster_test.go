package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestClusterKilled loses the owner of three nodes under load, by a kill, and has it hand over, on
// command and because it is ended. The others serve on; each payout happens once; and in the end the
// three journals are the same.
func TestClusterKilled(t *testing.T) {
	notShort(t)
	t.Parallel()
	const clients = 9
	n := openNodes(t)
	l := startTraffic(n, n.proc[n.standby()].shop(), clients, 150)
	l.flows(clients)

	l.mark()
	owner := n.owner()
	n.end(owner, syscall.SIGKILL)
	n.owner()
	l.flows(clients)
	t.Logf("killed: clients paused for %v; %v", brief(l.pauses()), l.failures())
	n.start(owner)
	l.flows(clients)

	l.handsOver(clients)
	n.makesSnapshots()
	n.showsConsole()
	n.knowsOperators()
	n.measures()
	l.endsOwner(clients)
	l.settle()
	n.closed()
}

// makesSnapshots has the first standby make a snapshot, whichever node is asked, and lists it at each.
func (n *nodes) makesSnapshots() {
	n.t.Helper()
	n.whole() // while the former owner begins anew, another node is the first standby
	owner := n.owner()
	first := n.names[0]
	if first == owner {
		first = n.names[1]
	}
	made := strings.TrimSpace(n.proc[owner].reported("snapshot", "create"))
	if filepath.Dir(made) != filepath.Join(n.folder(first), "snapshots") {
		n.t.Errorf("node %s is the first standby, and the snapshot is %s", first, made)
	}
	for _, name := range n.names {
		if list := n.proc[name].reported("snapshot", "list"); !strings.Contains(list, filepath.Base(made)) {
			n.t.Errorf("node %s does not list %s:\n%s", name, made, list)
		}
	}
	for _, name := range n.names {
		n.verifies(name, filepath.Base(made))
	}
	n.recorded("/admin/snapshots", 1)
	n.recorded("/admin/snapshots/"+filepath.Base(made)+"/verify", len(n.names))
}

// recorded checks how often something was asked for by the record of actions.
func (n *nodes) recorded(path string, times int) {
	n.t.Helper()
	is, cursor := 0, ""
	for {
		var l struct {
			Data []struct{ Method, Path string }
			Next *string `json:"next_cursor"`
		}
		status, got, err := n.proc[n.owner()].operate("GET", "/admin/actions?limit=200&cursor="+cursor, "")
		if err != nil || status != 200 || json.Unmarshal(got, &l) != nil {
			n.t.Fatalf("the record of actions: %d %v %s", status, err, got)
		}
		for _, a := range l.Data {
			if a.Method == "POST" && a.Path == path {
				is++
			}
		}
		if l.Next == nil {
			break
		}
		cursor = *l.Next
	}
	if is != times {
		n.t.Errorf("%s is %d times on record, want %d", path, is, times)
	}
}

// TestClusterSnapshotOnAny has each node make and verify a snapshot of its own, and checks that each is on record.
func TestClusterSnapshotOnAny(t *testing.T) {
	notShort(t)
	t.Parallel()
	n := openNodes(t, "--snapshot-on", "any")
	n.whole()
	for _, name := range n.names {
		made := strings.TrimSpace(n.proc[name].reported("snapshot", "create"))
		if filepath.Dir(made) != filepath.Join(n.folder(name), "snapshots") {
			t.Errorf("node %s was asked, and the snapshot is %s", name, made)
		}
		n.verifies(name, filepath.Base(made))
		n.recorded("/admin/snapshots/"+filepath.Base(made)+"/verify", 1)
	}
	n.recorded("/admin/snapshots", len(n.names))
}

// TestClusterSnapshotEvery hands over between nodes that make snapshots by themselves, while a browser at another node
// shows the console's figures, for which nobody waits. Node a follows again once it has handed over, and makes the next.
// Its member of etcd has led; that of the next owner becomes the leader before that node says that it is the owner.
func TestClusterSnapshotEvery(t *testing.T) {
	notShort(t)
	t.Parallel()
	n := openNodes(t, "--snapshot-every", "1s", "--log-level", "debug")
	if n.owner() != "a" {
		n.handsOverTo("a")
	}
	live := n.logsIn("b")
	r, err := live.Get("http://" + n.at["b"].operator + "/console/live")
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatal(r, err)
	}
	go func() { _, _ = io.Copy(io.Discard, r.Body) }()
	n.waits("the owner's member of etcd leads", func() (bool, string) { leader := n.leader(); return leader == "a", leader })
	began, before := time.Now(), len(n.proc["c"].words())
	n.handsOverTo("c")
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("a handover beside a browser took %v", took)
	}
	n.waits("node c says that it is the owner", func() (bool, string) {
		words := n.proc["c"].words()[before:]
		return strings.Contains(words, "this node is the owner"), words
	})
	words, _, _ := strings.Cut(n.proc["c"].words()[before:], "this node is the owner")
	if !strings.Contains(words, "became leader at term") {
		t.Errorf("node c's member of etcd was not the leader when the node said that it is the owner: %s", words)
	}
	n.whole()
	earlier := n.proc["a"].reported("snapshot", "list")
	n.waits("another snapshot of node a", func() (bool, string) {
		now := n.proc["a"].reported("snapshot", "list")
		return now != earlier, now
	})
}

// handsOverTo has the owner hand over to a node, and waits until that serves and all others follow.
func (n *nodes) handsOverTo(name string) {
	n.t.Helper()
	n.whole()
	former := n.owner()
	if code, out, errs := n.proc[former].operates("cluster", "handover", "--to", name); code != 0 {
		n.t.Fatalf("a handover of node %s: exit %d\n%s%s", former, code, out, errs)
	}
	if owner := n.owner(former); owner != name {
		n.t.Fatalf("node %s is the owner, not %s", owner, name)
	}
}

// logsIn returns a client that has logged in to the console of a node.
func (n *nodes) logsIn(name string) *http.Client {
	n.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		n.t.Fatal(err)
	}
	c := &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := c.PostForm("http://"+n.at[name].operator+"/console/login", url.Values{"token": {token}})
	if err != nil {
		n.t.Fatalf("node %s: %v", name, err)
	}
	_ = r.Body.Close()
	return c
}

// showsConsole logs in to the console of each node, and reads there what the owner answers itself and what another node
// does.
func (n *nodes) showsConsole() {
	n.t.Helper()
	for _, name := range n.names {
		c := n.logsIn(name)
		for path, text := range map[string]string{"/accounts": "acc_", "/snapshots": ".snap</td>", "": `data-tile="cluster"`} {
			r, err := c.Get("http://" + n.at[name].operator + "/console" + path)
			if err != nil {
				n.t.Fatalf("node %s: %v", name, err)
			}
			got, err := io.ReadAll(r.Body)
			_ = r.Body.Close()
			if err != nil || r.StatusCode != 200 || !strings.Contains(string(got), text) {
				n.t.Errorf("node %s: %s: %d, without %q (%v)\n%s", name, path, r.StatusCode, text, err, got)
			}
		}
	}
}

// verifies asks a node to verify a snapshot, which the node that has made it does, and asks the node what came of it.
func (n *nodes) verifies(name, file string) {
	n.t.Helper()
	p := n.proc[name]
	if status, got, err := p.operate("POST", "/admin/snapshots/"+file+"/verify", ""); status != 202 || err != nil {
		n.t.Fatalf("node %s: %d %s %v", name, status, got, err)
	}
	n.waits("verified", func() (bool, string) {
		_, got, err := p.operate("GET", "/admin/snapshots", "")
		return err == nil && strings.Contains(string(got), `"verifying":null,"verified":{"file":"`+file+`","status":"passed"`), string(got)
	})
}

// knowsOperators checks that an operator's token is good at each node, for what the node answers itself and for what
// it forwards, that the role is kept, and that a snapshot asked of the owner is on record.
func (n *nodes) knowsOperators() {
	n.t.Helper()
	owner := n.owner()
	var o struct{ Token string }
	n.proc[owner].read(&o, "operator", "add", "olga", "--role", "operator")
	file := filepath.Join(n.t.TempDir(), "olga")
	if err := os.WriteFile(file, []byte(o.Token), 0o600); err != nil {
		n.t.Fatal(err)
	}
	n.whole()
	for _, name := range n.names {
		p := n.proc[name]
		if out := p.reported("cluster", "status", "--token-file", file); !strings.Contains(out, owner) {
			n.t.Errorf("node %s: %s", name, out)
		}
		p.reported("account", "list", "--token-file", file)
		for _, args := range [][]string{{"cluster", "handover"}, {"operator", "revoke", "olga"}} {
			code, out, errs := p.operates(append(args, "--token-file", file)...)
			if code != 1 || errs != "pixd: olga is an operator, and this needs an admin (403)\n" {
				n.t.Errorf("node %s: %v: exit %d\n%s%s", name, args, code, out, errs)
			}
		}
	}
	n.proc[owner].reported("snapshot", "create", "--token-file", file)
	if log := n.proc[n.standby()].reported("operator", "log", "--by", "olga"); strings.Count(log, "/admin/snapshots ") != 1 || strings.Count(log, "403") != 2*len(n.names) {
		n.t.Errorf("the record is\n%s", log)
	}
}

// measures checks that the metrics of each node tell its role, its disk, its journal and its snapshots, and that
// only the owner's have those of an engine.
func (n *nodes) measures() {
	n.t.Helper()
	owner, snapshots := n.owner(), 0
	for _, name := range n.names {
		r, err := newRequest(http.MethodGet, "http://"+n.at[name].operator+"/metrics", nil)
		if err != nil {
			n.t.Fatal(err)
		}
		// A connection from before the node was the owner has one answer of a standby more.
		_, got, err := do(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, r)
		if err != nil {
			n.t.Fatal(err)
		}
		text := string(got)
		role := map[bool]string{true: "owner", false: "standby"}[name == owner]
		for _, line := range []string{`pixd_cluster_role{role="` + role + `"} 1`, "pixd_disk_free_bytes ", "pixd_snapshot_newest_seconds ", "pixd_journal_commit_seconds_count ", "process_open_fds "} {
			if !strings.Contains(text, "\n"+line) {
				n.t.Errorf("node %s lacks %s", name, line)
			}
		}
		if is := strings.Contains(text, "\npixd_accounts_in_memory "); is != (name == owner) {
			n.t.Errorf("node %s shows an engine: %v", name, is)
		}
		if strings.Contains(text, "\npixd_journal_sync_seconds_count 0\n") || name == owner && strings.Contains(text, "\npixd_journal_commit_seconds_count 0\n") {
			n.t.Errorf("node %s measures no syncs, or no commits", name)
		}
		if !strings.Contains(text, "\npixd_snapshot_newest_seconds 0\n") {
			snapshots++
		}
	}
	if snapshots != 1 {
		n.t.Errorf("%d nodes show a snapshot, and one made it", snapshots)
	}
}

// handsOver has the owner hand over on command. No request fails.
func (l *traffic) handsOver(clients int) {
	l.t.Helper()
	l.mark()
	owner := l.n.owner()
	l.n.proc[owner].reported("cluster", "handover")
	if l.n.owner() == owner {
		l.t.Errorf("node %s has handed over, and is the owner", owner)
	}
	l.flows(clients)
	l.paused("handed over", l.failures())
}

// endsOwner ends the owner after its clients have gone elsewhere. No request fails.
func (l *traffic) endsOwner(clients int) {
	l.t.Helper()
	owner := l.n.owner()
	var others []string
	for _, name := range l.n.names {
		if name != owner {
			others = append(others, name)
		}
	}
	l.goTo(others...)
	l.flows(clients) // each has had an answer from there
	l.flows(clients)
	l.mark()
	if code := l.n.end(owner, syscall.SIGTERM); code != 0 {
		l.t.Errorf("SIGTERM: exit %d", code)
	}
	l.n.owner()
	l.flows(clients)
	failed := l.failures()
	for what := range failed {
		if strings.HasPrefix(what, owner) {
			delete(failed, what)
		}
	}
	l.paused("ended", failed)
	l.goTo(l.n.names...)
	l.n.start(owner)
	l.flows(clients)
}

// paused judges a handover. How long it may take is generous: the machine may be busy.
func (l *traffic) paused(what string, failed map[string]int) {
	l.t.Helper()
	all := l.pauses()
	l.t.Logf("%s: clients paused for %v", what, brief(all))
	total := 0
	for _, times := range failed {
		total += times
	}
	if total > fewFailed { // a request may meet a connection that its server is closing, as with any server that ends
		l.t.Errorf("%s: requests failed: %v", what, failed)
	}
	if longest := all[len(all)-1]; longest > 8*time.Second {
		l.t.Errorf("%s: a client was not served for %v", what, longest)
	}
}

// fewFailed is how many requests may be lost with connections that are closed in that moment.
const fewFailed = 3

// brief returns the median and the longest of pauses that are in order.
func brief(all []time.Duration) [2]time.Duration {
	if len(all) == 0 {
		return [2]time.Duration{}
	}
	return [2]time.Duration{all[len(all)/2].Round(time.Millisecond), all[len(all)-1].Round(time.Millisecond)}
}
