package forward

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	idleFor    = 5 * time.Second // the receiving side closes an idle connection after two minutes
	greetAfter = time.Second     // how long a connection may be idle and yet be used without a greeting
	greetFor   = time.Second     // the longest time for a new connection, and for a greeting
	headBytes  = 16 << 10        // bytes of the head of an answer
)

// link is a connection to the owner. One request at a time uses it.
type link struct {
	net.Conn
	in      *bufio.Reader
	under   *net.TCPConn // the connection below TLS
	who     uint64       // whose request is on it; see whose
	written int64        // bytes that were handed to the kernel
	since   time.Time    // when it became idle
	answers atomic.Bool  // the answer to its request has begun
}

// counted counts the bytes that a link hands to the kernel, those of TLS too.
type counted struct {
	net.Conn
	of *link
}

// Write implements net.Conn.
func (c counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.of.written += int64(n)
	return n, err
}

// dial opens a connection to an owner and greets it.
func dial(address string, t *tls.Config, until time.Time) (*link, error) {
	if most := time.Now().Add(greetFor); most.Before(until) {
		until = most
	}
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	d := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 3}}
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	l := &link{under: c.(*net.TCPConn)}
	l.Conn = counted{c, l}
	if t != nil {
		secure := tls.Client(l.Conn, t)
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = c.Close()
			return nil, fmt.Errorf("TLS handshake with %s: %w", address, err)
		}
		l.Conn = secure
	}
	l.in = bufio.NewReaderSize(l.Conn, headBytes)
	if err := l.greet(until); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("greet %s: %w", address, err)
	}
	return l, nil
}

// faceGreeting is the face of a greeting, which the receiving side answers by itself.
const faceGreeting = "greeting"

var greeting = []byte("HEAD / HTTP/1.1\r\nHost: owner\r\n" + headerClient + ": 0.0.0.0:0\r\n" + headerFace + ": " + faceGreeting + "\r\n\r\n")

// greet asks the other end whether it answers. No request is on the connection meanwhile.
func (l *link) greet(until time.Time) error {
	if err := l.SetDeadline(until); err != nil {
		return err
	}
	if _, err := l.Write(greeting); err != nil {
		return err
	}
	h := acquireHead()
	defer releaseHead(h)
	if err := readHead(l.in, h); err != nil {
		return err
	}
	if h.StatusCode() != fasthttp.StatusNoContent || h.ConnectionClose() {
		return fmt.Errorf("it was answered with status %d", h.StatusCode())
	}
	return l.SetDeadline(time.Time{})
}

// send writes a request.
func (l *link) send(r *request) error {
	for _, b := range [][]byte{r.head, r.body, r.tail} {
		if len(b) == 0 {
			continue
		}
		if _, err := l.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// skip reads over the body of an answer.
func (l *link) skip(h *fasthttp.ResponseHeader) error {
	n := h.ContentLength()
	if n < 0 || n > headBytes {
		return errUnending
	}
	_, err := l.in.Discard(n)
	return err
}

// usable tells whether an idle connection can carry another request.
func (l *link) usable(until time.Time) bool {
	idle := time.Since(l.since)
	if idle > idleFor || l.in.Buffered() > 0 || !quiet(l.under) {
		return false
	}
	if idle < greetAfter {
		return true
	}
	if most := time.Now().Add(greetFor); most.Before(until) {
		until = most
	}
	return l.greet(until) == nil
}

// quiet tells whether the other end of a connection has neither closed it nor sent anything.
func quiet(c *net.TCPConn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	var got error
	err = raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, _, got = syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT) //nolint:gosec // a file descriptor
		if got == nil {
			got = io.EOF // closed, or something was sent
		}
		return true
	})
	return err == nil && (errors.Is(got, syscall.EAGAIN) || errors.Is(got, syscall.EINTR))
}
