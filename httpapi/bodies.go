package httpapi

import (
	"sync"
	"sync/atomic"

	"github.com/valyala/fasthttp"
)

// bodies bounds what announced bodies may take up before anybody has been
// checked: the server makes room for a body's whole length when it has read the
// head, and a few bytes are enough to announce 256 KiB. What is small passes
// uncounted, as large as the read buffer that every connection has anyway.
type bodies struct {
	room  atomic.Int64 // bytes that are left
	held  atomic.Int64 // requests in of
	mu    sync.Mutex
	of    map[*fasthttp.RequestHeader]int64
	small int64
}

const (
	bodiesRoom = 256 << 20 // a thousand of the largest at once
	smallBody  = maxHeader
)

func newBodies() *bodies {
	b := &bodies{of: map[*fasthttp.RequestHeader]int64{}, small: smallBody}
	b.room.Store(bodiesRoom)
	return b
}

// take reserves the room that a request announces, until give; false where there
// is none. A request that broke off in a way that nobody was told of gives back
// here, when its place is used again.
func (b *bodies) take(h *fasthttp.RequestHeader) bool {
	b.give(h)
	n := int64(h.ContentLength())
	if n == chunkedLength {
		n = maxBody // it may grow to that
	}
	if n <= b.small || n > maxBody { // what is too large is never read
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

// give gives back what a request has reserved, if it has.
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

// around gives back when a request has been handled, or could not be read.
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
