package keyed

import (
	"hash/maphash"
	"sync/atomic"
)

// Filter tells keys that were certainly never added, in one look at memory and
// in a fixed size: a Bloom filter whose bits for one key lie in one cache line.
// It knows nothing, and says so, until Ready; a full one only says less. The
// methods may be used from any goroutine.
type Filter struct {
	seed  maphash.Seed
	lines [][8]atomic.Uint64
	ready atomic.Bool
}

// NewFilter is a filter of about so many bytes (rounded down to a power of two,
// 16 MiB at most). At ten bits a key, three looks in a hundred are in vain.
func NewFilter(bytes int) *Filter {
	lines := 1
	for lines*2*64 <= bytes && lines < maxLines {
		lines *= 2
	}
	return &Filter{seed: maphash.MakeSeed(), lines: make([][8]atomic.Uint64, lines)}
}

// Add makes a key known.
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

// Ready says that every key there ever was has been added: from now on the
// filter is believed.
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

// keyBits is how many bits a key sets.
const keyBits = 4

// maxLines is what the bits of the hash that choose a line can tell apart:
// 16 MiB.
const maxLines = 1 << 18

// line takes the hash's high bits; those below choose the bits within.
func (f *Filter) line(h uint64) *[8]atomic.Uint64 {
	return &f.lines[h>>46&uint64(len(f.lines)-1)]
}
