package wal

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The anchor is a small file outside Pebble's store that says how long the journal is. It
// has two slots, in different blocks of the file, which are written in turn: if a write is
// torn, the other slot, which is older, can still be read.
//
// slot: magic "pixdanch" | version u8 | state u8 | generation u64 | position u64 | batch sum u64 | checksum u64
const (
	anchorName    = "anchor"
	anchorMagic   = "pixdanch"
	anchorVersion = 1
	slotLen       = 8 + 1 + 1 + 8 + 8 + 8 + 8
	slotGap       = 4096

	stateCreating = 1 // the store is being created and not complete; no caller got an answer from it
	stateReady    = 2
)

// slot is the content of one slot: the state of the store, and the newest batch when the
// slot was written.
type slot struct {
	state      uint8
	generation uint64
	at         Head // the newest batch; its time is not stored in the slot
}

func (s slot) encode() []byte {
	b := make([]byte, 0, slotLen)
	b = append(b, anchorMagic...)
	b = append(b, anchorVersion, s.state)
	b = binary.BigEndian.AppendUint64(b, s.generation)
	b = binary.BigEndian.AppendUint64(b, s.at.Position)
	b = binary.BigEndian.AppendUint64(b, s.at.Sum)
	return binary.BigEndian.AppendUint64(b, xxhash.Sum64(b))
}

// decodeSlot decodes a slot; false for a slot that was never written or was torn.
func decodeSlot(b []byte) (slot, bool) {
	if len(b) < slotLen || string(b[:8]) != anchorMagic || b[8] != anchorVersion {
		return slot{}, false
	}
	if xxhash.Sum64(b[:slotLen-8]) != binary.BigEndian.Uint64(b[slotLen-8:]) {
		return slot{}, false
	}
	return slot{
		state:      b[9],
		generation: binary.BigEndian.Uint64(b[10:]),
		at:         Head{Position: binary.BigEndian.Uint64(b[18:]), Sum: binary.BigEndian.Uint64(b[26:])},
	}, true
}

// readAnchor returns the newer of the slots that can be read; ok is false where neither
// can.
func readAnchor(fs FS, dir string) (newest slot, ok bool, err error) {
	data, err := readFile(fs, fs.PathJoin(dir, anchorName))
	if err != nil {
		return slot{}, false, err
	}
	for _, off := range []int{0, slotGap} {
		if off >= len(data) {
			break
		}
		if s, whole := decodeSlot(data[off:]); whole && (!ok || s.generation > newest.generation) {
			newest, ok = s, true
		}
	}
	return newest, ok, nil
}

// anchorFile is the anchor file, open for writing, and the slot in it that was written
// last.
type anchorFile struct {
	file vfs.File
	last slot
}

func openAnchor(fs FS, dir string, last slot) (*anchorFile, error) {
	f, err := fs.OpenReadWrite(fs.PathJoin(dir, anchorName), vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	return &anchorFile{file: f, last: last}, nil
}

// write overwrites the older of the two slots and syncs the file.
func (a *anchorFile) write(state uint8, at Head) error {
	next := slot{state: state, generation: a.last.generation + 1, at: at}
	off := int64(next.generation%2) * slotGap
	if _, err := a.file.WriteAt(next.encode(), off); err != nil {
		return err
	}
	if err := a.file.Sync(); err != nil {
		return err
	}
	a.last = next
	return nil
}

func (a *anchorFile) close() error { return a.file.Close() }

// writeAnchor records h, the head of a durable batch, in the anchor.
func (s *Store) writeAnchor(h Head) error {
	if h.Position == s.anchored.Position {
		return nil
	}
	if err := s.anchor.write(stateReady, h); err != nil {
		return err
	}
	s.anchored = h
	s.synced.Store(h.Position)
	return nil
}

// keepAnchor records the newest batch in the anchor. A batch of a Log may not be on this disk yet.
func (s *Store) keepAnchor() error {
	h := s.durableHead()
	if h.Position == s.anchored.Position {
		return nil
	}
	return errors.Join(s.syncShared(), s.writeAnchor(h))
}

// followJournal is the anchor's goroutine. Every AnchorEvery it records the journal's
// newest batch in the anchor, and then moves the verified mark.
func (s *Store) followJournal() {
	defer close(s.anchorDone)
	tick := time.NewTicker(s.opts.AnchorEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.stopAnchor:
			return
		case <-s.fail.done:
			return
		}
		if err := s.keepAnchor(); err != nil {
			s.fail.fail(errors.Join(errors.New("wal: write "+s.opts.Dir+"/"+anchorName), err))
			return
		}
		s.writeMark()
	}
}
