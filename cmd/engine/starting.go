package engine

import (
	"context"
	"errors"

	"pixd/wal"
)

// ErrStopped says that a start ended because Config.Starting or SimConfig.Starting did.
// Everything that the start had opened is closed.
var ErrStopped = errors.New("stopped during the start")

// stopped returns ErrStopped in place of the error of a start that ctx has ended.
func stopped(ctx context.Context, err error) error {
	if ctx != nil && errors.Is(err, context.Canceled) {
		return ErrStopped
	}
	return err
}

// goesOn returns an error once the start must end.
func (c *Config) goesOn() error {
	if c.Starting == nil {
		return nil
	}
	return c.Starting.Err()
}

// starting is the journal as a start reads it: a reader of many records ends where the start
// must end.
type starting struct {
	*wal.Store
	c *Config
}

// Read implements registry.Journal.
func (s starting) Read(stream wal.Stream, from, prev uint64, fn func(wal.Record) error) error {
	return s.Store.Read(stream, from, prev, func(r wal.Record) error {
		if err := s.c.goesOn(); err != nil {
			return err
		}
		return fn(r)
	})
}
