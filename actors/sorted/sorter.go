// Package sorted sorts rows by their keys, even more rows than fit in memory. Rows are
// sorted in parts (runs), each run is written to a temporary file, and reading merges the
// runs. Of several rows with the same key, only the newest is returned.
package sorted

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
)

// Row is a key that a record of the journal wrote or deleted, and the record's place.
type Row struct {
	Key     []byte
	Value   []byte
	Deleted bool
	Order   uint64 // of several rows with the same key, the row with the highest Order is the newest
	Stream  uint64 // stream of the record in the journal
	Seq     uint64
}

// Sorter takes rows in any order of their keys. Rows under the same key must come in
// ascending Order.
type Sorter struct {
	file *os.File
	end  int64 // number of bytes written to the file so far
	room int

	arena  []byte
	places []place
	runs   []run
	packed []byte // encoded rows of the run that is being written
}

// place is the position of one row in the arena.
type place struct {
	prefix   uint64 // first eight bytes of the key as a number; most comparisons need no more of the key
	key, end uint32 // offset at which the key begins, and offset at which the row ends
	body     uint32 // offset at which the key ends and the rest of the row begins
}

// run is a sorted part of the file, given by its first offset and the offset after it.
type run struct{ from, to int64 }

// New makes a sorter that keeps at most about twice room bytes in memory, and all other
// rows in a file in dir (empty: the system's folder for temporary files). The file is
// removed from the folder once it is open, so that the file disappears however the process
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

// Close closes the file, whose space is then free again.
func (s *Sorter) Close() error { return s.file.Close() }

// Add adds a row; its bytes are copied.
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

// appendBody appends the encoding of a row without its key.
func appendBody(b []byte, r *Row) []byte {
	b = binary.AppendUvarint(b, r.Order)
	b = binary.AppendUvarint(b, r.Stream)
	b = binary.AppendUvarint(b, r.Seq)
	if r.Deleted {
		return append(b, 0)
	}
	return append(append(b, 1), r.Value...)
}

// readBody decodes what appendBody has encoded.
func (r *Row) readBody(b []byte) {
	for _, to := range []*uint64{&r.Order, &r.Stream, &r.Seq} {
		var n int
		*to, n = binary.Uvarint(b)
		b = b[n:]
	}
	r.Deleted, r.Value = b[0] == 0, b[1:]
}

// prefixOf is a key's first eight bytes as a number with the same order.
func prefixOf(key []byte) uint64 {
	var p [8]byte
	copy(p[:], key)
	return binary.BigEndian.Uint64(p[:])
}

// flush sorts the rows in memory and writes them to the file as one run.
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
		return int(a.key) - int(b.key) // rows with the same key stay in the order in which they were added
	})
	from := s.end
	var last []byte
	for i, p := range s.places {
		key := s.arena[p.key:p.body]
		if i+1 < len(s.places) {
			if next := s.places[i+1]; next.prefix == p.prefix && bytes.Equal(key, s.arena[next.key:next.body]) {
				continue // the next row has the same key and is newer, so this row is dropped
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

// pack encodes a row for the file: the number of bytes at the beginning of its key that are
// the same as in the previous row's key, and the rest of the row.
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
