package httpapi

import (
	"sync"
	"sync/atomic"

	"github.com/valyala/fasthttp"
)

// bodies bounds the memory that announced bodies may take before any check has run: fasthttp
// allocates a body's whole length as soon as it has read the head, and a few bytes are enough
// to announce 256 KiB. Bodies of at most smallBody bytes are not counted: they are no larger
// than the read buffer that every connection has anyway.
type bodies struct {
	room  atomic.Int64 // bytes that can still be reserved
	held  atomic.Int64 // number of requests that have a reservation, the length of the map of
	mu    sync.Mutex
	of    map[*fasthttp.RequestHeader]int64
	small int64
}

const (
	bodiesRoom = 256 << 20 // bytes for all announced bodies together: 1,024 of the largest size
	smallBody  = maxHeader
)

func newBodies() *bodies {
	b := &bodies{of: map[*fasthttp.RequestHeader]int64{}, small: smallBody}
	b.room.Store(bodiesRoom)
	return b
}

// take reserves memory for the body that a request announces, until give is called. It
// returns false if too little memory is left. fasthttp reuses header structs: if the request
// has the struct of an earlier request that broke off without a report, take first releases
// that request's reservation.
func (b *bodies) take(h *fasthttp.RequestHeader) bool {
	b.give(h)
	n := int64(h.ContentLength())
	if n == chunkedLength {
		n = maxBody // a chunked body may grow to maxBody
	}
	if n <= b.small || n > maxBody { // the server never reads a body above maxBody
		return true
	}
	if b.room.Add(-n) < 0 {
		b.room.Add(n)
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of[h] = n
	b.held.Add(1)
	return true
}

// give releases the reservation of a request, if it has one.
func (b *bodies) give(h *fasthttp.RequestHeader) {
	if b.held.Load() == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if n, ok := b.of[h]; ok {
		delete(b.of, h)
		b.held.Add(-1)
		b.room.Add(n)
	}
}

// around changes a server's handlers so that a request's reservation is released when the
// request has been handled or could not be read.
func (b *bodies) around(s *fasthttp.Server) {
	handle, fail := s.Handler, s.ErrorHandler
	s.Handler = func(ctx *fasthttp.RequestCtx) {
		defer b.give(&ctx.Request.Header)
		handle(ctx)
	}
	s.ErrorHandler = func(ctx *fasthttp.RequestCtx, err error) {
		b.give(&ctx.Request.Header)
		fail(ctx, err)
	}
}
