package wal

import (
	"bytes"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// pausing is a file system on which the first read of a log that meets the log's end is followed
// by a pause.
type pausing struct {
	vfs.FS
	on    *atomic.Bool
	pause func()
}

func (p pausing) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	f, err := p.FS.Open(name, o...)
	if err != nil || !isLog(name) || !p.on.Load() {
		return f, err
	}
	return &pausingFile{File: f, p: p}, nil
}

type pausingFile struct {
	vfs.File
	p    pausing
	done bool
}

func (f *pausingFile) Read(b []byte) (int, error) {
	n, err := f.File.Read(b)
	atZeros := n > 1000 && bytes.Count(b[n-64:n], []byte{0}) == 64
	if n > 0 && !f.done && (atZeros || n < len(b)) {
		f.done = true
		f.p.pause()
	}
	return n, err
}

// TestCheckpointTail checks that a checkpoint whose copy of the log pauses at the log's end, while
// the journal goes on, can be opened and has everything that was durable when it began.
func TestCheckpointTail(t *testing.T) {
	for name, base := range map[string]vfs.FS{"memory": vfs.NewMem(), "disk": vfs.Default} {
		t.Run(name, func(t *testing.T) {
			dir := "/data"
			if name == "disk" {
				dir = t.TempDir()
			}
			var on atomic.Bool
			var s *Store
			seq, sum, paused := uint64(0), uint64(0), 0
			add := func(n int) {
				for range n {
					done := make(chanOut, 1)
					sealed := Seal(sum, Record{Stream: 1 << 40, Seq: seq + 1, Kind: 1, Time: 1, Body: bytes.Repeat([]byte{0xab}, 1500)})
					seq, sum = sealed.Seq, sealed.Sum
					s.Append(&Entry{Stream: 1 << 40, Expect: seq - 1, Records: []Sealed{sealed}, Out: []Out{done}})
					if err := <-done; err != nil {
						t.Fatal(err)
					}
				}
			}
			s = mustOpen(t, Options{Dir: dir + "/journal", AnchorEvery: time.Hour, FS: pausing{base, &on, func() { paused++; add(60) }}})
			add(800)
			on.Store(true)
			position, _, _, err := s.Checkpoint(dir + "/copy")
			on.Store(false)
			if err != nil || paused == 0 {
				t.Fatalf("%v; paused %d times", err, paused)
			}
			c, err := Open(Options{Dir: dir + "/copy", FS: base})
			if err != nil {
				t.Fatal(err)
			}
			if got, _, _ := c.Head(); got < position || position < 800 {
				t.Errorf("the copy ends at %d, the checkpoint says %d", got, position)
			}
			if _, err := c.Verify(nil, nil); err != nil {
				t.Error(err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
