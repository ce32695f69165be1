package forward

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/httpapi"
)

func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

// roomy is the size of bodies that the tests' servers take.
const roomy = 8 << 20

// listening is a server of a test.
type listening struct {
	*fasthttp.Server
	*httpapi.Connections
	address string
}

// listens serves on a port; address is "" for a new one.
func listens(t testing.TB, s *fasthttp.Server, address string, secure *tls.Config) *listening {
	t.Helper()
	if address == "" {
		address = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s.MaxRequestBodySize = roomy
	on := &listening{s, httpapi.Limit(l, httpapi.ConnectionOptions{TLS: secure, Log: silent()}), l.Addr().String()}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(on.Connections)
	}()
	t.Cleanup(func() {
		_ = l.Close()
		on.stop()
		<-ended
	})
	return on
}

func (l *listening) stop() { _ = l.Server.Shutdown() }

// owner is a node that is the owner, or not, and says so.
type owner struct {
	*listening
	is atomic.Bool
}

func newOwner(t testing.TB, address string, secure *tls.Config, handle fasthttp.RequestHandler) *owner {
	t.Helper()
	o := &owner{}
	o.is.Store(true)
	receive := Receive(func(Face) fasthttp.RequestHandler {
		if !o.is.Load() {
			return nil
		}
		return handle
	}, silent())
	o.listening = listens(t, NewServer(receive, nil, silent()), address, secure)
	return o
}

// at returns an Owner that always names this one.
func (o *owner) at(scheme string) Owner {
	return func() (string, string, bool) { return "owner", scheme + "://" + o.address, true }
}

// node is a public listener whose requests are forwarded.
type node struct {
	*listening
	*Forwarder
	sent atomic.Int64 // calls of Forwarded
}

func newNode(t testing.TB, o Options) *node {
	t.Helper()
	n := &node{}
	o.Log, o.Forwarded, o.Self = silent(), func() { n.sent.Add(1) }, "here"
	n.Forwarder = New(o)
	n.listening = listens(t, httpapi.NewServer(n.Handler(Merchant), httpapi.ServerOptions{Name: "merchant", Log: silent()}), "", nil)
	t.Cleanup(n.Forwarder.Close)
	return n
}

// say sends bytes to a server and returns all that it sends back until it closes or nothing more
// comes for a while; closed tells which.
func say(t testing.TB, address, request string) (answer string, closed bool) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	return readAll(t, c, 10*time.Second)
}

// readAll reads until the other end closes, or for a time.
func readAll(t testing.TB, c net.Conn, most time.Duration) (got string, closed bool) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(most))
	b, err := io.ReadAll(c)
	if err != nil && !errors.Is(err, net.ErrClosed) {
		var n net.Error
		if errors.As(err, &n) && n.Timeout() {
			return string(b), false
		}
		t.Fatalf("read: %v", err)
	}
	return string(b), true
}

// ask sends a GET on a connection of its own and returns the status, the head and the body of the
// answer.
func ask(t testing.TB, address, path string) (*http.Response, string) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: pix.example\r\n\r\n", path)
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	a, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatalf("GET %s: body: %v", path, err)
	}
	return a, string(b)
}

// played is an owner whose answers to requests a test plays; greetings are answered as they are.
type played struct {
	address string
	heads   atomic.Int64 // of requests
}

// play answers each request with what script writes, and closes the connection where it returns
// false.
func play(t testing.TB, script func(c net.Conn, in *bufio.Reader) bool) *played {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	p := &played{address: l.Addr().String()}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
			go p.serve(c, script)
		}
	}()
	return p
}

func (p *played) serve(c net.Conn, script func(c net.Conn, in *bufio.Reader) bool) {
	defer c.Close()
	in := bufio.NewReader(c)
	for {
		head := ""
		for !strings.HasSuffix(head, "\r\n\r\n") {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			head += line
		}
		if strings.Contains(head, headerFace+": "+faceGreeting) {
			_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
			continue
		}
		p.heads.Add(1)
		if !script(c, in) {
			return
		}
	}
}

func (p *played) at() (string, string, bool) { return "played", "http://" + p.address, true }

// echo answers with all that a handler can see of a request.
func echo(ctx *fasthttp.RequestCtx) {
	h := &ctx.Request.Header
	var b bytes.Buffer
	host, _, _ := net.SplitHostPort(ctx.RemoteAddr().String())
	fmt.Fprintf(&b, "%s|%s|%s|%s\n", h.Method(), h.RequestURI(), h.Protocol(), host)
	for k, v := range h.All() {
		if !equal(k, "connection") {
			fmt.Fprintf(&b, "%s=%s\n", k, v)
		}
	}
	body := ctx.PostBody()
	if len(body) > 200 {
		body = fmt.Appendf(nil, "%d bytes, %x", len(body), body[len(body)-8:])
	}
	fmt.Fprintf(&b, "%d/%q\n", h.ContentLength(), body)
	ctx.Response.Header.Set("x-odd-name", "kept")
	ctx.Response.Header.Add("X-Twice", "1")
	ctx.Response.Header.Add("X-Twice", "2")
	ctx.SetBody(b.Bytes())
}
