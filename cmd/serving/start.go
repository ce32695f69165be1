// Package serving has what the engine and the simulator have in common as servers: how a start ends early, how ports are
// taken and left, the operators' token, and the process at the other end of the scheme protocol.
package serving

import (
	"context"
	"errors"
)

// ErrStopped says that a start ended because its context did. Where
// something could not be closed then, it is joined with the errors about that; see Stopped.
var ErrStopped = errors.New("stopped during the start")

// Stopped reports whether a start ended because it was to end, and everything that it had opened is
// closed.
func Stopped(err error) bool { return solely(err, ErrStopped) }

// Canceled reports whether work ended because its context did, and for no other reason.
func Canceled(err error) bool { return solely(err, context.Canceled) }

// Ended returns ErrStopped in place of the error of a start that ctx has ended. An error that
// says anything else is returned as it is. A nil ctx ends no start.
func Ended(ctx context.Context, err error) error {
	if ctx != nil && ctx.Err() != nil && solely(err, context.Canceled) {
		return ErrStopped
	}
	return err
}

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
