package httpapi

import (
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"time"

	"github.com/valyala/fasthttp"
)

// Streamed is the body of a long answer, which is written while it is being sent.
type Streamed struct {
	// Write writes the body in pieces. Each call of w's Write waits until the client has taken
	// nearly all of the piece, and returns an error once the client has gone or has taken too
	// long; Write must then return. If Write returns an error, the connection is cut, so that
	// the client sees that the body is incomplete.
	Write func(w io.Writer) error
	// Done is called once, when nothing more is sent. err is the error of Write; it is nil if
	// the whole body was sent or if it was the client that failed.
	Done func(err error)

	Works bool // what the request asks for is done while the answer is sent; false: it is only read
}

// OnlySends reports whether nothing is left to be done for a request whose handler has returned but to send a Stream.
func OnlySends(ctx *fasthttp.RequestCtx) bool {
	s, ok := ctx.UserValue(streamKey{}).(*stream)
	return ok && ctx.Response.IsBodyStream() && !s.Works
}

// Stream answers a request with status 200 and a body of unknown length. The client must
// speak HTTP/1.1.
func Stream(ctx *fasthttp.RequestCtx, contentType string, s Streamed) {
	ctx.SetStatusCode(fasthttp.StatusOK)
	ctx.SetContentType(contentType)
	body := &stream{Streamed: s, conn: ctx.Conn(), patience: writeTimeout}
	ctx.SetUserValue(streamKey{}, body)
	ctx.SetBodyStream(body, -1)
}

// streamKey is the user value under which a request has its stream.
type streamKey struct{}

// AfterWork calls f when nothing is done for a request any more: at once, or where the answer is a
// Stream, when nothing more of it is sent. The request's handler must have returned, or be about to.
func AfterWork(ctx *fasthttp.RequestCtx, f func()) {
	if s, ok := ctx.UserValue(streamKey{}).(*stream); ok && ctx.Response.IsBodyStream() {
		before := s.after
		s.after = func() {
			if before != nil {
				before()
			}
			f()
		}
		return
	}
	f()
}

// stream is a Streamed as the server sends it. The server calls WriteTo, and Close after it.
type stream struct {
	Streamed
	conn     net.Conn
	patience time.Duration // longest time in which a piece must be sent; the server's own limit counts for the whole answer

	to   io.Writer
	sent int64
	gone bool // the client did not take a piece
	err  error
	over bool

	after func() // see AfterWork; nil: nothing is called
}

// SupportsBodyWriteTo implements fasthttp.BodyWriterTo.
func (s *stream) SupportsBodyWriteTo() bool { return true }

// Read implements io.Reader. The server does not call it.
func (s *stream) Read([]byte) (int, error) {
	return 0, fmt.Errorf("httpapi: read of a streamed body: it can only be written")
}

// WriteTo implements io.WriterTo.
func (s *stream) WriteTo(w io.Writer) (n int64, err error) {
	s.to = w
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("httpapi: panic in a streamed body: %v\n%s", p, debug.Stack())
		}
		if !s.gone {
			s.err = err
		}
		n = s.sent
	}()
	return 0, s.Streamed.Write(piece{s})
}

// Close implements io.Closer.
func (s *stream) Close() error {
	if !s.over {
		s.over = true
		s.Done(s.err)
		if s.after != nil {
			s.after()
		}
	}
	return nil
}

// piece writes the pieces of a stream. Each has the whole time, so that an answer may be long
// as long as its client goes on reading.
type piece struct{ *stream }

// Write implements io.Writer.
func (p piece) Write(b []byte) (int, error) {
	err := patient(p.conn, p.patience)
	n := 0
	if err == nil {
		n, err = p.to.Write(b)
	}
	p.sent += int64(n)
	p.gone = p.gone || err != nil
	return n, err
}
