// Package waltest holds what every journal has to do, whatever it is made of.
package waltest

import (
	"pixd/wal"
)

// Reader reads rows in key order.
type Reader interface {
	Get(key []byte) (value []byte, ok bool, err error)
	Scan(lo, hi []byte, fn func(k, v []byte) (more bool, err error)) error
	ScanBack(lo, hi []byte, fn func(k, v []byte) (more bool, err error)) error
}

// View is a Reader at one moment.
type View interface {
	Reader
	Ticket() wal.Ticket
	Close() error
}

// Journal is what the contract asks for. View returns this package's type, so
// a body whose View returns its own needs an adapter of one line.
type Journal interface {
	Reader
	Append(e *wal.Entry) wal.Ticket
	Submitted() wal.Ticket
	Durable() wal.Ticket
	View() View
	Read(stream wal.Stream, from, prev uint64, fn func(wal.Record) error) error
	Last(stream wal.Stream) (seq, sum uint64, err error)
}
