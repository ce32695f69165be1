package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/valyala/fasthttp"
)

// How long requests in hand are given to finish, and how long their answers are
// given to leave once no handler has any.
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

// lastProbe ends the operator API, and what takes the scheme's notices: those
// that are not acknowledged by then come again.
func (s *Served) lastProbe() error {
	err := lastOf(s.admin)
	if s.notices != nil {
		err = errors.Join(err, lastOf(s.notices))
	}
	return err
}

// lastOf ends a server whose requests in hand may be cut.
func lastOf(server *fasthttp.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	if err := server.ShutdownWithContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// finish waits for the requests in hand, those that are still arriving included,
// and not for connections that only might bring one.
func (s *Served) finish() error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownPatience)
	defer cancel()
	return drained(ctx, s.merchant, func() bool {
		return s.meters.merchant.inHand.Load() != 0 || s.connections.Midway() != 0
	}, s.Config.Log)
}

// drained ends a server once it has not been busy for a moment, or ctx has ended.
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
				return nil // the rest are connections without a request
			} else {
				idle = now
			}
		}
	}
}
