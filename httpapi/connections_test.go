package httpapi

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/fair"
)

// limited serves HTTP on a loopback port with the limits of o and at most total connections;
// change may change the server's settings.
func limited(t *testing.T, o ConnectionOptions, total int, change func(*fasthttp.Server)) *Connections {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.Log = slog.New(slog.DiscardHandler)
	o.Total = total
	l := Limit(ln, o)
	s := NewServer(func(ctx *fasthttp.RequestCtx) {
		ctx.SetBodyString(strings.Repeat("x", len(ctx.PostBody())))
	}, ServerOptions{Name: "test", Log: o.Log})
	if change != nil {
		change(s)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := errors.Join(s.Shutdown(), <-done); err != nil {
			t.Error(err)
		}
	})
	return l
}

func open(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	return c
}

const hello = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

func ask(t *testing.T, c net.Conn) string {
	t.Helper()
	if _, err := io.WriteString(c, hello); err != nil {
		return err.Error()
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(line)
}

// eventually waits until holds returns true, and fails the test after five seconds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 500 {
		if holds() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("never: %s", what)
}

func TestConnectionsPerAddress(t *testing.T) {
	var refused atomic.Int64
	l := limited(t, ConnectionOptions{PerIP: 2, Refused: func(status int) { refused.Add(int64(status)) }}, 100, nil)
	if a, b := open(t, l), open(t, l); ask(t, a) != "HTTP/1.1 200 OK" || ask(t, b) != "HTTP/1.1 200 OK" {
		t.Fatal("the first two are not served")
	}
	for range 3 {
		c := open(t, l) // the client connects and sends nothing
		got, err := io.ReadAll(c)
		want := "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nContent-Length: 75\r\nRetry-After: 60\r\nConnection: close\r\n\r\n" +
			shape1("429", "too many connections from this address")
		if string(got) != want || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	if got := ask(t, open(t, l)); got != "HTTP/1.1 429 Too Many Requests" { // the refused client sends a request before it reads the answer
		t.Error(got)
	}
	if refused.Load() != 4*429 || l.Open() != 2 {
		t.Errorf("refused %d, open %d", refused.Load(), l.Open())
	}
}

// TestConnectionsLeave checks that a connection is no longer counted after it was closed by
// either side or by both.
func TestConnectionsLeave(t *testing.T) {
	l := limited(t, ConnectionOptions{PerIP: 1}, 100, nil)
	for n := range 50 {
		c := open(t, l)
		if n%2 == 0 {
			fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			_, _ = io.ReadAll(c)
		} else if got := ask(t, c); got != "HTTP/1.1 200 OK" {
			t.Fatal(n, got)
		}
		_ = c.Close()
		eventually(t, "room again", func() bool { return l.Open() == 0 })
	}
	if l.mu.Lock(); len(l.per) != 0 {
		t.Errorf("kept: %v", l.per)
	}
	l.mu.Unlock()
}

func TestConnectionsInAll(t *testing.T) {
	l := limited(t, ConnectionOptions{}, 2, nil)
	a, b := open(t, l), open(t, l)
	if ask(t, a) != "HTTP/1.1 200 OK" || ask(t, b) != "HTTP/1.1 200 OK" {
		t.Fatal("the first two are not served")
	}
	got, err := io.ReadAll(open(t, l))
	if err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 503 ") || !strings.Contains(string(got), "\r\nRetry-After: 1\r\n") {
		t.Errorf("%q, %v", got, err)
	}
	if got := l.Counts(); got != (fair.Counts{InUse: 2, Refused: 1}) {
		t.Errorf("%+v", got)
	}
	_ = a.Close()
	eventually(t, "room again", func() bool { return l.Open() == 1 })
	if got := ask(t, open(t, l)); got != "HTTP/1.1 200 OK" {
		t.Error(got)
	}
}

// TestLingeringIsCounted checks the figures of refused connections that are kept open.
func TestLingeringIsCounted(t *testing.T) {
	l := Limit(nil, ConnectionOptions{})
	for range maxLingering - 1 {
		l.lingering <- struct{}{}
	}
	silent := func() net.Conn {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { _ = theirs.Close() })
		go func() { _, _ = io.Copy(io.Discard, theirs) }()
		return ours
	}
	l.lingering <- struct{}{}
	l.refuse(silent(), 503)
	if got := l.Lingering(); got != (fair.Counts{InUse: maxLingering, Refused: 1}) {
		t.Errorf("%+v", got)
	}
	<-l.lingering
	l.refuse(silent(), 503)
	eventually(t, "closed", func() bool { return l.Lingering() == fair.Counts{InUse: maxLingering - 1, Refused: 1} })
}

// fake is a connection from a given address.
type fake struct {
	net.Conn
	from net.Addr
}

func (f fake) RemoteAddr() net.Addr { return f.from }

func TestWhoIsCounted(t *testing.T) {
	l := Limit(nil, ConnectionOptions{PerIP: 1, Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("2001:db8:ffff::1/128")}})
	from := func(ip string) int {
		return l.admit(&countedConn{Conn: fake{from: &net.TCPAddr{IP: net.ParseIP(ip), Port: 1}}})
	}
	for _, c := range []struct {
		ip   string
		want int
	}{
		{"192.0.2.1", 0},
		{"192.0.2.1", 429},
		{"::ffff:192.0.2.1", 429},
		{"192.0.2.2", 0},
		{"10.1.2.3", 0},
		{"10.1.2.3", 0},
		{"::ffff:10.1.2.3", 0},
		{"fd00::1", 0},
		{"fd00::1", 0},
		{"2001:db8::1", 0},
		{"2001:db8::1", 429},
		{"2001:db8::2", 429}, // this address is in the same /64 as the first one
		{"2001:db8:0:1::1", 0},
		{"2001:db8:ffff::1", 0}, // only this address of its /64 is a trusted proxy
		{"2001:db8:ffff::1", 0},
		{"2001:db8:ffff::2", 0},
		{"2001:db8:ffff::3", 429},
	} {
		if got := from(c.ip); got != c.want {
			t.Errorf("%s: %d", c.ip, got)
		}
	}
}

// failing is a listener whose first calls of Accept fail, as when the machine is out of
// descriptors for a moment.
type failing struct {
	net.Listener
	left atomic.Int32
}

func (f *failing) Accept() (net.Conn, error) {
	if f.left.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return f.Listener.Accept()
}

func TestAcceptGoesOn(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &failing{Listener: ln}
	f.left.Store(3)
	l := Limit(f, ConnectionOptions{Log: slog.New(slog.DiscardHandler)})
	go func() {
		if c, err := net.Dial("tcp", ln.Addr().String()); err == nil {
			_ = c.Close()
		}
	}()
	if c, err := l.Accept(); err != nil {
		t.Error(err)
	} else if err := c.Close(); err != nil {
		t.Error(err)
	}
	_ = ln.Close()
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// hurry shortens a server's timeouts to 300 ms.
func hurry(s *fasthttp.Server) {
	s.ReadTimeout, s.WriteTimeout, s.IdleTimeout = 300*time.Millisecond, 300*time.Millisecond, 300*time.Millisecond
}

// trickle sends a byte at every interval until sending fails.
func trickle(c net.Conn, every time.Duration) {
	for {
		if _, err := io.WriteString(c, "a"); err != nil {
			return
		}
		time.Sleep(every)
	}
}

// TestSlowClients checks that the connection of a slow client is closed in time: a client
// that sends a head, a body or a too large body byte by byte, or that sends nothing.
func TestSlowClients(t *testing.T) {
	for name, c := range map[string]struct {
		first  string
		answer string
		within time.Duration
		steady bool
	}{
		"silence":             {"", "HTTP/1.1 408 ", time.Second, false},
		"head":                {"GET / HTTP/1.1\r\nHost: x\r\nX: ", "HTTP/1.1 408 ", time.Second, true},
		"body":                {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n", "HTTP/1.1 408 ", time.Second, true},
		"chunk":               {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n", "HTTP/1.1 408 ", time.Second, true},
		"body that is large":  {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n", "HTTP/1.1 413 ", drainLong + time.Second, true},
		"nothing after one":   {hello, "HTTP/1.1 200 ", time.Second, false},
		"head after one":      {hello + "GET / HTTP/1.1\r\nX: ", "HTTP/1.1 200 ", time.Second, true},
		"nothing after leave": {"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n", "HTTP/1.1 100 ", time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := limited(t, ConnectionOptions{}, 10, hurry)
			conn := open(t, l)
			begin := time.Now()
			if _, err := io.WriteString(conn, c.first); err != nil {
				t.Fatal(err)
			}
			if c.steady {
				go trickle(conn, 20*time.Millisecond)
			}
			got := make([]byte, len(c.answer))
			if _, err := io.ReadFull(conn, got); err != nil || string(got) != c.answer {
				t.Errorf("%q %v", got, err)
			}
			eventually(t, "closed", func() bool { return l.Open() == 0 })
			if took := time.Since(begin); took > c.within {
				t.Errorf("took %v", took)
			}
		})
	}
}

// TestNeverReads checks that the connection of a client that sends requests and never reads
// is closed once its answers cannot be sent.
func TestNeverReads(t *testing.T) {
	l := limited(t, ConnectionOptions{}, 10, hurry)
	c := open(t, l)
	_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
	body := strings.Repeat("a", 200_000)
	go func() {
		for {
			if _, err := fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
				return
			}
		}
	}()
	eventually(t, "open", func() bool { return l.Open() == 1 })
	eventually(t, "closed", func() bool { return l.Open() == 0 })
}

// TestLimitsOverTLS checks that over TLS a refused connection is closed without an answer,
// that a client silent in the handshake is disconnected, and that plain HTTP gets a 400.
// Accept waits for none of these clients.
func TestLimitsOverTLS(t *testing.T) {
	l := limited(t, ConnectionOptions{PerIP: 3, TLS: &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		return nil, errors.New("none")
	}}}, 100, hurry)
	silent := open(t, l)
	plain, err := io.ReadAll(func() net.Conn { c := open(t, l); fmt.Fprint(c, hello); return c }())
	if want := shape1("400", "this port speaks TLS: use https"); !strings.HasPrefix(string(plain), "HTTP/1.1 400 ") || !strings.HasSuffix(string(plain), want) {
		t.Errorf("plain: %q, %v", plain, err)
	}
	if got, err := io.ReadAll(silent); len(got) > 0 || err != nil {
		t.Errorf("silent: %q, %v", got, err)
	}
	eventually(t, "room again", func() bool { return l.Open() == 0 })
	for range 3 {
		open(t, l)
	}
	eventually(t, "open", func() bool { return l.Open() == 3 })
	if got, err := io.ReadAll(open(t, l)); len(got) > 0 || err != nil {
		t.Errorf("refused: %q, %v", got, err)
	}
}

// TestMidway checks that a connection counts as midway while something of a request was received and not answered, and not
// because of a handshake, which ends with a message of the client's: who ends waits for those that are midway.
func TestMidway(t *testing.T) {
	made := httptest.NewTLSServer(nil)
	made.Close()
	for name, dial := range map[string]func(string) (net.Conn, error){
		"plain": func(a string) (net.Conn, error) { return net.Dial("tcp", a) },
		"TLS":   func(a string) (net.Conn, error) { return tls.Dial("tcp", a, &tls.Config{InsecureSkipVerify: true}) },
	} {
		o := ConnectionOptions{}
		if name == "TLS" {
			o.TLS = &tls.Config{Certificates: made.TLS.Certificates}
		}
		arrived, goOn := make(chan struct{}), make(chan struct{})
		l := limited(t, o, 100, func(s *fasthttp.Server) {
			s.Handler = func(*fasthttp.RequestCtx) { arrived <- struct{}{}; <-goOn }
		})
		c, err := dial(l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		eventually(t, "open", func() bool { return l.Open() == 1 })
		time.Sleep(50 * time.Millisecond) // what the client has sent of the handshake arrives
		if n := l.Midway(); n != 0 {
			t.Errorf("%s: %d midway without a request", name, n)
		}
		for range 2 {
			if _, err := io.WriteString(c, hello); err != nil {
				t.Fatal(err)
			}
			<-arrived
			if n := l.Midway(); n != 1 {
				t.Errorf("%s: %d midway with a request", name, n)
			}
			goOn <- struct{}{}
			if _, err := c.Read(make([]byte, 1000)); err != nil {
				t.Fatal(err)
			}
			eventually(t, "answered", func() bool { return l.Midway() == 0 })
		}
		if _, err := io.WriteString(c, hello[:5]); err != nil {
			t.Fatal(err)
		}
		eventually(t, "begun", func() bool { return l.Midway() == 1 })
		_ = c.Close()
		eventually(t, "closed", func() bool { return l.Midway() == 0 && l.Open() == 0 })
	}
}
