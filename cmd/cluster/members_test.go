package cluster

import (
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pixd/cmd/engine"
	"pixd/httpapi/admin"
	"pixd/wal/etcdlog"
	"pixd/wal/waltest"
)

// TestJoinUndone adds a node that never starts, such as one at a wrong URL: no other is added until it has left, which it
// does under the address that it was added with, while nobody answers there.
func TestJoinUndone(t *testing.T) {
	t.Parallel()
	s, _ := alone(t, func(c *engine.Config, _ *Flags) { c.DataDir, c.Scheme = t.TempDir(), "http://127.0.0.1:1" })
	right, wrong := waltest.FreePorts(t, 1, 2)[0], waltest.FreePorts(t, 1, 2)[0]
	eventually := func(what string, does func() (admin.ClusterStatus, error)) {
		t.Helper()
		_, err := does()
		for until := time.Now().Add(20 * time.Second); err != nil && time.Now().Before(until); _, err = does() {
			time.Sleep(50 * time.Millisecond) // etcd changes no members in its first seconds
		}
		if err != nil {
			t.Fatal(what, err)
		}
	}
	refused := func(why string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v, expected %q", err, why)
		}
	}
	join := func(name, at string) func() (admin.ClusterStatus, error) {
		return func() (admin.ClusterStatus, error) { return s.Join(name, "http://"+at) }
	}
	eventually("joins", join("d", wrong))
	if _, err := s.Join("d", "http://"+wrong); err != nil {
		t.Error("once more:", err)
	}
	if row := joining(s); row != wrong+" joining http://"+wrong {
		t.Errorf("status: %s", row)
	}
	_, err := s.Join("d", "http://"+right)
	refused("remove it with pixd cluster leave "+wrong, err)
	_, err = s.Leave("d")
	refused(`no node "d"`, err)
	_, err = s.Leave(right)
	refused("no node", err)
	_, err = s.Leave("a")
	refused("node a runs", err)

	starts := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"node":"d"}`)) }))
	_ = starts.Listener.Close()
	starts.Listener = listens(t, wrong)
	starts.Start()
	_, err = s.Leave(wrong)
	refused("node "+wrong+" runs: stop it first", err)
	starts.Close()
	eventually("leaves", func() (admin.ClusterStatus, error) { return s.Leave(wrong) })
	eventually("joins elsewhere", join("d", right))

	dir := t.TempDir()
	member, err := etcdlog.Start(t.Context(), etcdlog.MemberOptions{
		Name: "d", Dir: filepath.Join(dir, "etcd"), Join: true, PeerListen: nextPort(right), Log: slog.New(slog.DiscardHandler),
		Peers: map[string]string{"d": "http://" + nextPort(right), "a": urlOfMember(t, s, "a")},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer member.Close()
	if row := joining(s); row != "d joining http://"+right {
		t.Errorf("status once it has started: %s", row)
	}
	eventually("leaves before it has written its state", func() (admin.ClusterStatus, error) { return s.Leave("d") })
	select {
	case <-member.Done():
	case <-time.After(20 * time.Second):
		t.Error("it is a member still")
	}
}

// TestJoinRefused checks that a node is not added under a name or at a URL with which it could never start, and that the answer
// does not say that it was added where it was not, nor the other way round where that is not known.
func TestJoinRefused(t *testing.T) {
	t.Parallel()
	s, port := alone(t, func(c *engine.Config, _ *Flags) { c.DataDir, c.Scheme = t.TempDir(), "http://127.0.0.1:1" })
	for _, c := range []struct{ name, url, why string }{
		{"d", "http://" + port, "node d was not added: etcdlog: add member d at http://" + nextPort(port) + ": member a is there"},
		{"d", "http://127.0.0.1:65535", "a port from 1 to 65534"},
		{"d", "http://127.0.0.1:0", "a port from 1 to 65534"},
		{"d", "http://127.0.0.1:70000", "a port from 1 to 65534"},
		{"d", "https://127.0.0.1:5000", "https:// goes with --cluster-cert"},
		{"d=http://127.0.0.1:9,e", "http://127.0.0.1:5000", "node and url: NAME and"},
		{"d", "http://127.0.0.1:9,e=http://127.0.0.1:5000", "node and url: NAME and"},
		{"D", "http://127.0.0.1:5000", "node and url: NAME and"},
	} {
		if _, err := s.Join(c.name, c.url); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s at %s: %v", c.name, c.url, err)
		}
	}
	if all := s.member.Known(); len(all) != 1 {
		t.Errorf("the members are %v", all)
	}
	secure := &Served{clientTLS: &tls.Config{MinVersion: tls.VersionTLS12}}
	if err := secure.mayJoin("d", "http://127.0.0.1:5000"); err == nil {
		t.Error("a node without TLS would be added to nodes with it")
	}
	if err := secure.mayJoin("d", "https://127.0.0.1:5000"); err != nil {
		t.Error(err)
	}
	if err := notAdded("d", etcdlog.ErrMayBeAdded); strings.Contains(err.Error(), "was not added") {
		t.Error(err)
	}
}

// joining are the nodes that a node's status shows as joining, and where they are.
func joining(s *Served) string {
	var all []string
	for _, n := range s.Status().Nodes {
		if n.Role == roleJoining {
			all = append(all, n.Node+" joining "+n.URL)
		}
	}
	return strings.Join(all, ", ")
}

// TestRemovedWhileAway checks that a node whose member was removed, as one that could not be reached, ends and says why.
func TestRemovedWhileAway(t *testing.T) {
	t.Parallel()
	a, at := alone(t, func(c *engine.Config, _ *Flags) { c.DataDir, c.Scheme = t.TempDir(), "http://127.0.0.1:1" })
	port := waltest.FreePorts(t, 1, 2)[0]
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if _, err := a.Join("b", "http://"+port); err == nil {
			break
		} else if time.Now().After(until) {
			t.Fatal(err)
		}
	}
	b, _ := alone(t, func(c *engine.Config, f *Flags) {
		c.DataDir, c.Scheme = t.TempDir(), "http://127.0.0.1:1"
		f.Node, f.Listen, f.Peers = "b", port, "a=http://"+at+",b=http://"+port
	})
	if _, err := a.Leave("b"); err == nil {
		t.Error("a node that runs has left")
	}
	countsForwarded(t, b)
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if err := a.member.RemoveMember(t.Context(), etcdlog.Peer{Name: "b"}); err == nil {
			break
		} else if time.Now().After(until) {
			t.Fatal(err)
		}
	}
	select {
	case err := <-b.Failed():
		if !strings.Contains(err.Error(), "node b is no member of the cluster any more") {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it goes on")
	}
	time.Sleep(200 * time.Millisecond) // it looks at the other nodes all the while, beside the end of its etcd
	b.stop()
	select {
	case <-b.over:
	case <-time.After(20 * time.Second):
		t.Fatal("it never ends")
	}
}

// countsForwarded sends a merchant's request and an operator's to a node that is not the owner, and looks for them in its
// figures.
func countsForwarded(t *testing.T, b *Served) {
	t.Helper()
	get := func(at, token string) (status int, body string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text)
	}
	merchant, operator := b.MerchantAddr.String()+"/api/external/account", b.AdminAddr.String()+"/admin/accounts"
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		status, _ := get(merchant, "")
		if status == http.StatusUnauthorized {
			break
		}
		if time.Now().After(until) {
			t.Fatal("no owner answers:", status)
		}
	}
	if status, body := get(operator, "Bearer token"); status != http.StatusOK {
		t.Error(status, body)
	}
	if _, body := get(b.AdminAddr.String()+"/metrics", ""); !strings.Contains(body, "\npixd_cluster_forwarded_total 2\n") {
		t.Error(body)
	}
}

// urlOfMember returns where a member of etcd is.
func urlOfMember(t *testing.T, s *Served, name string) string {
	t.Helper()
	all, err := s.member.Members(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.Name == name {
			return p.URL
		}
	}
	t.Fatalf("no member %s of %v", name, all)
	return ""
}

func listens(t *testing.T, at string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
