package serving

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/valyala/fasthttp"
)

// Patience is the longest time from the beginning of a shutdown for which requests in
// hand may go on. lastWords is the time, after the last handler has returned, in which
// answers may still be sent.
const (
	Patience  = 10 * time.Second
	lastWords = 250 * time.Millisecond
)

// Close ends a server. Requests that are still in hand after a quarter of a second are cut.
func Close(server *fasthttp.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	if err := server.ShutdownWithContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// Drain ends a server: it returns when no request was in hand at two ticks in a row, or
// when Patience is over.
func Drain(server *fasthttp.Server, busy func() bool, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- server.ShutdownWithContext(ctx) }()
	tick := time.NewTicker(lastWords)
	defer tick.Stop()
	idle := false
	for {
		select {
		case err := <-done:
			if errors.Is(err, context.DeadlineExceeded) {
				log.Warn("requests in hand did not finish in time; their connections are cut")
				return nil
			}
			return err
		case <-tick.C:
			if now := !busy(); now && idle {
				return nil // the connections that are still open have no request
			} else {
				idle = now
			}
		}
	}
}
