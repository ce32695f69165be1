package httpapi

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	maxBody   = 256 << 10
	maxHeader = 16 << 10

	readTimeout = 30 * time.Second
	idleTimeout = 2 * time.Minute // longest time between two requests of a connection
	// A payout's answer may take the time of a look-up, a submit and a grace period. This
	// timeout is longer, so that it never ends such a request.
	writeTimeout = 2 * time.Minute
)

const bodyTooLarge = "the body is larger than 256 KiB"

// ServerOptions are the settings of a server.
type ServerOptions struct {
	Name         string         // of the listener, in the log
	Trusted      []netip.Prefix // proxies whose requests may bring an id, see RequestID
	NewRequestID func() string  // returns an id that no other request has; nil: each is "-"
	MoreHeaders  int            // how many headers a request may have beyond maxHeaders
	Log          *slog.Logger
}

func (o *ServerOptions) newID() string {
	if o.NewRequestID == nil {
		return "-"
	}
	return o.NewRequestID()
}

// NewServer returns a server that calls h for each request. Requests of which it is uncertain
// where they end are refused before h. The server must serve a Connections, which bounds the
// number of connections.
func NewServer(h fasthttp.RequestHandler, o ServerOptions) *fasthttp.Server {
	log := o.Log.With("listener", o.Name)
	b := newBodies()
	b.headers += o.MoreHeaders
	return &fasthttp.Server{
		Handler:        identified(released(answerFlaws(h)), &o),
		HeaderReceived: b.received,
		ErrorHandler: func(ctx *fasthttp.RequestCtx, err error) {
			ctx.Response.Header.Set(headerRequestID, o.newID())
			unreadable(ctx, err)
			ctx.Request = fasthttp.Request{} // the next connection would get its memory
		},
		Logger: serverLog{log},

		ReadTimeout:        readTimeout,
		WriteTimeout:       writeTimeout,
		IdleTimeout:        idleTimeout,
		ReadBufferSize:     maxHeader,
		MaxRequestBodySize: maxBody,

		// Never reached, because Connections refuses connections beyond its own, lower limit.
		// The server would answer such a connection in the loop that accepts, and wait there
		// for the client's part in the TLS handshake.
		Concurrency: 2 * MaxConnections,

		SecureErrorLogMessage: true, // otherwise the server logs the headers of a failed request, and secrets with them
		NoDefaultServerHeader: true,
		NoDefaultContentType:  true,
		CloseOnShutdown:       true,
		// A multipart body goes through the checks like any other body.
		DisablePreParseMultipartForm: true,
	}
}

// unreadable answers a request that the server could not read and that therefore reached no
// handler.
func unreadable(ctx *fasthttp.RequestCtx, err error) {
	var small *fasthttp.ErrSmallBuffer
	var network net.Error
	var plain tls.RecordHeaderError
	switch {
	case errors.As(err, &plain):
		answerPlain(plain.Conn)
		ctx.SetStatusCode(fasthttp.StatusBadRequest) // not sent: the metrics count answers by status
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

// The bounds on reading and dropping the rest of a body that is too large. The client must
// finish sending before it reads the answer, and closing a connection with unread bytes would
// reset it.
const (
	drainBytes   = 8 << 20
	drainPatient = 100 * time.Millisecond // the longest wait for the next byte
	drainLong    = 2 * time.Second        // the longest time in all, however slowly the bytes arrive
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

// answerTimeout is the longest time for writing an answer of a few bytes to a connection.
const answerTimeout = 100 * time.Millisecond

// say writes an answer to a connection that no server serves. If the client does not read,
// say gives up after answerTimeout.
func say(c net.Conn, answer []byte) {
	if patient(c, answerTimeout) == nil {
		_, _ = c.Write(answer)
	}
}

// patient has writes to a connection fail that are not over after the time d.
func patient(c net.Conn, d time.Duration) error { return c.SetWriteDeadline(time.Now().Add(d)) }

// answerPlain tells a client that speaks plain HTTP on a TLS port to use https. c is the
// connection below TLS; it is nil unless the client's first bytes were not TLS.
func answerPlain(c net.Conn) {
	if c != nil {
		say(c, bare(fasthttp.StatusBadRequest, 0, "this port speaks TLS: use https"))
	}
}

// serverLog logs the messages of the fasthttp server.
type serverLog struct{ log *slog.Logger }

// Printf implements fasthttp.Logger.
func (l serverLog) Printf(format string, args ...any) {
	l.log.Debug("http: server", "message", fmt.Sprintf(format, unquoted(args)...))
}
