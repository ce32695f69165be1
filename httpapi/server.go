package httpapi

import (
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
	idleTimeout = 2 * time.Minute
	// A payout's answer may take lookup, submit and a grace on top; the deadline
	// must never be what decides.
	writeTimeout = 2 * time.Minute
)

// NewServer is a server for a listener's handler; name is what its log lines say.
func NewServer(h fasthttp.RequestHandler, name string, log *slog.Logger) *fasthttp.Server {
	log = log.With("listener", name)
	return &fasthttp.Server{
		Handler:      h,
		ErrorHandler: func(ctx *fasthttp.RequestCtx, err error) { unreadable(ctx, err) },
		Logger:       serverLog{log},

		ReadTimeout:        readTimeout,
		WriteTimeout:       writeTimeout,
		IdleTimeout:        idleTimeout,
		ReadBufferSize:     maxHeader,
		MaxRequestBodySize: maxBody,

		SecureErrorLogMessage: true, // else a failed request's headers, and so secrets, are logged
		NoDefaultServerHeader: true,
		NoDefaultContentType:  true,
		CloseOnShutdown:       true,
		// A multipart body is judged like any other.
		DisablePreParseMultipartForm: true,
	}
}

// unreadable answers a request that never reached a handler.
func unreadable(ctx *fasthttp.RequestCtx, err error) {
	var small *fasthttp.ErrSmallBuffer
	var network net.Error
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		drain(ctx.Conn())
		answerError(ctx, fasthttp.StatusRequestEntityTooLarge, "the body is larger than 256 KiB", "")
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
)

func drain(c net.Conn) {
	var room [8 << 10]byte
	for n := 0; n < drainBytes; {
		if c.SetReadDeadline(time.Now().Add(drainPatient)) != nil {
			return
		}
		m, err := c.Read(room[:])
		if n += m; err != nil {
			return
		}
	}
}

// serverLog takes the server's own messages.
type serverLog struct{ log *slog.Logger }

// Printf implements fasthttp.Logger.
func (l serverLog) Printf(format string, args ...any) {
	l.log.Debug("http: server", "message", fmt.Sprintf(format, unquoted(args)...))
}
