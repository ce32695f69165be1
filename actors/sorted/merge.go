package sorted

import (
	"bufio"
	"bytes"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Merged iterates over all rows of several sorters in the order of their keys. For each key
// it returns only the newest row, which may be a deletion.
type Merged struct {
	heap cursors
	row  Row
	key  []byte // key of the current row, and the rest of the row: copies that stay valid when the cursor moves on
	body []byte
	err  error
}

// Merge makes a Merged over the rows of sorters. No row may be added to the sorters
// afterwards. Several sorters may have rows under the same key.
func Merge(from ...*Sorter) (*Merged, error) {
	m := &Merged{}
	for _, s := range from {
		if len(s.places) > 0 {
			if err := s.flush(); err != nil {
				return nil, err
			}
		}
		s.arena, s.places, s.packed = nil, nil, nil
		for _, r := range s.runs {
			c := &cursor{in: bufio.NewReaderSize(io.NewSectionReader(s.file, r.from, r.to-r.from), readSize)}
			if more, err := c.next(); err != nil {
				return nil, err
			} else if more {
				m.heap = append(m.heap, c)
			}
		}
	}
	heap.Init(&m.heap)
	return m, nil
}

const readSize = 64 << 10

// Next moves to the next key. It returns false at the end and after an error.
func (m *Merged) Next() bool {
	if m.err != nil || len(m.heap) == 0 {
		return false
	}
	top := m.heap[0]
	m.key = append(m.key[:0], top.row.Key...)
	m.body = append(m.body[:0], top.body...)
	for len(m.heap) > 0 && bytes.Equal(m.heap[0].row.Key, m.key) {
		if m.err = m.advance(); m.err != nil {
			return false
		}
	}
	m.row.Key = m.key
	m.row.readBody(m.body)
	return true
}

// advance moves the cursor with the smallest key to its next row.
func (m *Merged) advance() error {
	more, err := m.heap[0].next()
	if more {
		heap.Fix(&m.heap, 0)
	} else {
		heap.Pop(&m.heap)
	}
	return err
}

// Row returns the row that Next has moved to. It is valid until the next call of Next.
func (m *Merged) Row() *Row { return &m.row }

// Err returns the error that stopped Next; nil: Next was not stopped by an error.
func (m *Merged) Err() error { return m.err }

// cursor reads the rows of one run.
type cursor struct {
	in   *bufio.Reader
	row  Row
	body []byte
}

// next reads the run's next row; false at the end of the run.
func (c *cursor) next() (bool, error) {
	shared, err := binary.ReadUvarint(c.in)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	own, err1 := binary.ReadUvarint(c.in)
	length, err2 := binary.ReadUvarint(c.in)
	if err := errors.Join(err, err1, err2); err != nil {
		return false, fmt.Errorf("read sorted rows: %w", err)
	}
	c.row.Key = resized(c.row.Key[:shared], int(own))
	c.body = resized(c.body[:0], int(length))
	if _, err := io.ReadFull(c.in, c.row.Key[shared:]); err != nil {
		return false, fmt.Errorf("read sorted rows: %w", err)
	}
	if _, err := io.ReadFull(c.in, c.body); err != nil {
		return false, fmt.Errorf("read sorted rows: %w", err)
	}
	c.row.Order, _ = binary.Uvarint(c.body)
	return true, nil
}

// resized returns b, longer by n bytes.
func resized(b []byte, n int) []byte {
	for cap(b) < len(b)+n {
		b = append(b[:cap(b)], 0)[:len(b)]
	}
	return b[:len(b)+n]
}

// cursors is a heap: the smallest key first; of equal keys the newest row first.
type cursors []*cursor

func (h cursors) Len() int { return len(h) }
func (h cursors) Less(i, j int) bool {
	if c := bytes.Compare(h[i].row.Key, h[j].row.Key); c != 0 {
		return c < 0
	}
	return h[i].row.Order > h[j].row.Order
}
func (h cursors) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *cursors) Push(c any) { *h = append(*h, c.(*cursor)) }

// Pop implements heap.Interface.
func (h *cursors) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
