package wal

import "encoding/binary"

// The verified mark says up to where the chain of batches need not be verified
// again at the next open: what is in tables, whose blocks carry checksums, and
// was either written by this process or verified by it. It never passes the
// anchor.
const markName = ownPrefix + "verified"

func markValue(h head) []byte {
	b := binary.BigEndian.AppendUint64(nil, h.position)
	b = binary.BigEndian.AppendUint64(b, uint64(h.time))
	return binary.BigEndian.AppendUint64(b, h.sum)
}

func decodeMark(b []byte) (head, bool) {
	if len(b) != 24 {
		return head{}, false
	}
	return head{
		position: binary.BigEndian.Uint64(b),
		time:     int64(binary.BigEndian.Uint64(b[8:])),
		sum:      binary.BigEndian.Uint64(b[16:]),
	}, true
}

// writeMark moves the mark to what has been flushed, through the writer.
func (s *Store) writeMark() {
	position := min(s.notes.flushed.Load(), s.anchored.position)
	if position <= s.marked {
		return
	}
	h, err := s.batchHead(position)
	if err != nil {
		s.opts.Log.Error("wal: read batch for the verified mark", "dir", s.opts.Dir, "err", err)
		return
	}
	s.marked = position
	s.submit(&Entry{Ops: []Op{{Kind: OpSet, Key: metaKey(markName), Value: markValue(h)}}})
}
