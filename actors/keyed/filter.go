package keyed

import (
	"hash/maphash"
	"sync/atomic"
)

// Filter finds out that a key was certainly never added, in a fixed amount of memory and
// with one access to it. It is a Bloom filter in which the bits of one key are in one cache
// line. Before Ready was called it excludes no key. The more keys were added, the fewer
// other keys it excludes. The methods may be called from any goroutine.
type Filter struct {
	seed  maphash.Seed
	lines [][8]atomic.Uint64
	ready atomic.Bool
}

// NewFilter makes a filter of the given size in bytes, rounded down to a power of two, 16
// MiB at most. With ten bits for each key that was added, MayHave is true for three in a
// hundred keys that were never added.
func NewFilter(bytes int) *Filter {
	lines := 1
	for lines*2*64 <= bytes && lines < maxLines {
		lines *= 2
	}
	return &Filter{seed: maphash.MakeSeed(), lines: make([][8]atomic.Uint64, lines)}
}

// Add adds a key. It does nothing on a nil filter.
func (f *Filter) Add(key []byte) {
	if f == nil {
		return
	}
	h := maphash.Bytes(f.seed, key)
	line := f.line(h)
	for range keyBits {
		word, bit := h>>3&7, uint64(1)<<(h>>6&63)
		if line[word].Load()&bit == 0 {
			line[word].Or(bit)
		}
		h = h>>12 | h<<52
	}
}

// Ready says that every existing key has been added: from now on MayHave may be false.
func (f *Filter) Ready() { f.ready.Store(true) }

// MayHave is false only for a key that was never added.
func (f *Filter) MayHave(key []byte) bool {
	if f == nil || !f.ready.Load() {
		return true
	}
	return f.may(maphash.Bytes(f.seed, key))
}

func (f *Filter) may(h uint64) bool {
	line := f.line(h)
	for range keyBits {
		if line[h>>3&7].Load()&(1<<(h>>6&63)) == 0 {
			return false
		}
		h = h>>12 | h<<52
	}
	return true
}

// keyBits is the number of bits that a key sets.
const keyBits = 4

// maxLines is the largest number of cache lines that the hash bits used by the method line
// can tell apart: 16 MiB of lines.
const maxLines = 1 << 18

// line chooses a cache line by the hash's high bits. The hash's low bits choose the bits
// within the line.
func (f *Filter) line(h uint64) *[8]atomic.Uint64 {
	return &f.lines[h>>46&uint64(len(f.lines)-1)]
}
