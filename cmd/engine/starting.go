package engine

import (
	"context"

	"pixd/wal"
)

// starting returns a context that ends once the start must end.
func (c *Config) starting() context.Context {
	if c.Starting == nil {
		return context.Background()
	}
	return c.Starting
}

// goesOn returns an error once the start must end.
func (c *Config) goesOn() error { return c.starting().Err() }

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
