package cluster

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"

	"pixd/cmd/engine"
	"pixd/cmd/machine"
	"pixd/httpapi"
)

// greet accepts connections and sends a word on each, until its listener has lost the port.
func greet(l net.Listener, word string) <-chan error {
	ended := make(chan error, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				ended <- err
				return
			}
			_, _ = io.WriteString(c, word)
			_ = c.Close()
		}
	}()
	return ended
}

func heard(t *testing.T, address string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestRelay checks that new connections go to whoever has the port last, that whoever has lost it is
// told, and that nothing is accepted once it is closed.
func TestRelay(t *testing.T) {
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := newRelay(port)
	over := make(chan error, 1)
	first := greet(r.next(), "first")
	go func() { over <- r.run() }()
	address := port.Addr().String()
	if got := heard(t, address); got != "first" {
		t.Errorf("heard %q", got)
	}
	second := greet(r.next(), "second")
	if err := <-first; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	for range 50 {
		if got := heard(t, address); got != "second" {
			t.Fatalf("heard %q", got)
		}
	}
	third := r.next()
	if err := errors.Join(third.Close(), <-second); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	if got := heard(t, address); got != "" {
		t.Errorf("nobody has the port, and %q was heard", got)
	}
	if err := port.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-over; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// TestEdgeClosed checks that a node which ends tells the clients on all connections that it has accepted, also on
// those from before it was the owner.
func TestEdgeClosed(t *testing.T) {
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	e := &edge{
		relay: newRelay(port), limits: httpapi.ConnectionOptions{Total: 8, PerIP: 8, Log: log},
		server: httpapi.NewServer(func(*fasthttp.RequestCtx) {}, httpapi.ServerOptions{NewRequestID: machine.RequestID, Log: log}),
	}
	go func() { _ = e.relay.run() }()
	var open []net.Conn
	for range 3 {
		e.serve()
		c, err := net.Dial("tcp", port.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if a, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || a.StatusCode != 200 {
			t.Fatal(a, err)
		}
		open = append(open, c)
		e.give() // to an engine
	}
	if err := e.close(); err != nil {
		t.Fatal(err)
	}
	for i, c := range open {
		_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("connection %d: %v", i, err)
		}
	}
}

// TestUntilOwner checks that a node which has become the owner ends the connections from before, and no others: neither
// a standby's, nor those that come while it hands over.
func TestUntilOwner(t *testing.T) {
	s := &Served{}
	handle := s.untilOwner(func(*fasthttp.RequestCtx) {})
	for _, n := range []*node{nil, {role: roleStandby}, {role: roleOwner}} {
		s.node.Store(n)
		s.engine.Store(&engine.Served{})
		var ctx fasthttp.RequestCtx
		handle(&ctx)
		owner := n != nil && n.role == roleOwner
		if got := ctx.Response.ConnectionClose(); got != owner {
			t.Errorf("owner %v: the connection is closed %v", owner, got)
		}
	}
}

// TestCounted checks what of a forwarded request is in hand once its handler has returned: nothing where a long answer
// only has to be sent, for which no other request waits at a handover; and all where its work goes on meanwhile.
func TestCounted(t *testing.T) {
	for _, works := range []bool{false, true} {
		s := &Served{}
		done := make(chan struct{})
		handle := s.counted(func(ctx *fasthttp.RequestCtx) {
			httpapi.Stream(ctx, "text/plain", httpapi.Streamed{Write: func(io.Writer) error { <-done; return nil }, Done: func(error) {}, Works: works})
		})
		returned := make(chan struct{}, 1)
		server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			s.inHand.Add(1)
			handle(ctx)
			returned <- struct{}{}
		}}
		l := fasthttputil.NewInmemoryListener()
		go func() { _ = server.Serve(l) }()
		defer func() { _ = l.Close() }()
		c, err := l.Dial()
		if err == nil {
			_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		}
		if err != nil {
			t.Fatal(err)
		}
		<-returned
		inHand, sent := int64(0), int64(1)
		if works {
			inHand, sent = 1, 0
		}
		if s.inHand.Load() != inHand || s.sent.Load() != sent {
			t.Errorf("its work goes on: %v: %d in hand and %d being sent", works, s.inHand.Load(), s.sent.Load())
		}
		close(done)
		for until := time.Now().Add(5 * time.Second); s.inHand.Load() != 0 || s.sent.Load() != 0; time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				t.Fatalf("its work goes on: %v: %d in hand and %d being sent in the end", works, s.inHand.Load(), s.sent.Load())
			}
		}
	}
}
