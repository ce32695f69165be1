package wal

import (
	"bytes"
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2"
)

// source is the database, or a snapshot of it. All reads go through it, so that a test can make
// any of them fail.
type source struct {
	from  pebble.Reader
	fault func() error // see Options.ReadFault
}

func (s *Store) source() source { return source{s.db, s.opts.ReadFault} }

func (v *View) source() source { return source{v.snap, v.store.opts.ReadFault} }

// Get reads one key; see pebble.Reader.
func (s source) Get(key []byte) ([]byte, io.Closer, error) {
	if s.fault != nil {
		if err := s.fault(); err != nil {
			return nil, nil, err
		}
	}
	return s.from.Get(key)
}

// probe reads one key, and asks the filters of all levels before it reads a block. Get does not ask
// those of the lowest level, and so meets damage there that is not the key's.
func (s source) probe(key []byte) (value []byte, ok bool, err error) {
	if s.fault != nil {
		if err := s.fault(); err != nil {
			return nil, false, err
		}
	}
	it, err := s.from.NewIter(&pebble.IterOptions{UseL6Filters: true})
	if err != nil {
		return nil, false, err
	}
	if ok = it.SeekPrefixGE(key); ok {
		if value, err = it.ValueAndErr(); err == nil {
			value = bytes.Clone(value)
		}
	}
	return value, ok, errors.Join(err, it.Close())
}

// NewIter makes an iterator over the keys in [lo, hi).
func (s source) NewIter(lo, hi []byte) (iterator, error) {
	if s.fault != nil {
		if err := s.fault(); err != nil {
			return iterator{}, err
		}
	}
	it, err := s.from.NewIter(&pebble.IterOptions{LowerBound: lo, UpperBound: hi})
	return iterator{it, s.fault}, err
}

// iterator is an iterator of Pebble. Each read of a value can fail.
type iterator struct {
	*pebble.Iterator
	fault func() error
}

// ValueAndErr reads the value at the iterator's position; see pebble.Iterator.
func (i iterator) ValueAndErr() ([]byte, error) {
	if i.fault != nil {
		if err := i.fault(); err != nil {
			return nil, err
		}
	}
	return i.Iterator.ValueAndErr()
}
