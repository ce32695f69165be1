package keyed

import (
	"encoding/binary"
	"testing"
)

func number(n int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// TestFilter checks that a key which was added is never excluded, that most keys which were
// not added are excluded, and that no key is excluded before Ready was called.
func TestFilter(t *testing.T) {
	f := NewFilter(1 << 20)
	if !f.MayHave(number(1)) || !(*Filter)(nil).MayHave(number(1)) {
		t.Error("denied before it was ready")
	}
	const keys = 800_000 // this many keys give 10 bits to each key
	for n := range keys {
		f.Add(number(n))
	}
	f.Ready()
	for n := range keys {
		if !f.MayHave(number(n)) {
			t.Fatalf("%d was added and is denied", n)
		}
	}
	wrong := 0
	for n := range keys {
		if f.MayHave(number(keys + n)) {
			wrong++
		}
	}
	if share := float64(wrong) / keys; share > .03 || share == 0 {
		t.Errorf("%.4f of unknown keys are believed", share)
	}
}

// TestFilterSize checks that the size is rounded down to a power of two and is 16 MiB at most.
func TestFilterSize(t *testing.T) {
	for bytes, want := range map[int]int{1: 64, 64: 64, 127: 64, 128: 128, 1000: 512, 16 << 20: 16 << 20, 16<<20 - 1: 8 << 20, 64 << 20: 16 << 20} {
		if got := len(NewFilter(bytes).lines) * 64; got != want {
			t.Errorf("%d bytes: %d, want %d", bytes, got, want)
		}
	}
	(*Filter)(nil).Add(number(1))
}
