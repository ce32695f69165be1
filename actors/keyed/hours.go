package keyed

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// Hours finds out that a key was certainly not added in a span of hours: it has a Filter
// for each of the last 26 hours, made when the first key of its hour is added, so that its
// size is fixed. For an hour that it did not witness from the beginning it excludes no key.
// The methods may be used from any goroutine.
type Hours struct {
	from  int64 // the first hour that was witnessed from its beginning
	bytes int   // size of one hour's filter
	seed  maphash.Seed
	mu    sync.Mutex // held while the filter of an hour is made
	ring  [ring]atomic.Pointer[hour]
}

// ring is the number of hours kept: a day, the current hour, and one spare.
const ring = 26

type hour struct {
	n      int64
	filter *Filter
}

// NewHours makes an Hours that did not witness the hour since or any hour before it. bytes
// is the size of each hour's filter.
func NewHours(since int64, bytes int) *Hours {
	return &Hours{from: since + 1, bytes: bytes, seed: maphash.MakeSeed()}
}

// Add adds a key in hour n (counted from the epoch).
func (h *Hours) Add(n int64, key []byte) {
	if h == nil || n < 0 {
		return
	}
	if at := h.at(n); at.n == n {
		at.filter.Add(key)
	}
}

// at returns the hour in the ring's place for hour n. It replaces an older hour by hour n.
func (h *Hours) at(n int64) *hour {
	place := &h.ring[n%ring]
	if at := place.Load(); at != nil && at.n >= n {
		return at
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	at := place.Load()
	if at == nil || at.n < n {
		f := NewFilter(h.bytes)
		f.seed = h.seed
		f.Ready()
		at = &hour{n, f}
		place.Store(at)
	}
	return at
}

// MayHave is false only where the key was certainly not added in any hour from first to
// last.
func (h *Hours) MayHave(first, last int64, key []byte) bool {
	if h == nil || first < max(h.from, 0) || last-first >= ring {
		return true
	}
	hash := maphash.Bytes(h.seed, key)
	for n := first; n <= last; n++ {
		at := h.ring[n%ring].Load()
		switch {
		case at == nil || at.n < n: // the hour was witnessed, and no key was added in it
		case at.n > n || at.filter.may(hash): // the hour was replaced by a later one, or its filter may have the key
			return true
		}
	}
	return false
}
