package wal

import (
	"errors"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// IsDamage tells an error that says: these bytes are not what was written, or a
// record is not where it must be.
func IsDamage(err error) bool {
	return pebble.IsCorruptionError(err) || errors.As(err, new(*Damage))
}

// plain leaves out of Pebble's words on damage what only its makers understand.
func plain(err error) error {
	if err == nil || !strings.Contains(err.Error(), carrier) {
		return err
	}
	return plainError{err}
}

const carrier = "; <corruption detail carrier>"

type plainError struct{ error }

// Error is the message on one line.
func (e plainError) Error() string { return strings.ReplaceAll(e.error.Error(), carrier, "") }

// Unwrap gives the error as it was.
func (e plainError) Unwrap() error { return e.error }
