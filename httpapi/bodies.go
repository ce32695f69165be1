package httpapi

import (
	"bytes"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/valyala/fasthttp"
)

// bodies bounds the memory that announced bodies may take before any check has run: fasthttp
// allocates a body's whole length as soon as it has read the head, and a few bytes are enough
// to announce 256 KiB. Bodies of at most smallBody bytes are not counted: they are no larger
// than the read buffer that every connection has anyway.
//
// A reservation belongs to its connection, because fasthttp calls neither handler for some
// requests that break off: for a chunked body that ends before its first chunk, and where the
// answer 100 Continue cannot be written. It closes every connection.
type bodies struct {
	room atomic.Int64 // bytes that can still be reserved
	held atomic.Int64 // number of reservations

	refused atomic.Uint64 // number of bodies for which there was too little

	small   int64 // bytes; a body up to this length needs no reservation
	headers int   // how many headers a request may have

	mu sync.Mutex
	by map[netip.Addr]int64 // bytes that each address has reserved
}

const (
	bodiesRoom  = 256 << 20      // bytes for all announced bodies together: 1,024 of the largest size
	bodiesShare = bodiesRoom / 2 // bytes of them for one address, as --connections-per-ip counts addresses
	smallBody   = maxHeader
)

func newBodies() *bodies {
	b := &bodies{small: smallBody, headers: maxHeaders, by: map[netip.Addr]int64{}}
	b.room.Store(bodiesRoom)
	return b
}

// reservation is the memory that one connection has reserved for a body.
type reservation struct {
	of    *bodies
	bytes int64
	ip    netip.Addr // the address that has reserved it; the zero Addr: none is counted
}

// reserveBody reserves memory for the body that a request announces, until its connection gives it
// back. It returns false if too little memory is left.
func (b *bodies) reserveBody(h *fasthttp.RequestHeader) bool {
	n := int64(h.ContentLength())
	if n == chunkedLength {
		n = maxBody // a chunked body may grow to maxBody
	}
	if n <= b.small || n > maxBody { // the server never reads a body above maxBody
		return true
	}
	k := countedOf(connectionOf(h))
	if k == nil {
		return false // nobody would give it back
	}
	return b.takeFor(k, n)
}

// takeFor reserves n bytes for a connection.
func (b *bodies) takeFor(k *countedConn, n int64) bool {
	if k.of != nil {
		k.of.bodies.Store(b)
	}
	if !b.share(k.ip, n) {
		b.refused.Add(1)
		return false
	}
	if b.room.Add(-n) < 0 {
		b.room.Add(n)
		b.share(k.ip, -n)
		b.refused.Add(1)
		return false
	}
	b.held.Add(1)
	k.reserve(&reservation{b, n, k.ip})
	return true
}

// share counts n bytes more for an address; false: it would have more than its share.
func (b *bodies) share(ip netip.Addr, n int64) bool {
	if !ip.IsValid() {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > 0 && b.by[ip]+n > bodiesShare {
		return false
	}
	if b.by[ip] += n; b.by[ip] == 0 {
		delete(b.by, ip)
	}
	return true
}

// give returns a reservation's memory. A nil reservation has none.
func (r *reservation) give() {
	if r != nil {
		r.of.share(r.ip, -r.bytes)
		r.of.held.Add(-1)
		r.of.room.Add(r.bytes)
	}
}

// released wraps a handler so that a request's reservation, and the memory of a large one, is given back
// when the request has been handled: its connection may stay open. Any other end of a request ends the
// connection.
func released(handle fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		k := countedOf(ctx.Conn())
		defer func() {
			forget(&ctx.Request)
			k.release()
		}()
		handle(ctx)
	}
}

// keptRequest is how large a request may be, in bytes, whose memory its connection keeps for the next one.
const keptRequest = 4 << 10

// keptParts is how many parameters, fields of a form and cookies that request may have. Parsed, each takes 72 bytes.
const keptParts = 64

// forget drops a large request that was handled, which the server would keep in memory as long as the connection is
// open. The server reads only the method and the protocol once the handler has returned; whoever has wrapped the
// handler reads the user values, too.
func forget(r *fasthttp.Request) {
	h := &r.Header
	if !isLarge(r) {
		return
	}
	method, first := string(h.Method()), !h.IsHTTP11()
	values := map[any]any{}
	r.VisitUserValuesAll(func(key, value any) { values[key] = value })
	*r = fasthttp.Request{}
	h.SetMethod(method)
	if first {
		h.SetProtocol("HTTP/1.0")
	}
	for key, value := range values {
		r.SetUserValue(key, value)
	}
}

func isLarge(r *fasthttp.Request) bool {
	target, head, body := r.Header.RequestURI(), r.Header.RawHeaders(), r.Body()
	return len(r.Header.Method())+len(target)+len(head)+len(body) > keptRequest ||
		bytes.Count(target, ampersand)+bytes.Count(head, semicolon)+bytes.Count(body, ampersand) > keptParts
}

var ampersand, semicolon = []byte{'&'}, []byte{';'}

// connectionOf returns the connection on which a server's request arrived. The server's hook
// for a head gets the head alone; it is a part of the RequestCtx, which knows the connection.
// h must be such a head.
func connectionOf(h *fasthttp.RequestHeader) net.Conn {
	var ctx *fasthttp.RequestCtx
	const at = unsafe.Offsetof(ctx.Request) + unsafe.Offsetof(ctx.Request.Header)
	ctx = (*fasthttp.RequestCtx)(unsafe.Add(unsafe.Pointer(h), -int(at)))
	return ctx.Conn()
}

// countedOf returns what Connections counts of a connection that it accepted, and nil for any
// other connection.
func countedOf(c net.Conn) *countedConn {
	if s, ok := c.(*secured); ok {
		return s.of
	}
	k, _ := c.(*countedConn)
	return k
}

// reserve makes r the connection's reservation. release gives it back, once.
func (k *countedConn) reserve(r *reservation) {
	k.body.Swap(r).give()
	if k.closed.Load() { // Close was called meanwhile, and released nothing
		k.release()
	}
}

func (k *countedConn) release() {
	if k != nil && k.body.Load() != nil {
		k.body.Swap(nil).give()
	}
}
