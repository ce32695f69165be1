package forward

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/redact"
	"pixd/httpapi"
)

const (
	wholeAnswer = 256 << 10 // bytes of an answer that is read before anything of it is sent
	pieceSize   = 32 << 10
	lateAnswer  = time.Second // how long an answer is waited for where the request could not be written to its end
)

// heads are heads of answers as they are read: names are kept as they are, and neither Content-Type
// nor Date is added to an answer that has none.
var heads = sync.Pool{New: func() any {
	h := new(fasthttp.ResponseHeader)
	bareHead().CopyTo(h)
	return h
}}

func acquireHead() *fasthttp.ResponseHeader { return heads.Get().(*fasthttp.ResponseHeader) }

func releaseHead(h *fasthttp.ResponseHeader) { heads.Put(h) }

// bareHead returns the head of an answer to which nothing is added when it is sent. That the
// server adds no Date can only be set for a whole server, so the head is one that such a server
// has made.
var bareHead = sync.OnceValue(func() *fasthttp.ResponseHeader {
	h := new(fasthttp.ResponseHeader)
	here, there := net.Pipe()
	go func() {
		_, _ = there.Write([]byte("GET / HTTP/1.0\r\n\r\n"))
		_, _ = io.Copy(io.Discard, there)
	}()
	s := fasthttp.Server{NoDefaultDate: true, NoDefaultContentType: true, NoDefaultServerHeader: true, Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.CopyTo(h)
	}}
	if err := s.ServeConn(here); err != nil {
		panic(fmt.Sprintf("forward: the head of an answer: %v", err))
	}
	_ = here.Close()
	h.DisableNormalizing()
	return h
})

// readHead reads the head of an answer. Those that only say that the answer comes later are
// passed over.
func readHead(in *bufio.Reader, h *fasthttp.ResponseHeader) error {
	for {
		if err := h.Read(in); err != nil {
			return fmt.Errorf("read the answer's head: %w", err)
		}
		if h.StatusCode() >= fasthttp.StatusOK {
			return nil
		}
	}
}

func isNotOwner(h *fasthttp.ResponseHeader) bool {
	return h.StatusCode() == fasthttp.StatusMisdirectedRequest && len(h.Peek(headerNotOwner)) > 0
}

// errUnending is the error of an answer whose end only the end of its connection would tell: it
// could not be told from an answer that breaks off.
var errUnending = errors.New("the answer does not say how long it is")

// hasBody tells whether an answer with a head has a body.
func hasBody(ctx *fasthttp.RequestCtx, h *fasthttp.ResponseHeader) bool {
	status := h.StatusCode()
	return !ctx.IsHead() && status != fasthttp.StatusNoContent && status != fasthttp.StatusNotModified
}

// pass answers the client with the owner's answer. The connection is given back when the answer
// has been read; last: it must not be used again. An error means that nothing was sent.
func (f *Forwarder) pass(ctx *fasthttp.RequestCtx, p *pool, l *link, h *fasthttp.ResponseHeader, last bool) error {
	last = last || h.ConnectionClose()
	h.ResetConnectionClose()
	for _, name := range []string{fasthttp.HeaderConnection, "Keep-Alive"} {
		if len(h.Peek(name)) > 0 { // a Del would change the order of other headers; owners do not send these two
			h.Del(name)
		}
	}
	n, body := h.ContentLength(), hasBody(ctx, h)
	if body && n < chunked {
		return errUnending
	}
	if n == chunked || body && n > wholeAnswer {
		f.stream(ctx, p, l, h, &passing{link: l, length: n, body: body, last: last})
		return nil
	}
	h.CopyTo(&ctx.Response.Header)
	if body {
		if err := ctx.Response.ReadBody(l.in, wholeAnswer); err != nil {
			return fmt.Errorf("read the answer's body: %w", err)
		}
	}
	if last {
		p.drop(l)
	} else {
		p.put(l)
	}
	return nil
}

// chunked is the length of a body in chunks.
const chunked = -1

// passing is an answer that is passed on piece by piece.
type passing struct {
	*link
	length int  // bytes, or chunked
	body   bool // false: only the head is sent
	last   bool // the connection must not be used again
	whole  bool // the body has been read to its end
}

// stream answers the client with an answer that is passed on while it arrives.
func (f *Forwarder) stream(ctx *fasthttp.RequestCtx, p *pool, l *link, h *fasthttp.ResponseHeader, a *passing) {
	path, id := redact.Path(string(ctx.Path())), httpapi.RequestID(ctx)
	httpapi.Stream(ctx, "", httpapi.Streamed{Write: a.write, Done: func(err error) {
		if err != nil {
			f.Log.Error("forward: an answer broke off", "request_id", id, "owner", p.name, "path", path, "error", err)
		}
		switch {
		case err != nil:
			p.fail(l)
		case a.last || a.body && !a.whole || !a.body:
			p.drop(l)
		default:
			p.put(l)
		}
	}})
	h.CopyTo(&ctx.Response.Header)
}

var pieces = sync.Pool{New: func() any { return new([pieceSize]byte) }}

// write passes the body on.
func (a *passing) write(w io.Writer) error {
	room := pieces.Get().(*[pieceSize]byte)
	defer pieces.Put(room)
	if a.length != chunked {
		n, err := io.CopyBuffer(w, io.LimitReader(a.in, int64(a.length)), room[:])
		if err == nil && n < int64(a.length) {
			err = io.ErrUnexpectedEOF
		}
		a.whole = err == nil
		return err
	}
	if _, err := io.CopyBuffer(w, httputil.NewChunkedReader(a.in), room[:]); err != nil {
		return err
	}
	end, err := a.in.ReadSlice('\n')
	if err == nil && string(end) != "\r\n" {
		a.last = true // fields behind the last chunk, which no handler here sends
	}
	a.whole = err == nil
	return err
}
