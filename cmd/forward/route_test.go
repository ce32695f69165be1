package forward

import (
	"bufio"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/httpapi"
)

// counting counts the requests that a handler gets.
func counting(n *atomic.Int64, next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		n.Add(1)
		next(ctx)
	}
}

// TestRoutedAgain checks that a request which a node sent back, or which never reached one, is
// answered once by the owner that is named then.
func TestRoutedAgain(t *testing.T) {
	t.Parallel()
	var wrong, right atomic.Int64
	first, second := newOwner(t, "", nil, counting(&wrong, echo)), newOwner(t, "", nil, counting(&right, echo))
	first.is.Store(false)
	var asked atomic.Int64
	n := newNode(t, Options{Owner: func() (string, string, bool) {
		switch asked.Add(1) {
		case 1, 2, 3:
			return "first", "http://" + first.address, true
		case 4:
			return "", "", false
		case 5:
			return "gone", "http://127.0.0.1:1", true
		}
		return "second", "http://" + second.address, true
	}})
	for _, request := range []string{"POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc", "HEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"} {
		asked.Store(0)
		right.Store(0)
		got, closed := say(t, n.address, request)
		if !strings.HasPrefix(got, "HTTP/1.1 200 OK\r\n") || !closed || strings.Contains(got, headerNotOwner) {
			t.Errorf("answered %q", got)
		}
		if wrong.Load() != 0 || right.Load() != 1 {
			t.Errorf("the handlers ran %d and %d times", wrong.Load(), right.Load())
		}
	}
	if n.sent.Load() != 2 {
		t.Errorf("%d requests were counted as forwarded", n.sent.Load())
	}
}

// TestNoOwner checks that a request with which nothing was done is refused when its patience is over.
func TestNoOwner(t *testing.T) {
	t.Parallel()
	aside := newOwner(t, "", nil, echo)
	aside.is.Store(false)
	for name, o := range map[string]Owner{
		"unknown": func() (string, string, bool) { return "", "", false },
		"refused": func() (string, string, bool) { return "gone", "http://127.0.0.1:1", true },
		"aside":   aside.at("http"),
		"no URL":  func() (string, string, bool) { return "odd", "127.0.0.1:1", true },
		"no TLS":  aside.at("https"),
	} {
		n := newNode(t, Options{Owner: o, Patience: 300 * time.Millisecond})
		at := time.Now()
		a, _ := ask(t, n.address, "/")
		if took := time.Since(at); took < 200*time.Millisecond || took > 2*time.Second {
			t.Errorf("%s: answered after %v", name, took)
		}
		if a.StatusCode != 503 || a.Header.Get("Retry-After") != "1" || a.Header.Get(headerNotOwner) != "" {
			t.Errorf("%s: answered %d, %v", name, a.StatusCode, a.Header)
		}
		if n.sent.Load() != 0 {
			t.Errorf("%s: counted as forwarded", name)
		}
	}
}

// TestOver checks that a node which ends refuses a request at once: its client may go to another node.
func TestOver(t *testing.T) {
	t.Parallel()
	n := newNode(t, Options{Owner: newOwner(t, "", nil, echo).at("http"), Patience: time.Minute})
	n.Forwarder.Close()
	at := time.Now()
	if a, _ := ask(t, n.address, "/"); a.StatusCode != 503 || time.Since(at) > 10*time.Second {
		t.Errorf("answered %d after %v", a.StatusCode, time.Since(at))
	}
}

// TestCut checks that a client is cut without a byte where its request was sent and the whole answer
// did not come, and that the request is not sent again, whatever its method is.
func TestCut(t *testing.T) {
	t.Parallel()
	whole := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	for name, end := range map[string]string{
		"no answer": "", "half a head": "HTTP/1.1 200 OK\r\nContent-Le", "half a body": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
		"no length": "HTTP/1.1 200 OK\r\n\r\nsome", "only interim": "HTTP/1.1 100 Continue\r\n\r\n", "garbage": "\x16\x03\x01\r\n\r\n",
	} {
		var warm atomic.Bool
		p := play(t, func(c net.Conn, in *bufio.Reader) bool {
			if warm.CompareAndSwap(false, true) {
				_, _ = io.WriteString(c, whole)
				return true
			}
			_, _ = io.WriteString(c, end)
			return false
		})
		n := newNode(t, Options{Owner: p.at})
		if a, _ := ask(t, n.address, "/"); a.StatusCode != 200 { // the next request is on the same connection
			t.Fatalf("%s: the first request was answered %d", name, a.StatusCode)
		}
		got, closed := say(t, n.address, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		if got != "" || !closed {
			t.Errorf("%s: the client got %q, closed %v", name, got, closed)
		}
		if p.heads.Load() != 2 || n.sent.Load() != 2 {
			t.Errorf("%s: %d requests were sent, %d counted", name, p.heads.Load(), n.sent.Load())
		}
	}
}

// TestCutByHandler checks the same with a handler that does not know the outcome.
func TestCutByHandler(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	o := newOwner(t, "", nil, counting(&ran, httpapi.Cut))
	n := newNode(t, Options{Owner: o.at("http")})
	got, closed := say(t, n.address, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc")
	if got != "" || !closed || ran.Load() != 1 {
		t.Errorf("the client got %q, closed %v; the handler ran %d times", got, closed, ran.Load())
	}
}

// TestCutMidway checks that a client whose body was sent in part is cut.
func TestCutMidway(t *testing.T) {
	t.Parallel()
	p := play(t, func(_ net.Conn, in *bufio.Reader) bool {
		_, _ = in.Discard(1000)
		return false
	})
	n := newNode(t, Options{Owner: p.at})
	got, closed := say(t, n.address, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 7000000\r\n\r\n"+strings.Repeat("0123456", 1_000_000))
	if got != "" || !closed || p.heads.Load() != 1 {
		t.Errorf("the client got %q, closed %v; the request was sent %d times", got, closed, p.heads.Load())
	}
}

// TestAnsweredMidway checks that the answer of an owner that did not read the whole body is passed on.
func TestAnsweredMidway(t *testing.T) {
	t.Parallel()
	p := play(t, func(c net.Conn, in *bufio.Reader) bool {
		_, _ = io.WriteString(c, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
		_, _ = io.CopyN(io.Discard, in, 1<<20)
		return false // the rest of the body is not read, so that writing it fails
	})
	n := newNode(t, Options{Owner: p.at})
	got, _ := say(t, n.address, "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 7000000\r\n\r\n"+strings.Repeat("0123456", 1_000_000))
	if !strings.HasPrefix(got, "HTTP/1.1 503 ") || !strings.HasSuffix(got, "\r\n\r\nno") {
		t.Errorf("the client got %q", got)
	}
}

// TestOwnerRestarted checks that the request after a restart of the owner is answered, though the
// connections of the requests before are dead.
func TestOwnerRestarted(t *testing.T) {
	t.Parallel()
	o := newOwner(t, "", nil, echo)
	n := newNode(t, Options{Owner: o.at("http")})
	for range 20 {
		if a, _ := ask(t, n.address, "/"); a.StatusCode != 200 {
			t.Fatalf("answered %d", a.StatusCode)
		}
		address := o.address
		_ = o.Connections.Close()
		o.stop()
		o.listening = newOwner(t, address, nil, echo).listening
	}
}

// TestOwnerSilent checks that no request is sent on an idle connection that is dead, though nothing
// was ever received that says so.
func TestOwnerSilent(t *testing.T) {
	t.Parallel()
	var first atomic.Bool
	silent := make(chan struct{})
	defer close(silent)
	p := play(t, func(c net.Conn, _ *bufio.Reader) bool {
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		if first.CompareAndSwap(false, true) {
			<-silent
		}
		return true
	})
	n := newNode(t, Options{Owner: p.at})
	for range 2 {
		if a, body := ask(t, n.address, "/"); a.StatusCode != 200 || body != "ok" {
			t.Errorf("answered %d, %q", a.StatusCode, body)
		}
		time.Sleep(greetAfter + 20*time.Millisecond)
	}
}

// failing is a connection whose writes fail after some bytes.
type failing struct {
	net.Conn
	bytes int
}

func (f failing) Write(b []byte) (int, error) {
	n, _ := f.Conn.Write(b[:f.bytes])
	return n, io.ErrClosedPipe
}

// TestWriteFails checks that a request of which no byte was written is routed again, and that a
// request of which one was is not.
func TestWriteFails(t *testing.T) {
	t.Parallel()
	for bytes, want := range []string{"HTTP/1.1 200 OK", ""} {
		var ran atomic.Int64
		o := newOwner(t, "", nil, counting(&ran, echo))
		n := newNode(t, Options{Owner: o.at("http")})
		if a, _ := ask(t, n.address, "/"); a.StatusCode != 200 {
			t.Fatalf("answered %d", a.StatusCode)
		}
		l := n.Forwarder.owner.pop()
		l.Conn = counted{failing{l.under, bytes}, l}
		n.Forwarder.owner.idle = append(n.Forwarder.owner.idle, l)
		got, _ := say(t, n.address, last)
		if line, _, _ := strings.Cut(got, "\r\n"); line != want {
			t.Errorf("after %d bytes: the client got %q", bytes, got)
		}
		if int(ran.Load()) != 2-bytes {
			t.Errorf("after %d bytes: the handler ran %d times", bytes, ran.Load())
		}
	}
}
