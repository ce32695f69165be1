package webhook

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// listener is a receiver that speaks to each connection by itself.
type listener struct {
	url      string
	port     string
	accepted atomic.Int32
}

// listening starts a receiver. It gives each connection to serve after it has read one
// request, and closes the connection after that.
func listening(t *testing.T, serve func(*net.TCPConn)) *listener {
	t.Helper()
	return accepting(t, func(c *net.TCPConn) {
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err == nil {
			_, _ = io.Copy(io.Discard, r.Body)
			serve(c)
		}
	})
}

// accepting starts a receiver that gives each connection to serve, and then closes it.
func accepting(t *testing.T, serve func(*net.TCPConn)) *listener {
	t.Helper()
	on, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = on.Close() })
	_, port, _ := net.SplitHostPort(on.Addr().String())
	l := &listener{url: "http://" + on.Addr().String() + "/hook", port: port}
	go func() {
		for {
			c, err := on.Accept()
			if err != nil {
				return
			}
			l.accepted.Add(1)
			go func() {
				defer func() { _ = c.Close() }()
				serve(c.(*net.TCPConn))
			}()
		}
	}()
	return l
}

// says returns a receiver's part that writes s and then waits until the sender closes.
func says(s string) func(*net.TCPConn) {
	return func(c *net.TCPConn) {
		_, _ = io.WriteString(c, s)
		_, _ = io.Copy(io.Discard, c)
	}
}

// trickles returns a receiver's part that writes head and then one byte every millisecond.
func trickles(head string) func(*net.TCPConn) {
	return func(c *net.TCPConn) {
		for _, err := io.WriteString(c, head); err == nil; _, err = io.WriteString(c, "x") {
			time.Sleep(time.Millisecond)
		}
	}
}

const (
	noHead    = "timeout before the head of an answer was complete"
	wasClosed = "the connection was closed before the head of an answer was complete"
)

// TestFaults checks what becomes of an attempt at receivers that break HTTP or never end. The
// status counts if the head was complete. Each attempt uses one connection, and sends its
// request once.
func TestFaults(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, c := range map[string]struct {
		serve func(*net.TCPConn)
		want  Answer
		ends  bool // the attempt ends before its time limit
	}{
		"closes":               {func(*net.TCPConn) {}, Answer{Err: wasClosed}, true},
		"resets":               {func(c *net.TCPConn) { _ = c.SetLinger(0) }, Answer{Err: "connection reset by peer"}, true},
		"stalls":               {says(""), Answer{Err: noHead}, false},
		"stalls in the head":   {says(ok + "Content-Le"), Answer{Err: noHead}, false},
		"closes in the head":   {func(c *net.TCPConn) { _, _ = io.WriteString(c, ok+"Content-Le") }, Answer{Err: "malformed MIME header: missing colon"}, true},
		"trickles a head":      {trickles(ok + "A: "), Answer{Err: noHead}, false},
		"stalls in the body":   {says(ok + "Content-Length: 9\r\n\r\nabc"), Answer{Status: 200}, false},
		"stalls in a failure":  {says("HTTP/1.1 503 x\r\nRetry-After: 3\r\n\r\nabc"), Answer{Status: 503, RetryAfter: 3 * time.Second}, false},
		"trickles a body":      {trickles(ok + "\r\n"), Answer{Status: 200}, false},
		"closes in the body":   {func(c *net.TCPConn) { _, _ = io.WriteString(c, ok+"Content-Length: 9\r\n\r\nabc") }, Answer{Status: 200}, true},
		"malformed chunks":     {says(ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\n"), Answer{Status: 200}, true},
		"garbage without gap":  {says("\x00hunter2\xff\r\n\r\n"), Answer{Err: "malformed HTTP response"}, true},
		"garbage":              {says("hunter2 \x00\xff\r\n\r\n"), Answer{Err: "malformed HTTP status code"}, true},
		"a long line":          {says(strings.Repeat("x", 1<<20)), Answer{Err: "net/http: server response headers exceeded 65536 bytes; aborted"}, true},
		"HTTP/2":               {says("HTTP/2 200 OK\r\n\r\n"), Answer{Err: "malformed HTTP version"}, true},
		"status 000":           {says("HTTP/1.1 000 x\r\nContent-Length: 0\r\n\r\n"), Answer{Err: "malformed HTTP status"}, true},
		"status 099":           {says("HTTP/1.1 099 x\r\nContent-Length: 0\r\n\r\n"), Answer{Err: "malformed HTTP status"}, true},
		"status -1":            {says("HTTP/1.1 -20 x\r\nContent-Length: 0\r\n\r\n"), Answer{Err: "malformed HTTP status code"}, true},
		"two lengths":          {says(ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"), Answer{Err: "http: message cannot contain multiple Content-Length headers; got"}, true},
		"a large head":         {says(ok + "A: " + strings.Repeat("x", maxHead) + "\r\n\r\n"), Answer{Err: "net/http: server response headers exceeded 65536 bytes; aborted"}, true},
		"a head just in size":  {says(ok + "Content-Length: 0\r\nA: " + strings.Repeat("x", maxHead-200) + "\r\n\r\n"), Answer{Status: 200}, true},
		"endless 1xx":          {says(strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 10_000)), Answer{Err: "net/http: server response headers exceeded 65536 bytes; aborted"}, true},
		"1xx first":            {says("HTTP/1.1 100 x\r\n\r\nHTTP/1.1 103 x\r\nRetry-After: 9\r\n\r\nHTTP/1.1 429 x\r\nContent-Length: 0\r\n\r\n"), Answer{Status: 429}, true},
		"1xx alone":            {says("HTTP/1.1 102 Processing\r\n\r\n"), Answer{Err: noHead}, false},
		"other protocol":       {says("HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: x\r\nRetry-After: 2\r\n\r\n"), Answer{Status: 101, RetryAfter: 2 * time.Second}, true},
		"HTTP/1.0":             {func(c *net.TCPConn) { _, _ = io.WriteString(c, "HTTP/1.0 202 x\r\n\r\nbody") }, Answer{Status: 202}, true},
		"compressed":           {says(ok + "Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc"), Answer{Status: 200}, true},
		"a body of 10 MiB":     {says(ok + "\r\n" + strings.Repeat("x", 10<<20)), Answer{Status: 200}, true},
		"a body with a length": {says(ok + "Content-Length: 10485760\r\n\r\n" + strings.Repeat("x", 10<<20)), Answer{Status: 200}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := listening(t, c.serve)
			limit := short
			if c.ends {
				limit = long
			}
			began := time.Now()
			got := sending(t, limit).Post(t.Context(), event(l.url))
			took := time.Since(began)
			if got != c.want || l.accepted.Load() != 1 {
				t.Errorf("%+v over %d connections, want %+v", got, l.accepted.Load(), c.want)
			}
			if c.ends && took > long/4 || !c.ends && (took < short || took > 20*short) {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// TestConnectionFaults checks what becomes of an attempt that gets no connection, or one that
// the receiver does not read from.
func TestConnectionFaults(t *testing.T) {
	p := event(accepting(t, func(c *net.TCPConn) {
		_ = c.SetReadBuffer(4 << 10)
		time.Sleep(40 * short)
	}).url)
	p.Body = bytes.Repeat([]byte("x"), 8<<20) // more than the buffers of a connection hold
	if a := sending(t, 20*short).Post(t.Context(), p); a != (Answer{Err: noHead}) {
		t.Error("unread:", a)
	}
	p = event(accepting(t, says("")).url)
	p.URL = strings.Replace(p.URL, "http:", "https:", 1)
	if a := sending(t, short).Post(t.Context(), p); a != (Answer{Err: "timeout before there was a connection"}) {
		t.Error("a stalled handshake:", a)
	}
	if a := sending(t, long).Post(t.Context(), event("http://127.0.0.1:1/")); a != (Answer{Err: "connection refused"}) {
		t.Error("a closed port:", a)
	}
	for name, c := range map[string]struct {
		resolve func(context.Context, string) ([]netip.Addr, error)
		want    string
	}{
		"an error": {func(context.Context, string) ([]netip.Addr, error) {
			return nil, &net.DNSError{Err: "hunter2", Server: "10.0.0.2:53"}
		}, errRefused.Error()},
		"nothing": {resolving(), errRefused.Error()},
		"never": {func(ctx context.Context, _ string) ([]netip.Addr, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, "timeout before there was a connection"},
		"a panic": {func(context.Context, string) ([]netip.Addr, error) { panic("hunter2") }, "internal error (string)"},
	} {
		s := NewSender(NewTargets(true, c.resolve), short)
		if a := s.Post(t.Context(), event("http://merchant.example/")); a != (Answer{Err: c.want}) {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if a := (*Sender)(nil).Post(t.Context(), event("http://merchant.example/")); a.Err != "internal error (runtime.errorString)" && a.Err != "internal error (runtime.errorAddressString)" {
		t.Error("a panic in Post:", a)
	}
}

// TestBodyLimit checks how much of an endless body the sender takes from the connection: not
// much more than 64 KiB and what buffers on the way hold.
func TestBodyLimit(t *testing.T) {
	written := make(chan int, 1)
	l := listening(t, func(c *net.TCPConn) {
		_ = c.SetWriteBuffer(4 << 10)
		n, _ := io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n"+strings.Repeat("x", 64<<20))
		written <- n
	})
	if a := sending(t, long).Post(t.Context(), event(l.url)); a.Status != 200 {
		t.Error(a)
	}
	if n := <-written; n > 16<<20 {
		t.Errorf("%d bytes were taken", n)
	}
}

// TestRebinding checks that a name which resolves to a public address when it is checked, and
// to this machine when it is called, is not called: over https, with every rule in force.
func TestRebinding(t *testing.T) {
	l := accepting(t, func(*net.TCPConn) {})
	for _, later := range [][]string{{"127.0.0.1"}, {"::ffff:127.0.0.1"}, {"10.255.255.1", "127.0.0.1"}, {"169.254.169.254"}} {
		lookups := 0
		targets := NewTargets(false, func(ctx context.Context, host string) ([]netip.Addr, error) {
			if lookups++; lookups == 1 {
				return resolving(public4)(ctx, host)
			}
			return resolving(later...)(ctx, host)
		})
		s := NewSender(targets, long)
		url := "https://merchant.example:" + l.port + "/hook"
		if err := targets.Check(t.Context(), 1, url); err != nil {
			t.Error(err)
		}
		if a := s.Post(t.Context(), event(url)); a != (Answer{Err: errRefused.Error()}) || lookups != 2 {
			t.Errorf("%v: %+v after %d lookups", later, a, lookups)
		}
	}
	s := NewSender(NewTargets(false, nil), long) // the system's resolver
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254"} {
		if a := s.Post(t.Context(), event("https://"+host+":"+l.port)); a != (Answer{Err: errRefused.Error()}) {
			t.Errorf("%s: %+v", host, a)
		}
	}
	if n := l.accepted.Load(); n > 0 {
		t.Errorf("%d connections came", n)
	}
}

// TestNextAddress checks that the next address is called if the first cannot be reached, and
// that the error is the first one's if none can.
func TestNextAddress(t *testing.T) {
	l := listening(t, says("HTTP/1.1 204 x\r\n\r\n"))
	for want, addrs := range map[Answer][]string{
		{Status: 204}:               {"127.0.0.2", "127.0.0.1"},
		{Err: "connection refused"}: {"127.0.0.2", "255.255.255.255"}, // the second is no address of a host
	} {
		s := NewSender(NewTargets(true, resolving(addrs...)), 4*short)
		if a := s.Post(t.Context(), event("http://merchant.example:"+l.port)); a != want {
			t.Errorf("%v: %+v", addrs, a)
		}
		s.Close()
	}
}

// TestUnknownLooksPrivate checks that an attempt's text does not tell a name that does not
// resolve from one that resolves to a private address.
func TestUnknownLooksPrivate(t *testing.T) {
	unknown := func(context.Context, string) ([]netip.Addr, error) {
		return nil, &net.DNSError{Err: "no such host", Name: "merchant.example", IsNotFound: true}
	}
	texts := map[string]bool{}
	for _, resolve := range []func(context.Context, string) ([]netip.Addr, error){unknown, resolving(), resolving("10.0.0.7"), resolving("127.0.0.1"), resolving("169.254.169.254")} {
		a := NewSender(NewTargets(false, resolve), long).Post(t.Context(), event("https://merchant.example/hook"))
		texts[a.Err] = true
	}
	if len(texts) != 1 || texts[""] {
		t.Errorf("texts of an attempt: %v", texts)
	}
}
