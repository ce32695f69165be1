package httpapi

import (
	"bytes"

	"github.com/valyala/fasthttp"
)

// It must be certain where a message ends: if a proxy in front of this server found the end
// elsewhere, one client's bytes would become another client's request. fasthttp accepts some
// ambiguous forms, so judge examines every header block again, from its bytes. A request that
// fasthttp itself refuses is answered by unreadable. In both cases the connection ends.

// flaw names the fault of a request's head; sound, 0, means that there is none.
type flaw byte

const (
	sound flaw = iota
	flawVersion
	flawMethod
	flawTarget
	flawLine
	flawName
	flawHost
	flawLength
	flawCoding
	flawBoth
	flawTwice
	flawExpect
	flawLines
	flawRoom
)

var flaws = [...]struct {
	status  int
	message string
}{
	flawVersion: {fasthttp.StatusHTTPVersionNotSupported, "this server speaks HTTP/1.1 and HTTP/1.0"},
	flawMethod:  {fasthttp.StatusBadRequest, "the request line has no method"},
	flawTarget:  {fasthttp.StatusBadRequest, "the request target must be a path"},
	flawLine:    {fasthttp.StatusBadRequest, "a header line is folded, has no name, or does not end in CR LF"},
	flawName:    {fasthttp.StatusBadRequest, "a header's name has a character that no name may have"},
	flawHost:    {fasthttp.StatusBadRequest, "the request must have one Host header"},
	flawLength:  {fasthttp.StatusBadRequest, "Content-Length must be there once at most, as a decimal number"},
	flawCoding:  {fasthttp.StatusBadRequest, "Transfer-Encoding must be there once at most, as chunked, in HTTP/1.1"},
	flawBoth:    {fasthttp.StatusBadRequest, "Content-Length and Transfer-Encoding exclude each other"},
	flawTwice:   {fasthttp.StatusBadRequest, "Authorization, hmac and, of a POST, Idempotency-Key must be there once at most"},
	flawRoom:    {fasthttp.StatusServiceUnavailable, "too many large bodies are on their way"},
	flawExpect:  {fasthttp.StatusRequestEntityTooLarge, bodyTooLarge},
	flawLines:   {fasthttp.StatusRequestHeaderFieldsTooLarge, "there are more than 128 headers"},
}

// received examines a request's head before its body is read. A request with a flaw is passed
// on without a body and with a method that encodes the flaw, for answerFlaws; nothing more is
// read from the connection. If a client sends such a method, judge refuses it.
func (b *bodies) received(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	f := judge(h)
	if bytes.Count(h.RawHeaders(), lineEnd) > b.headers+1 {
		f = flawLines // while the body is awaited, each takes 72 bytes and more
	}
	if f == sound && !b.reserveBody(h) {
		f = flawRoom
	}
	if f != sound {
		h.Del(fasthttp.HeaderExpect) // otherwise the server would ask the client to send the body
		h.SetContentLength(0)
		h.SetRequestURI("/")
		h.SetHost("-")
		h.SetMethodBytes([]byte{flawMark, flawZero + byte(f)}) // a letter encodes the flaw, because fasthttp replaces line breaks in a method
		h.SetConnectionClose()
	} else if h.ContentLength() == chunkedLength {
		// fasthttp reads the trailer after the last chunk less strictly than a head, and
		// does not expose its bytes. So no bytes after this request are read as another
		// request.
		h.SetConnectionClose()
	}
	return fasthttp.RequestConfig{}
}

// maxHeaders is the largest number of lines in a head, without the empty one at its end.
const maxHeaders = 128

var lineEnd = []byte{'\n'}

const (
	flawMark      = ':'
	flawZero      = 'a'
	chunkedLength = -1
)

// answerFlaws answers the requests that received has marked with a flaw.
func answerFlaws(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		if m := ctx.Method(); len(m) == 2 && m[0] == flawMark {
			f := flaws[m[1]-flawZero]
			if f.status == fasthttp.StatusServiceUnavailable {
				unavailable(ctx, f.message)
				return
			}
			answerError(ctx, f.status, f.message, "")
			return
		}
		next(ctx)
	}
}

func judge(h *fasthttp.RequestHeader) flaw {
	if !token(h.Method()) {
		return flawMethod // also the answer to a client that sends a method which encodes a flaw
	}
	if !h.IsHTTP11() && string(h.Protocol()) != "HTTP/1.0" {
		return flawVersion
	}
	if t := h.RequestURI(); t[0] != '/' || len(t) > 1 && t[1] == '/' && (len(h.Host()) == 0 || bytes.Contains(t, schemeMark)) {
		return flawTarget // in the second case fasthttp would take the target for //host/path
	}
	var s framing
	if f := s.read(h.RawHeaders()); f != sound {
		return f
	}
	switch {
	case s.hosts > 1 || s.hosts == 0 && h.IsHTTP11():
		return flawHost
	case s.lengths > 1:
		return flawLength
	case s.codings > 1 || s.codings == 1 && !h.IsHTTP11():
		return flawCoding
	case s.lengths == 1 && s.codings == 1:
		return flawBoth
	case s.credentials > 1 || s.signatures > 1 || s.keys > 1 && h.IsPost():
		return flawTwice // a proxy in front may have read the other of the two values
	case s.expects && h.ContentLength() > maxBody:
		return flawExpect // the client waits for an answer before it sends the too large body
	}
	return sound
}

// framing counts, in one request's header block, the headers that must not be repeated: Host,
// Content-Length, Transfer-Encoding, Authorization, hmac and Idempotency-Key. expects reports
// whether there is an Expect header.
type framing struct {
	hosts, lengths, codings       int
	credentials, signatures, keys int
	expects                       bool
}

var (
	schemeMark  = []byte("://")
	hostName    = []byte("host")
	expectName  = []byte("expect")
	lengthName  = []byte("content-length")
	codingName  = []byte("transfer-encoding")
	chunkedWord = []byte("chunked")
	authName    = []byte("authorization")
	hmacName    = []byte("hmac")
	keyName     = []byte("idempotency-key")
)

// read goes through a header block: lines that end in CR LF, and an empty line at the end.
// An empty block has no headers.
func (s *framing) read(block []byte) flaw {
	for len(block) > 0 {
		end := bytes.IndexByte(block, '\n')
		if end < 1 || bytes.IndexByte(block[:end], '\r') != end-1 {
			return flawLine
		}
		line := block[:end-1]
		block = block[end+1:]
		if len(line) == 0 {
			if len(block) > 0 {
				return flawLine
			}
			return sound
		}
		colon := bytes.IndexByte(line, ':')
		if colon < 1 || line[0] == ' ' || line[0] == '\t' {
			return flawLine
		}
		if f := s.header(line[:colon], line[colon+1:]); f != sound {
			return f
		}
	}
	return sound
}

func (s *framing) header(name, value []byte) flaw {
	if !token(name) {
		return flawName
	}
	switch {
	case len(name) == len(authName) && bytes.EqualFold(name, authName):
		s.credentials++
	case len(name) == len(keyName) && bytes.EqualFold(name, keyName):
		s.keys++
	case len(name) == len(hostName) && bytes.EqualFold(name, hostName):
		s.hosts++
	case len(name) == len(hmacName) && bytes.EqualFold(name, hmacName):
		s.signatures++
	case len(name) == len(expectName) && bytes.EqualFold(name, expectName):
		s.expects = true
	case len(name) == len(lengthName) && bytes.EqualFold(name, lengthName):
		s.lengths++
		if !decimal(bytes.Trim(value, " \t")) {
			return flawLength
		}
	case len(name) == len(codingName) && bytes.EqualFold(name, codingName):
		s.codings++
		if !bytes.EqualFold(bytes.Trim(value, " \t"), chunkedWord) {
			return flawCoding
		}
	}
	return sound
}

func decimal(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}

func token(name []byte) bool {
	for _, c := range name {
		if !nameBytes[c] {
			return false
		}
	}
	return len(name) > 0
}

// nameBytes has true for the bytes that a header's name or a method may have (RFC 9110,
// token).
var nameBytes = func() (table [256]bool) {
	for _, c := range []byte("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		table[c] = true
	}
	return table
}()
