package sim

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"pixd/actors/pix"
	"pixd/wal"
)

func now() pix.Millis { return pix.Millis(time.Now().UnixMilli()) }

var drawn atomic.Uint64

func draw() (b [10]byte) {
	n := drawn.Add(1)
	for i := range b {
		b[i] = byte(n >> (8 * (i % 8)))
	}
	return b
}

func openOn(t *testing.T, fs wal.FS, edit func(*Options)) *Sim {
	t.Helper()
	o := Options{
		Dir: "sim", FS: fs, SettleDelay: 30 * time.Millisecond, Now: now, Entropy: draw, Log: slog.New(slog.DiscardHandler),
	}
	if edit != nil {
		edit(&o)
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
