package engine

import (
	"context"
	"errors"

	"pixd/wal"
)

// ErrStopped says that a start ended because Config.Starting or SimConfig.Starting did. Where
// something could not be closed then, it is joined with the errors about that; see Stopped.
var ErrStopped = errors.New("stopped during the start")

// Stopped reports whether a start ended because it was to end, and everything that it had opened is
// closed.
func Stopped(err error) bool { return solely(err, ErrStopped) }

// Canceled reports whether work ended because its context did, and for no other reason.
func Canceled(err error) bool { return solely(err, context.Canceled) }

// stopped returns ErrStopped in place of the error of a start that ctx has ended. An error that
// says anything else is returned as it is.
func stopped(ctx context.Context, err error) error {
	if ctx != nil && ctx.Err() != nil && solely(err, context.Canceled) {
		return ErrStopped
	}
	return err
}

// Ended returns ErrStopped in place of the error of a start that ctx has ended.
func Ended(ctx context.Context, err error) error { return stopped(ctx, err) }

// solely reports whether an error is the target or wraps it, and is joined with no other error.
func solely(err, target error) bool {
	switch e := err.(type) { //nolint:errorlint // it looks at each error of the tree
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if !solely(one, target) {
				return false
			}
		}
		return len(e.Unwrap()) > 0
	case interface{ Unwrap() error }:
		return solely(e.Unwrap(), target)
	}
	return err == target //nolint:errorlint // it wraps nothing
}

// goesOn returns an error once the start must end.
func (c *Config) goesOn() error {
	if c.Starting == nil {
		return nil
	}
	return c.Starting.Err()
}

// startReader is the journal as a start reads it: a reader of many records ends where the start
// must end.
type startReader struct {
	*wal.Store
	c *Config
}

// Read implements registry.Journal.
func (s startReader) Read(stream wal.Stream, from, prev uint64, fn func(wal.Record) error) error {
	return s.Store.Read(stream, from, prev, func(r wal.Record) error {
		if err := s.c.goesOn(); err != nil {
			return err
		}
		return fn(r)
	})
}
