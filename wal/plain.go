package wal

import (
	"errors"
	"io"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// IsDamage reports whether an error means that bytes on disk are not what was written, or
// that a record is missing.
func IsDamage(err error) bool {
	return pebble.IsCorruptionError(err) || errors.As(err, new(cutOff)) || errors.As(err, new(*Damage)) && !errors.As(err, new(unread))
}

// IsUnread reports whether an error means that the disk did not give the bytes. Nothing is known
// of what they are: the same read may succeed when it is tried again.
func IsUnread(err error) bool { return errors.As(err, new(unread)) }

// unread is the error of a read that failed in Pebble or in the file system.
type unread struct{ error }

// Unwrap returns the error of the read.
func (e unread) Unwrap() error { return e.error }

// cutOff is the error of a read behind the end of a file, which ends too early.
type cutOff struct{ error }

// Unwrap returns the error of the read.
func (e cutOff) Unwrap() error { return e.error }

// plain removes the part of Pebble's message about damage that only Pebble's developers
// understand. An error that is not about damage becomes one of IsUnread.
func plain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		err = cutOff{err}
	case !pebble.IsCorruptionError(err):
		err = unread{err}
	}
	if !strings.Contains(err.Error(), carrier[2:]) {
		return err
	}
	return plainError{err}
}

const carrier = "; <corruption detail carrier>"

type plainError struct{ error }

// Error returns the message without that part.
func (e plainError) Error() string {
	return strings.NewReplacer(carrier, "", "\n"+carrier[2:], "").Replace(e.error.Error())
}

// Unwrap returns Pebble's error.
func (e plainError) Unwrap() error { return e.error }
