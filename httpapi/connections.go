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
	// MaxInHand is how many requests of merchants are worked on at once; with
	// more, new work is refused. The payouts that may be open in all are as many.
	MaxInHand = 16 << 10

	// MaxConnections is how many are open at once on a listener at most: all that
	// may be in hand, and a quarter more, so that who only reads still gets in.
	// One that is kept costs 17 KiB, nearly all of it its read buffer, and 50 KiB
	// over TLS: all of them 350 MiB, or 1 GiB. Bodies come on top: 16 KiB each
	// at most, and what bodiesRoom has for larger ones.
	MaxConnections = MaxInHand + MaxInHand/4

	maxLingering = 64
	acceptPause  = 50 * time.Millisecond
)

// ConnectionOptions are a listener's limits.
type ConnectionOptions struct {
	TLS     *tls.Config    // nil: plain HTTP
	Total   int            // open at once; 0: MaxConnections
	PerIP   int            // open at once from one IPv4 address or IPv6 /64; 0: no limit
	Trusted []netip.Prefix // proxies: PerIP does not count them

	Refused func(status int) // told of every connection turned away, with 429 or 503; may be nil
	Log     *slog.Logger
}

// Connections is a listener that counts what is open and turns away what is too
// much, without waiting for anybody.
type Connections struct {
	net.Listener
	ConnectionOptions

	accepting atomic.Bool
	open      atomic.Int64
	midway    atomic.Int64
	lingering chan struct{} // room for those that are let to read their refusal

	mu  sync.Mutex
	per map[netip.Addr]int
}

// Limit puts limits on a listener.
func Limit(l net.Listener, o ConnectionOptions) *Connections {
	o.Total = cmp.Or(o.Total, MaxConnections)
	return &Connections{
		Listener: l, ConnectionOptions: o,
		lingering: make(chan struct{}, maxLingering), per: map[netip.Addr]int{},
	}
}

// Accepting tells whether anybody has begun to accept.
func (l *Connections) Accepting() bool { return l.accepting.Load() }

// Open is how many connections are open.
func (l *Connections) Open() int64 { return l.open.Load() }

// Midway is how many connections have sent something that was not answered yet: a
// request that is being received, or worked on.
func (l *Connections) Midway() int64 { return l.midway.Load() }

// Accept implements net.Listener. Over TLS the handshake is left to who reads.
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
		k := &counted{Conn: c, of: l}
		if status := l.admit(k); status != 0 {
			l.refuse(c, status)
			continue
		}
		if l.TLS != nil {
			return tls.Server(k, l.TLS), nil
		}
		return k, nil
	}
}

// passing tells an error that ends by itself: a client that is gone already, or
// a machine out of descriptors or memory. The server would end at it.
func passing(err error) bool {
	return slices.ContainsFunc([]syscall.Errno{
		syscall.ECONNABORTED, syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EINTR,
	}, func(e syscall.Errno) bool { return errors.Is(err, e) })
}

// admit counts a connection, or gives the status that it is refused with.
func (l *Connections) admit(k *counted) int {
	if l.open.Add(1) > int64(l.Total) {
		l.open.Add(-1)
		return fasthttp.StatusServiceUnavailable
	}
	ip, ok := peer(k.Conn)
	if l.PerIP == 0 || !ok || slices.ContainsFunc(l.Trusted, func(p netip.Prefix) bool { return p.Contains(ip) }) {
		return 0
	}
	if ip.Is6() { // who has one address of a /64 has them all
		ip = netip.PrefixFrom(ip, 64).Masked().Addr()
	}
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

// peer is the other side's address; an IPv4 address in IPv6's clothes is itself.
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

// refuse answers and closes. The answer fits what the kernel holds for a fresh
// connection, so that it does not wait (answerTimeout at the very most); over TLS
// it would need the client's handshake, so there is none. As long as there is room, what the client sends
// is read for a moment, or it might not come to the answer.
func (l *Connections) refuse(c net.Conn, status int) {
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

// counted is a connection that is counted until it is closed, which the server
// may do twice.
type counted struct {
	net.Conn
	of     *Connections
	ip     netip.Addr // the zero Addr: not counted by address
	closed atomic.Bool
	midway atomic.Bool
}

// Read implements net.Conn.
func (k *counted) Read(b []byte) (int, error) {
	n, err := k.Conn.Read(b)
	if n > 0 && !k.midway.Load() && !k.midway.Swap(true) {
		k.of.midway.Add(1)
		if k.closed.Load() { // while it was read
			k.answered()
		}
	}
	return n, err
}

// Write implements net.Conn.
func (k *counted) Write(b []byte) (int, error) {
	k.answered()
	return k.Conn.Write(b)
}

func (k *counted) answered() {
	if k.midway.Load() && k.midway.Swap(false) {
		k.of.midway.Add(-1)
	}
}

// Close implements net.Conn.
func (k *counted) Close() error {
	if !k.closed.Swap(true) {
		k.answered()
		k.of.leave(k.ip)
	}
	return k.Conn.Close()
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

// bare is a whole answer in shape 1 for a connection that is closed after it;
// retry is in seconds, 0 for none.
func bare(status, retry int, message string) []byte {
	after := ""
	if retry > 0 {
		after = fmt.Sprintf("Retry-After: %d\r\n", retry)
	}
	body := fmt.Sprintf(`{"error":{"status":%d,"message":%q}}`, status, message)
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%sConnection: close\r\n\r\n%s",
		status, fasthttp.StatusMessage(status), len(body), after, body)
}
