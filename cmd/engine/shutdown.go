package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/valyala/fasthttp"
)

// shutdownPatience is the longest time from the beginning of a shutdown for which requests in
// hand may go on. lastWords is the time, after the last handler has returned, in which
// answers may still be sent.
const (
	shutdownPatience = 10 * time.Second
	lastWords        = 250 * time.Millisecond
)

// Shutdown stops accepting, finishes the requests in hand, and closes.
func (s *Served) Shutdown() error {
	s.ready.Store(false)
	err := s.finish()
	return errors.Join(err, s.lastProbe(), s.Engine.Close())
}

// lastProbe ends the operator API and the listener for notices. The scheme sends notices that
// are not acknowledged by this time again.
func (s *Served) lastProbe() error {
	err := lastOf(s.admin)
	if s.notices != nil {
		err = errors.Join(err, lastOf(s.notices))
	}
	return err
}

// lastOf ends a server. Requests that are still in hand after lastWords are cut.
func lastOf(server *fasthttp.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	if err := server.ShutdownWithContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// finish waits for the requests in hand, including requests still arriving, but not for idle
// connections.
func (s *Served) finish() error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownPatience)
	defer cancel()
	return drained(ctx, s.merchant, func() bool {
		return s.meters.merchant.InHand.Load() != 0 || s.connections.Midway() != 0
	}, s.Config.Log)
}

// drained ends a server: it returns when no request was in hand at two ticks in a row, or
// when ctx has ended.
func drained(ctx context.Context, server *fasthttp.Server, busy func() bool, log *slog.Logger) error {
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
