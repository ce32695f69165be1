package httpapi

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// reserving serves HTTP on a loopback port and returns the listener and the reservations of
// its server, of which a body of more than four bytes needs one. Over TLS if o says so; under
// lies between the port and the limits.
func reserving(t *testing.T, o ConnectionOptions, under func(net.Listener) net.Listener) (*Connections, *bodies) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.Log = slog.New(slog.DiscardHandler)
	l := Limit(under(ln), o)
	s := NewServer(func(ctx *fasthttp.RequestCtx) {}, ServerOptions{Name: "test", Log: o.Log})
	b := newBodies()
	b.small = 4
	s.HeaderReceived = b.received
	s.Handler = released(s.Handler)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := errors.Join(s.Shutdown(), <-done); err != nil {
			t.Error(err)
		}
	})
	return l, b
}

// returned checks that all memory is given back once no connection is open.
func returned(t *testing.T, l *Connections, b *bodies) {
	t.Helper()
	eventually(t, "all connections closed", func() bool { return l.Open() == 0 })
	if held, room := b.held.Load(), b.room.Load(); held != 0 || room != bodiesRoom {
		t.Errorf("no connection is open, and %d reservations are held, with %d bytes", held, bodiesRoom-room)
	}
}

func directly(l net.Listener) net.Listener { return l }

// endings are the ways in which a client ends a connection.
var endings = map[string]func(net.Conn) error{
	"close": net.Conn.Close,
	"reset": func(c net.Conn) error {
		under := c
		if t, ok := c.(*tls.Conn); ok {
			under = t.NetConn()
		}
		return errors.Join(under.(*net.TCPConn).SetLinger(0), under.Close())
	},
	"half": func(c net.Conn) error {
		if err := c.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			return err
		}
		_, err := io.Copy(io.Discard, c)
		return errors.Join(err, c.Close())
	},
}

// TestBodiesStorm breaks requests with a body off at every byte, in every way, and checks that
// the memory reserved for their bodies is given back.
func TestBodiesStorm(t *testing.T) {
	const post = "POST / HTTP/1.1\r\nHost: x\r\n"
	requests := []string{
		post + "Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n2;x=y\r\nfg\r\n0\r\nA: b\r\n\r\n",
		post + "Content-Length: 5\r\n\r\nabcde" + post + "Content-Length: 6\r\n\r\nabcdef",
		post + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\nabcde",
		post + "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
	}
	made := httptest.NewTLSServer(nil)
	made.Close()
	secure := &tls.Config{Certificates: made.TLS.Certificates}
	for name, dial := range map[string]func(string) (net.Conn, error){
		"plain": func(a string) (net.Conn, error) { return net.Dial("tcp", a) },
		"TLS": func(a string) (net.Conn, error) {
			return tls.Dial("tcp", a, &tls.Config{InsecureSkipVerify: true})
		},
	} {
		o := ConnectionOptions{}
		if name == "TLS" {
			o.TLS = secure
		}
		l, b := reserving(t, o, directly)
		for _, whole := range requests {
			for how, end := range endings {
				for n := strings.Index(whole, "\r\n\r\n"); n <= len(whole); n++ { // before the end of the head no memory is reserved
					c, err := dial(l.Addr().String())
					if err != nil {
						t.Fatal(err)
					}
					_ = c.SetDeadline(time.Now().Add(10 * time.Second))
					if _, err := io.WriteString(c, whole[:n]); err != nil {
						t.Fatal(err)
					}
					if err := end(c); err != nil && how != "reset" && !strings.Contains(err.Error(), "reset by peer") {
						t.Errorf("%s, %s after %d bytes: %v", name, how, n, err)
					}
				}
			}
			returned(t, l, b)
			c, err := dial(l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(c, whole)
			_ = c.(interface{ CloseWrite() error }).CloseWrite()
			if got, err := io.ReadAll(c); !strings.Contains(string(got), "HTTP/1.1 200 OK") || err != nil {
				t.Errorf("%s, %q: %q, %v", name, whole, got, err)
			}
			_ = c.Close()
		}
	}
}

// TestBodiesFirstChunk checks that clients without a credential cannot use the memory up by
// chunked requests that end before the first chunk, many at once.
func TestBodiesFirstChunk(t *testing.T) {
	l, b := reserving(t, ConnectionOptions{}, directly)
	const clients = bodiesRoom/maxBody + 76
	all := make([]net.Conn, clients)
	for i := range all {
		all[i] = open(t, l)
	}
	eventually(t, "all open", func() bool { return l.Open() == clients })
	for _, c := range all {
		if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all memory reserved", func() bool { return b.room.Load() == 0 })
	for _, c := range all {
		_ = c.Close()
	}
	returned(t, l, b)
}

// TestBodiesContinueFails checks that the memory is given back where 100 Continue cannot be
// written.
func TestBodiesContinueFails(t *testing.T) {
	var failed atomic.Int64
	l, b := reserving(t, ConnectionOptions{}, func(l net.Listener) net.Listener { return mute{l, &failed} })
	for _, body := range []string{"Content-Length: 5", "Transfer-Encoding: chunked"} {
		c := open(t, l)
		fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n%s\r\n\r\n", body)
		if got, err := io.ReadAll(c); len(got) > 0 || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	if failed.Load() != 2 {
		t.Errorf("%d writes failed, want 2", failed.Load())
	}
	returned(t, l, b)
}

// mute is a listener whose connections cannot be written to.
type mute struct {
	net.Listener
	failed *atomic.Int64
}

func (l mute) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return muteConn{c, l.failed}, err
}

type muteConn struct {
	net.Conn
	failed *atomic.Int64
}

func (c muteConn) Write([]byte) (int, error) {
	c.failed.Add(1)
	return 0, errors.New("nothing can be written")
}
