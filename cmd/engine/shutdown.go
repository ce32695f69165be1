package engine

import (
	"errors"

	"pixd/cmd/serving"
)

// Shutdown stops accepting, finishes the requests in hand, those that are still arriving too, and closes. It does not
// wait for idle connections.
func (s *Served) Shutdown() error {
	s.ready.Store(false)
	err := serving.Drain(s.merchant, func() bool {
		return s.meters.merchant.InHand.Load() != 0 || s.connections.Midway() != 0
	}, s.Config.Log)
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
