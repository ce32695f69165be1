package engine

import (
	"context"
	"errors"
	"time"
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

// lastProbe ends the operator API.
func (s *Served) lastProbe() error {
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	if err := s.admin.ShutdownWithContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// finish waits for the requests in hand, those that are still arriving included,
// and not for connections that only might bring one.
func (s *Served) finish() error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownPatience)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.merchant.ShutdownWithContext(ctx) }()
	tick := time.NewTicker(lastWords)
	defer tick.Stop()
	idle := false
	for {
		select {
		case err := <-done:
			if errors.Is(err, context.DeadlineExceeded) {
				s.Config.Log.Warn("requests in hand did not finish in time; their connections are cut")
				return nil
			}
			return err
		case <-tick.C:
			if now := s.meters.merchant.inHand.Load() == 0 && s.connections.Midway() == 0; now && idle {
				return nil // the rest are connections without a request
			} else {
				idle = now
			}
		}
	}
}
