package wal

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// The verified mark is a position in the journal. The next Open need not verify the chain
// of batches up to that position again, because these batches are in tables, whose blocks
// have checksums, and this process has written or verified them. The mark is never after
// the anchor.
const markName = ownPrefix + "verified"

func markValue(h Head) []byte {
	b := binary.BigEndian.AppendUint64(nil, h.Position)
	b = binary.BigEndian.AppendUint64(b, uint64(h.Time))
	return binary.BigEndian.AppendUint64(b, h.Sum)
}

func decodeMark(b []byte) (Head, bool) {
	if len(b) != 24 {
		return Head{}, false
	}
	return Head{
		Position: binary.BigEndian.Uint64(b),
		Time:     int64(binary.BigEndian.Uint64(b[8:])),
		Sum:      binary.BigEndian.Uint64(b[16:]),
	}, true
}

// readMark returns the mark and checks it against the batch that it names; the zero head
// where there is no mark. A mark after the anchor is not used: the anchor has then lost its
// newer slot, and everything is verified again.
func (s *Store) readMark(anchored uint64) (Head, error) {
	value, ok, err := get(s.source(), metaKey(markName))
	if err != nil || !ok {
		return Head{}, err
	}
	mark, whole := decodeMark(value)
	switch {
	case !whole:
		return Head{}, errors.New("the verified mark cannot be decoded")
	case mark.Position > anchored:
		s.opts.Log.Warn("wal: the anchor is behind the verified mark, verifying everything",
			"dir", s.opts.Dir, "anchor", anchored, "mark", mark.Position)
		return Head{}, nil
	case mark.Position == 0:
		return Head{}, nil
	}
	return mark, s.isBatch(mark)
}

// isBatch returns an error where the batch at the mark's position is another one.
func (s *Store) isBatch(mark Head) error {
	at, err := s.batchHead(mark.Position)
	if err == nil && at != mark {
		err = damagedBatch(mark.Position, "is not the one that the verified mark names")
	}
	return err
}

// writeMark sets the mark to the newest position that has been flushed into tables. It
// appends an entry for that, as a caller would.
func (s *Store) writeMark() {
	position := min(s.notes.flushed.Load(), s.anchored.Position)
	if position <= s.marked {
		return
	}
	h, err := s.batchHead(position)
	if err != nil {
		s.opts.Log.Error("wal: read batch for the verified mark", "dir", s.opts.Dir, "err", err)
		return
	}
	s.marked = position
	if s.shared != nil {
		if err := s.db.Set(metaKey(markName), markValue(h), pebble.NoSync); err != nil {
			s.fail.fail(fmt.Errorf("wal: write %s: %w", s.opts.Dir, err))
		}
		return
	}
	s.submit(&Entry{Ops: []Op{{Kind: OpSet, Key: metaKey(markName), Value: markValue(h)}}})
}
