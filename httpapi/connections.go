package httpapi

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	// MaxInHand is the largest number of merchants' requests that are in hand at once; beyond
	// it new work is refused. The limit on open payouts of all accounts together is the same
	// number.
	MaxInHand = 16 << 10

	// MaxConnections is the largest number of connections that may be open at once on a
	// listener: MaxInHand and a quarter more, so that clients that only read still get in. An
	// idle connection costs 17 KiB, nearly all of it its read buffer, or 50 KiB over TLS; the
	// largest number of connections costs 350 MiB, or 1 GiB over TLS. Of a request of up to
	// keptRequest it keeps the memory, some 20 KiB at most; of a larger one none. Bodies come on top while
	// they are read and answered: at most 16 KiB for each connection, and bodiesRoom in all for
	// larger bodies.
	MaxConnections = MaxInHand + MaxInHand/4

	maxLingering = 64
	acceptPause  = 50 * time.Millisecond
)

// ConnectionOptions are a listener's limits.
type ConnectionOptions struct {
	TLS     *tls.Config    // nil: plain HTTP
	Total   int            // largest number of connections open at once; 0: MaxConnections
	PerIP   int            // largest number of connections open at once from one IPv4 address or IPv6 /64; 0: no limit
	Trusted []netip.Prefix // addresses of proxies, whose connections PerIP does not count

	Refused func(status int) // called for each refused connection, with 429 or 503; may be nil
	Log     *slog.Logger
}

// Connections is a listener that counts open connections and refuses those beyond its
// limits. It never waits for a client.
type Connections struct {
	net.Listener
	ConnectionOptions

	accepting atomic.Bool
	open      atomic.Int64
	midway    atomic.Int64
	turned    atomic.Uint64          // connections that were refused
	shut      atomic.Uint64          // of these, those that did not linger because too many did
	bodies    atomic.Pointer[bodies] // of the server that serves the connections; nil: none of them has reserved memory
	lingering chan struct{}          // has one entry for each refused connection that is kept open for a moment, so that the client can read the refusal

	mu  sync.Mutex
	per map[netip.Addr]int
}

// Limit returns a listener that applies the limits of o to the connections of l.
func Limit(l net.Listener, o ConnectionOptions) *Connections {
	o.Total = cmp.Or(o.Total, MaxConnections)
	return &Connections{
		Listener: l, ConnectionOptions: o,
		lingering: make(chan struct{}, maxLingering), per: map[netip.Addr]int{},
	}
}

// Accepting reports whether Accept has been called.
func (l *Connections) Accepting() bool { return l.accepting.Load() }

// Open returns the number of open connections.
func (l *Connections) Open() int64 { return l.open.Load() }

// Midway returns the number of connections on which the server has received something that it
// has not answered yet: a request that is being received or handled.
func (l *Connections) Midway() int64 { return l.midway.Load() }

// Accept implements net.Listener. Over TLS it does not wait for the handshake, which the
// first Read of the connection makes.
func (l *Connections) Accept() (net.Conn, error) {
	l.accepting.Store(true)
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			if !passing(err) {
				return nil, err
			}
			l.Log.Warn("http: no connection can be accepted for now", "error", err)
			time.Sleep(acceptPause)
			continue
		}
		k := &countedConn{Conn: c, of: l, under: l.TLS != nil}
		if status := l.admit(k); status != 0 {
			l.refuse(c, status)
			continue
		}
		if l.TLS != nil {
			return &secured{tls.Server(k, l.TLS), k}, nil
		}
		return k, nil
	}
}

// passing reports whether an error of Accept is temporary: the client has gone already, or
// the machine is out of descriptors or memory for the moment. Without this test the server
// would stop serving at such an error.
func passing(err error) bool {
	return slices.ContainsFunc([]syscall.Errno{
		syscall.ECONNABORTED, syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EINTR,
	}, func(e syscall.Errno) bool { return errors.Is(err, e) })
}

// admit counts a connection and returns 0. If the connection exceeds a limit, admit returns
// the status with which it must be refused.
func (l *Connections) admit(k *countedConn) int {
	if l.open.Add(1) > int64(l.Total) {
		l.open.Add(-1)
		return fasthttp.StatusServiceUnavailable
	}
	ip, ok := peer(k.Conn)
	if l.PerIP == 0 || !ok || slices.ContainsFunc(l.Trusted, func(p netip.Prefix) bool { return p.Contains(ip) }) {
		return 0
	}
	ip = Network(ip)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.per[ip] >= l.PerIP {
		l.open.Add(-1)
		return fasthttp.StatusTooManyRequests
	}
	l.per[ip]++
	k.ip = ip
	return 0
}

// Network returns the address by which a client is counted where addresses could be changed to
// get around a limit: an IPv4 address as it is, and of an IPv6 address its /64, because a
// client with one address of a /64 can use all of them.
func Network(ip netip.Addr) netip.Addr {
	if ip.Is6() {
		return netip.PrefixFrom(ip.WithZone(""), 64).Masked().Addr()
	}
	return ip
}

// peer returns the address of the other end of a connection. An IPv4-mapped IPv6 address is
// returned as the IPv4 address.
func peer(c net.Conn) (netip.Addr, bool) {
	a, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}, false
	}
	return a.AddrPort().Addr().Unmap(), true
}

var refusals = map[int][]byte{
	fasthttp.StatusTooManyRequests:    bare(fasthttp.StatusTooManyRequests, 60, "too many connections from this address"),
	fasthttp.StatusServiceUnavailable: bare(fasthttp.StatusServiceUnavailable, retryAfter, "too many connections"),
}

// refuse answers with the status and closes the connection. The answer fits into the buffer
// that the kernel has for a new connection, so writing it does not wait (answerTimeout at the
// very most). Over TLS there is no answer, because it would need the client's handshake.
// Unless maxLingering refused connections are still open, the bytes that the client sends are
// read for a moment before the close, because unread bytes could keep the client from getting
// the answer.
func (l *Connections) refuse(c net.Conn, status int) {
	l.turned.Add(1)
	if l.Refused != nil {
		l.Refused(status)
	}
	if l.TLS == nil {
		say(c, refusals[status])
		select {
		case l.lingering <- struct{}{}:
			go l.linger(c)
			return
		default:
			l.shut.Add(1)
		}
	}
	_ = c.Close()
}

func (l *Connections) linger(c net.Conn) {
	defer func() { <-l.lingering }()
	if half, ok := c.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		drain(c)
	}
	_ = c.Close()
}

// countedConn is a connection that Connections counts until it is closed. The server may close
// it twice.
type countedConn struct {
	net.Conn
	of     *Connections
	under  bool       // TLS is above it: secured counts it as midway
	ip     netip.Addr // the address counted in per; the zero Addr: not counted by address
	closed atomic.Bool
	midway atomic.Bool
	body   atomic.Pointer[reservation] // nil: no memory is reserved for the body of its request
}

// Read implements net.Conn.
func (k *countedConn) Read(b []byte) (int, error) {
	n, err := k.Conn.Read(b)
	if n > 0 && !k.under {
		k.asked()
	}
	return n, err
}

// Write implements net.Conn.
func (k *countedConn) Write(b []byte) (int, error) {
	if !k.under {
		k.answered()
	}
	return k.Conn.Write(b)
}

// asked counts the connection as midway: something of a request was received.
func (k *countedConn) asked() {
	if !k.midway.Load() && !k.midway.Swap(true) {
		k.of.midway.Add(1)
		if k.closed.Load() { // Close was called while Read was waiting, so the connection must not stay counted as midway
			k.answered()
		}
	}
}

func (k *countedConn) answered() {
	if k.midway.Load() && k.midway.Swap(false) {
		k.of.midway.Add(-1)
	}
}

// Close implements net.Conn.
func (k *countedConn) Close() error {
	if !k.closed.Swap(true) {
		k.answered()
		k.release()
		k.of.leave(k.ip)
	}
	return k.Conn.Close()
}

// secured is a counted connection over TLS. What is received below TLS may be of a handshake, which ends with a message of
// the client's, and no answer follows.
type secured struct {
	*tls.Conn
	of *countedConn
}

// Read implements net.Conn.
func (s *secured) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	if n > 0 {
		s.of.asked()
	}
	return n, err
}

// Write implements net.Conn.
func (s *secured) Write(b []byte) (int, error) {
	s.of.answered()
	return s.Conn.Write(b)
}

func (l *Connections) leave(ip netip.Addr) {
	l.open.Add(-1)
	if !ip.IsValid() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.per[ip]--; l.per[ip] == 0 {
		delete(l.per, ip)
	}
}

// bare returns a whole HTTP answer with an error of shape 1, for a connection that is
// closed after it. retry is the value of Retry-After in seconds; 0: no such header.
func bare(status, retry int, message string) []byte {
	after := ""
	if retry > 0 {
		after = fmt.Sprintf("Retry-After: %d\r\n", retry)
	}
	body := fmt.Sprintf(`{"error":{"status":%d,"message":%q}}`, status, message)
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%sConnection: close\r\n\r\n%s",
		status, fasthttp.StatusMessage(status), len(body), after, body)
}
