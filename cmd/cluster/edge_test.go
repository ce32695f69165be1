package cluster

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/cmd/engine"
	"pixd/cmd/forward"
	"pixd/wal"
	"pixd/wal/waltest"
)

// TestTrustedProxies checks whose ids of requests a node takes over, and whose connections it does not count by
// their address: a trusted proxy's, at the merchants' port alone.
func TestTrustedProxies(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	f := forward.New(forward.Options{Owner: func() (string, string, bool) { return "", "", false }, Patience: 1, Log: log})
	s := &Served{forward: f, notices: f, operate: f, meters: newMeters(), ends: make(chan error, 8), config: engine.Config{
		Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0", SchemeListen: "127.0.0.1:0",
		ConnectionsPerIP: 1, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}, Log: log,
	}}
	if err := s.openEdges(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, e := range s.edges {
			if err := e.close(); err != nil {
				t.Error(err)
			}
		}
		s.work.Wait()
	})
	for _, c := range []struct {
		from  string
		to    net.Addr
		taken bool // the id
		two   bool // connections may be open at once
	}{
		{"127.0.0.2", s.MerchantAddr, true, true},
		{"127.0.0.3", s.MerchantAddr, false, false},
		{"127.0.0.2", s.AdminAddr, false, true},
		{"127.0.0.2", s.SchemeAddr, false, true},
	} {
		for second := range 2 {
			status, id := asks(t, c.from, c.to.String())
			if turned := second == 1 && !c.two; (status == http.StatusTooManyRequests) != turned || !turned && (id == "theirs") != c.taken {
				t.Errorf("connection %d from %s to %v: %d, id %q", second+1, c.from, c.to, status, id)
			}
		}
	}
}

// asks sends a request with an id, and returns the answer's status and id. The connection stays open.
func asks(t *testing.T, from, to string) (status int, id string) {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := strings.NewReader("GET /none HTTP/1.1\r\nHost: x\r\nX-Request-Id: theirs\r\n\r\n").WriteTo(c); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode, answer.Header.Get("X-Request-Id")
}

// TestTokenWhileBeginningAnew checks that a token of an operator with a name is not refused because the node has closed its
// journal to begin anew, as it does when it has handed the log over; and that nobody is told that a token is wrong while
// the node has no journal.
func TestTokenWhileBeginningAnew(t *testing.T) {
	dir := t.TempDir()
	n := aNode(t, waltest.NewTape(), "b", dir)
	ana(t, n)
	s := &Served{elapsed: n.elapsed}
	named := s.tokens().Named
	if o, err := named("token"); o != nil || err == nil {
		t.Error("a node that starts says who has a token:", o, err)
	}
	s.node.Store(n)
	if o, err := named("token"); o != nil || err == nil {
		t.Error("a node that joins says who has a token:", o, err)
	}
	n.become(roleStandby)
	read := make(chan *registry.Operator, 1)
	go func() {
		o, err := named("token")
		if err != nil {
			t.Error(err)
		}
		read <- o
	}()
	select {
	case <-read:
		t.Error("it was answered while the journal was closed")
	case <-time.After(2 * lookEvery):
	}
	again := &node{store: aStore(t, dir, true), role: roleStandby}
	s.node.Store(again)
	select {
	case o := <-read:
		if o == nil || o.Name != "ana" {
			t.Error("the token is", o)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("it waits although the journal is open")
	}
	if o, err := named("another"); o != nil || err != nil {
		t.Error("another token is", o, err)
	}
}

// ana makes an operator in a node's journal, and closes that.
func ana(t *testing.T, n *node) {
	t.Helper()
	_, err := n.log.Found(t.Context(), wal.Cluster{ID: "c"})
	after, batch, errs := n.store.OwnBatch(wal.Owner{Name: n.name, Run: n.self.Run})
	if err = errors.Join(err, errs, n.log.Append(t.Context(), logNumber, after, batch), n.store.Apply(after+1, batch)); err == nil {
		err = n.store.Lead(wal.Lead{Log: n.log, Certain: func() bool { return true }})
	}
	if err != nil {
		t.Fatal(err)
	}
	all, err := registry.OpenOperators(n.store, func() pix.Millis { return 1 }, 0)
	if err == nil {
		_, err = all.Add("ana", registry.Admin, "token")
	}
	if err := errors.Join(err, n.store.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestMovedCutsOperators checks that an operator's request and a notice to an owner that is frozen end once there is another,
// and a request about snapshots to a maker that is.
func TestMovedCutsOperators(t *testing.T) {
	over := make(chan struct{})
	arrived := make(chan struct{}, 3)
	frozen := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		arrived <- struct{}{}
		<-over
	}))
	defer frozen.Close()
	defer close(over)
	to := func() *forward.Forwarder {
		return forward.New(forward.Options{Owner: func() (string, string, bool) { return "a", frozen.URL, true }, Log: slog.New(slog.DiscardHandler)})
	}
	s := &Served{forward: to(), notices: to(), operate: to(), toMaker: to(), flags: Flags{SnapshotOn: OnOwner}}
	ended := make(chan struct{}, 3)
	for _, f := range []*forward.Forwarder{s.operate, s.toMaker, s.notices} {
		go func() {
			handles(f.Handler(forward.Operator))
			ended <- struct{}{}
		}()
	}
	for range 3 {
		<-arrived
	}
	n := aNode(t, waltest.NewTape(), "c", t.TempDir())
	n.elapsed = func() time.Duration { return time.Hour }
	n.seen = seenNodes{"b": {since: time.Hour, state: state{Run: "b1", URL: "http://127.0.0.1:1"}}}
	at, batch, err := n.store.OwnBatch(wal.Owner{Name: "b", Run: "b1"})
	if err := errors.Join(err, n.store.Apply(at+1, batch)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go s.watch(ctx, n)
	for range 3 {
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Fatal("a request still waits")
		}
	}
}

// handles has a handler handle a request of an operator, and returns once it has.
func handles(h fasthttp.RequestHandler) {
	here, there := net.Pipe()
	go func() {
		_, _ = io.WriteString(there, "GET /admin/accounts HTTP/1.1\r\nHost: a\r\n\r\n")
		_, _ = io.Copy(io.Discard, there)
	}()
	server := fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.SetRemoteAddr(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1})
		ctx.SetConnectionClose()
		h(ctx)
	}}
	_ = server.ServeConn(here)
}
