package engine

import (
	"errors"

	"pixd/cmd/serving"
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
	err := serving.Close(s.admin)
	if s.notices != nil {
		err = errors.Join(err, serving.Close(s.notices))
	}
	return err
}

// finish waits for the requests in hand, including requests still arriving, but not for idle
// connections. Where several nodes share the journal, the others may send requests all the while: it waits for
// those of its own connections alone. The server takes one that has brought nothing yet for one with a request, and
// would not end before those of the others do.
func (s *Served) finish() error {
	return serving.Drain(s.merchant, func() bool {
		return s.connections.Midway() != 0 || s.Config.Shared == nil && s.meters.merchant.InHand.Load() != 0
	}, s.Config.Log)
}
