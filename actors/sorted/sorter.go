// Package sorted puts rows in the order of their keys, more of them than fit in
// memory: what comes is sorted in parts, each part is written to a file without a
// name, and the parts are merged when they are read. Of rows under one key, the
// newest stays.
package sorted

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
)

// Row is a key that was written or deleted, and by which record.
type Row struct {
	Key     []byte
	Value   []byte
	Deleted bool
	Order   uint64 // of rows under one key, the one with the highest stays
	Stream  uint64 // the record's
	Seq     uint64
}

// Sorter takes rows in any order of their keys, those under one key in ascending
// Order.
type Sorter struct {
	file *os.File
	end  int64 // of the file
	room int

	arena  []byte
	places []place
	runs   []run
	packed []byte // of the run being written
}

// place is where a row lies in the arena.
type place struct {
	prefix   uint64 // the key's first bytes, so that most comparisons are of one number
	key, end uint32 // where the key begins, and the row ends
	body     uint32 // where the rest of the row begins
}

// run is a sorted part in the file.
type run struct{ from, to int64 }

// New is a sorter that holds at most about twice room bytes in memory, and what is
// more in a file in dir (empty: the system's folder for temporary files). The file
// has no name once it is open, so that nothing is left behind however the process
// ends.
func New(dir string, room int) (*Sorter, error) {
	f, err := os.CreateTemp(dir, "pixd-rows-")
	if err != nil {
		return nil, fmt.Errorf("sort rows: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, fmt.Errorf("sort rows: %w", errors.Join(err, f.Close()))
	}
	return &Sorter{file: f, room: room}, nil
}

// Close gives the file back.
func (s *Sorter) Close() error { return s.file.Close() }

// Add takes a row; its bytes are copied.
func (s *Sorter) Add(r *Row) error {
	if len(s.arena)+len(r.Key)+len(r.Value)+maxBody > s.room && len(s.places) > 0 {
		if err := s.flush(); err != nil {
			return err
		}
	}
	if need := len(s.arena) + len(r.Key) + len(r.Value) + maxBody; need > cap(s.arena) {
		s.arena = append(make([]byte, 0, max(need, min(2*cap(s.arena), s.room))), s.arena...)
	}
	p := place{prefix: prefixOf(r.Key), key: uint32(len(s.arena))}
	s.arena = append(s.arena, r.Key...)
	p.body = uint32(len(s.arena))
	s.arena = appendBody(s.arena, r)
	p.end = uint32(len(s.arena))
	s.places = append(s.places, p)
	return nil
}

const maxBody = 4 * binary.MaxVarintLen64

// appendBody appends all of a row but its key.
func appendBody(b []byte, r *Row) []byte {
	b = binary.AppendUvarint(b, r.Order)
	b = binary.AppendUvarint(b, r.Stream)
	b = binary.AppendUvarint(b, r.Seq)
	if r.Deleted {
		return append(b, 0)
	}
	return append(append(b, 1), r.Value...)
}

// readBody reads it.
func (r *Row) readBody(b []byte) {
	for _, to := range []*uint64{&r.Order, &r.Stream, &r.Seq} {
		var n int
		*to, n = binary.Uvarint(b)
		b = b[n:]
	}
	r.Deleted, r.Value = b[0] == 0, b[1:]
}

// prefixOf is a key's first eight bytes, as a number that sorts like them.
func prefixOf(key []byte) uint64 {
	var p [8]byte
	copy(p[:], key)
	return binary.BigEndian.Uint64(p[:])
}

// flush writes what is in memory as one run.
func (s *Sorter) flush() error {
	slices.SortFunc(s.places, func(a, b place) int {
		switch {
		case a.prefix < b.prefix:
			return -1
		case a.prefix > b.prefix:
			return 1
		}
		if c := bytes.Compare(s.arena[a.key:a.body], s.arena[b.key:b.body]); c != 0 {
			return c
		}
		return int(a.key) - int(b.key) // in the order of their coming
	})
	from := s.end
	var last []byte
	for i, p := range s.places {
		key := s.arena[p.key:p.body]
		if i+1 < len(s.places) {
			if next := s.places[i+1]; next.prefix == p.prefix && bytes.Equal(key, s.arena[next.key:next.body]) {
				continue // a newer one stays
			}
		}
		s.pack(last, key, s.arena[p.body:p.end])
		last = key
		if len(s.packed) >= writeSize {
			if err := s.write(); err != nil {
				return err
			}
		}
	}
	if err := s.write(); err != nil {
		return err
	}
	s.runs = append(s.runs, run{from, s.end})
	s.arena, s.places = s.arena[:0], s.places[:0]
	return nil
}

const writeSize = 256 << 10

// pack appends a row as it lies in the file: how much of the key before it it
// shares, and the rest.
func (s *Sorter) pack(last, key, body []byte) {
	shared := 0
	for shared < min(len(last), len(key)) && last[shared] == key[shared] {
		shared++
	}
	s.packed = binary.AppendUvarint(s.packed, uint64(shared))
	s.packed = binary.AppendUvarint(s.packed, uint64(len(key)-shared))
	s.packed = binary.AppendUvarint(s.packed, uint64(len(body)))
	s.packed = append(append(s.packed, key[shared:]...), body...)
}

func (s *Sorter) write() error {
	n, err := s.file.Write(s.packed)
	s.end += int64(n)
	s.packed = s.packed[:0]
	if err != nil {
		return fmt.Errorf("sort rows: %w", err)
	}
	return nil
}
