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
	s := &Served{forward: f, operate: f, meters: newMeters(), ends: make(chan error, 8), config: engine.Config{
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
// journal to begin anew, as it does when it has handed the log over.
func TestTokenWhileBeginningAnew(t *testing.T) {
	closed, open := aNode(t, waltest.NewTape(), "b", t.TempDir()), aNode(t, waltest.NewTape(), "b", t.TempDir())
	if err := closed.store.Close(); err != nil {
		t.Fatal(err)
	}
	s := &Served{config: engine.Config{Log: slog.New(slog.DiscardHandler)}, elapsed: closed.elapsed}
	s.node.Store(closed)
	read := make(chan struct{})
	go func() {
		defer close(read)
		s.tokens().Named("token")
	}()
	select {
	case <-read:
		t.Error("it was refused while the journal was closed")
	case <-time.After(2 * lookEvery):
	}
	if tokens := s.tokens(); !tokens.Unread() {
		t.Error("who has a token is known, and it cannot be read")
	}
	s.node.Store(open)
	if tokens := s.tokens(); tokens.Unread() {
		t.Error("the journal is open, and nobody knows who has a token")
	}
	select {
	case <-read:
	case <-time.After(2 * time.Second):
		t.Error("it waits although the journal is open")
	}
}

// TestMovedCutsOperators checks that an operator's request to an owner that is frozen ends once there is another, and
// one about snapshots to a maker that is.
func TestMovedCutsOperators(t *testing.T) {
	over := make(chan struct{})
	arrived := make(chan struct{}, 2)
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
	s := &Served{forward: to(), operate: to(), toMaker: to(), flags: Flags{SnapshotOn: OnOwner}}
	ended := make(chan struct{}, 2)
	for _, f := range []*forward.Forwarder{s.operate, s.toMaker} {
		go func() {
			handles(f.Handler(forward.Operator))
			ended <- struct{}{}
		}()
	}
	for range 2 {
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
	for range 2 {
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
