package forward

import (
	"bufio"
	"bytes"
	"net"
	"net/netip"
	"strconv"
	"sync"

	"github.com/valyala/fasthttp"

	"pixd/httpapi"
)

// The headers of the hop between two nodes.
const (
	headerClient = "Pixd-Forwarded-For"  // the client's address and port
	headerFace   = "Pixd-Forwarded-Face" // the handler that the request is for
	headerNode   = "Pixd-Forwarded-By"   // the name of the sending node
	headerID     = "Pixd-Forwarded-Id"   // the request's id

	hopPrefix = "pixd-forwarded-" // of the names above; no client's header with it is passed on

	headerNotOwner = "Pixd-Not-Owner" // in the answer of a node that has done nothing
)

// smallBody is the largest number of bytes of a body that is copied behind the head, so that both
// are written at once.
const smallBody = 16 << 10

// request is a request as it is written to the owner.
type request struct {
	head []byte // the head, and a small body
	body []byte // the body; empty: there is none, or it is in head
	tail []byte // what follows the body
}

var requests = sync.Pool{New: func() any { return new(request) }}

func (r *request) release() {
	r.body = nil
	requests.Put(r)
}

// newRequest makes what is written to the owner. It is good until the handler returns.
func (f *Forwarder) newRequest(ctx *fasthttp.RequestCtx, face Face) *request {
	r := requests.Get().(*request)
	h := &ctx.Request.Header
	b := append(r.head[:0], h.Method()...)
	b = append(b, ' ')
	b = append(b, h.RequestURI()...)
	b = append(b, ' ')
	b = append(b, h.Protocol()...)
	b = append(b, "\r\n"...)
	b, chunked := appendLines(b, h.RawHeaders())
	r.body, r.tail = ctx.Request.Body(), r.tail[:0]
	if chunked {
		b, r.tail = oneChunk(append(b, "\r\n"...), r.tail, r.body, h)
		r.tail = append(f.appendHop(r.tail, ctx, face), "\r\n"...)
	} else {
		b = append(f.appendHop(b, ctx, face), "\r\n"...)
	}
	if len(r.body)+len(r.tail) <= smallBody {
		b = append(b, r.body...)
		b = append(b, r.tail...)
		r.body, r.tail = nil, r.tail[:0]
	}
	r.head = b
	return r
}

// appendHop appends the hop's headers. They come last, behind the last chunk if there are chunks,
// because the receiving side can remove only the last headers without changing the order of the
// others.
func (f *Forwarder) appendHop(b []byte, ctx *fasthttp.RequestCtx, face Face) []byte {
	b = appendLine(b, headerClient, clientOf(ctx))
	b = appendLine(b, headerFace, string(face))
	b = appendLine(b, headerNode, f.Self)
	return appendLine(b, headerID, httpapi.RequestID(ctx))
}

// clientOf returns the client's address as it is passed on.
func clientOf(ctx *fasthttp.RequestCtx) string {
	if a, ok := ctx.RemoteAddr().(*net.TCPAddr); ok {
		return a.AddrPort().String()
	}
	return netip.AddrPortFrom(netip.IPv4Unspecified(), 0).String()
}

// appendLine appends a header line.
func appendLine(b []byte, name, value string) []byte {
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, value...)
	return append(b, "\r\n"...)
}

// appendLines appends the lines of a header block that are passed on, without the empty line at
// its end. chunked tells whether the body comes in chunks.
func appendLines(b, block []byte) (_ []byte, chunked bool) {
	for len(block) > 0 {
		end := bytes.IndexByte(block, '\n') + 1
		if end == 0 {
			end = len(block)
		}
		line := block[:end]
		block = block[end:]
		colon := bytes.IndexByte(line, ':')
		if colon < 0 {
			break // the empty line
		}
		name := line[:colon]
		if staysHere(name) {
			continue
		}
		chunked = chunked || equal(name, "transfer-encoding")
		b = append(b, line...)
	}
	return b, chunked
}

// staysHere tells whether a header is about the client's connection, or has a name that only the
// hop may use.
func staysHere(name []byte) bool {
	switch len(name) {
	case len("te"):
		return equal(name, "te")
	case len("upgrade"):
		return equal(name, "upgrade")
	case len("connection"): // and keep-alive
		return equal(name, "connection") || equal(name, "keep-alive")
	case len("proxy-connection"):
		return equal(name, "proxy-connection")
	}
	return len(name) > len(hopPrefix) && equal(name[:len(hopPrefix)], hopPrefix)
}

func equal(name []byte, lower string) bool {
	return len(name) == len(lower) && bytes.EqualFold(name, []byte(lower))
}

// oneChunk appends to a head the size of the chunk that a whole body becomes, and to tail what
// follows the body, without the empty line at the end.
func oneChunk(head, tail, body []byte, h *fasthttp.RequestHeader) (_, _ []byte) {
	if len(body) > 0 {
		head = strconv.AppendInt(head, int64(len(body)), 16)
		head = append(head, "\r\n"...)
		tail = append(tail, "\r\n"...)
	}
	tail = append(tail, "0\r\n"...)
	for _, line := range trailerOf(h) {
		if !staysHere(line[0]) {
			tail = appendLine(tail, string(line[0]), string(line[1]))
		}
	}
	return head, tail
}

// trailerOf returns the fields that came after the last chunk. The server adds them to the headers
// and does not tell which they are: they are those that the head alone does not have, and stand
// behind the others.
func trailerOf(h *fasthttp.RequestHeader) [][2][]byte {
	var alone fasthttp.RequestHeader
	var b bytes.Buffer
	b.WriteString("POST / HTTP/1.1\r\n")
	b.Write(h.RawHeaders())
	if alone.Read(bufio.NewReaderSize(&b, b.Len()+1)) != nil {
		return nil
	}
	head, all := fieldsOf(&alone), fieldsOf(h)
	if len(all) <= len(head) {
		return nil
	}
	return all[len(head):]
}

// fieldsOf returns a request's headers without those that the server itself sets.
func fieldsOf(h *fasthttp.RequestHeader) (all [][2][]byte) {
	for k, v := range h.All() {
		if !equal(k, "connection") && !equal(k, "transfer-encoding") && !equal(k, "content-length") {
			all = append(all, [2][]byte{bytes.Clone(k), bytes.Clone(v)})
		}
	}
	return all
}
