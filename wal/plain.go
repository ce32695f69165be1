package wal

import (
	"errors"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// IsDamage reports whether an error means that bytes on disk are not what was written, or
// that a record is missing.
func IsDamage(err error) bool {
	return pebble.IsCorruptionError(err) || errors.As(err, new(*Damage))
}

// plain removes the part of Pebble's message about damage that only Pebble's developers
// understand.
func plain(err error) error {
	if err == nil || !strings.Contains(err.Error(), carrier[2:]) {
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
