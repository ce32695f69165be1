package httpapi

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	maxBody   = 256 << 10
	maxHeader = 16 << 10

	readTimeout = 30 * time.Second
	idleTimeout = 2 * time.Minute // between a connection's requests
	// A payout's answer may take lookup, submit and a grace on top; the deadline
	// must never be what decides.
	writeTimeout = 2 * time.Minute
)

const bodyTooLarge = "the body is larger than 256 KiB"

// NewServer is a server for a listener's handler; name is what its log lines say.
// Requests that leave open where they end are refused before the handler. It is
// to serve a Connections, which bounds how many there are.
func NewServer(h fasthttp.RequestHandler, name string, log *slog.Logger) *fasthttp.Server {
	log = log.With("listener", name)
	b := newBodies()
	s := &fasthttp.Server{
		Handler:        answerFlaws(h),
		HeaderReceived: b.received,
		ErrorHandler:   func(ctx *fasthttp.RequestCtx, err error) { unreadable(ctx, err) },
		Logger:         serverLog{log},

		ReadTimeout:        readTimeout,
		WriteTimeout:       writeTimeout,
		IdleTimeout:        idleTimeout,
		ReadBufferSize:     maxHeader,
		MaxRequestBodySize: maxBody,

		// Out of reach: what is over a limit is turned away by Connections. This
		// server would answer it from the loop that accepts, and wait there for
		// the client's part in the TLS handshake.
		Concurrency: 2 * MaxConnections,

		SecureErrorLogMessage: true, // else a failed request's headers, and so secrets, are logged
		NoDefaultServerHeader: true,
		NoDefaultContentType:  true,
		CloseOnShutdown:       true,
		// A multipart body is judged like any other.
		DisablePreParseMultipartForm: true,
	}
	b.around(s)
	return s
}

// unreadable answers a request that never reached a handler.
func unreadable(ctx *fasthttp.RequestCtx, err error) {
	var small *fasthttp.ErrSmallBuffer
	var network net.Error
	var plain tls.RecordHeaderError
	switch {
	case errors.As(err, &plain):
		answerPlain(plain.Conn)
		ctx.SetStatusCode(fasthttp.StatusBadRequest) // for who counts
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		drain(ctx.Conn())
		answerError(ctx, fasthttp.StatusRequestEntityTooLarge, bodyTooLarge, "")
	case errors.As(err, &small):
		answerError(ctx, fasthttp.StatusRequestHeaderFieldsTooLarge, "the headers are larger than 16 KiB", "")
	case errors.As(err, &network) && network.Timeout():
		answerError(ctx, fasthttp.StatusRequestTimeout, "the request did not arrive in time", "")
	default:
		answerError(ctx, fasthttp.StatusBadRequest, "the request cannot be read", "")
	}
}

// What is read of a body that is too large, so that its sender finishes and
// reads the answer: closing on unread bytes would reset the connection.
const (
	drainBytes   = 8 << 20
	drainPatient = 100 * time.Millisecond // without another byte
	drainLong    = 2 * time.Second        // in all, however the bytes trickle
)

func drain(c net.Conn) {
	var room [8 << 10]byte
	last := time.Now().Add(drainLong)
	for n := 0; n < drainBytes; {
		until := time.Now().Add(drainPatient)
		if until.After(last) {
			until = last
		}
		if c.SetReadDeadline(until) != nil {
			return
		}
		m, err := c.Read(room[:])
		if n += m; err != nil {
			return
		}
	}
}

// answerTimeout is how long an answer of a few bytes may take to leave.
const answerTimeout = 100 * time.Millisecond

// say writes an answer to a connection that no server has, and does not wait for
// who does not read.
func say(c net.Conn, answer []byte) {
	if c.SetWriteDeadline(time.Now().Add(answerTimeout)) == nil {
		_, _ = c.Write(answer)
	}
}

// answerPlain tells a client that speaks plain HTTP to a TLS port what is wrong.
// c is the connection below TLS; nil where what came looked like no HTTP.
func answerPlain(c net.Conn) {
	if c != nil {
		say(c, bare(fasthttp.StatusBadRequest, 0, "this port speaks TLS: use https"))
	}
}

// serverLog takes the server's own messages.
type serverLog struct{ log *slog.Logger }

// Printf implements fasthttp.Logger.
func (l serverLog) Printf(format string, args ...any) {
	l.log.Debug("http: server", "message", fmt.Sprintf(format, unquoted(args)...))
}
