package keyed

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// Hours finds out that a key was certainly not added in a span of hours. It has a Filter
// for each of the last 26 hours, which is made when the first key of that hour is added, so
// its size is bounded. It excludes no key for an hour that had already begun when the Hours
// was made. The methods may be called from any goroutine.
type Hours struct {
	from  int64 // the first hour in which every key was added to this Hours
	bytes int   // size of one hour's filter
	seed  maphash.Seed
	mu    sync.Mutex // locked while the filter of a new hour is made
	ring  [ring]atomic.Pointer[hour]
}

// ring is the number of hours that are kept: 24, the current hour, and one spare.
const ring = 26

type hour struct {
	n      int64
	filter *Filter
}

// NewHours makes an Hours during the hour since. It therefore may have missed keys of the
// hour since and of every hour before it. bytes is the size of each hour's filter.
func NewHours(since int64, bytes int) *Hours {
	return &Hours{from: since + 1, bytes: bytes, seed: maphash.MakeSeed()}
}

// Add adds a key in hour n (hours since 1970-01-01 UTC).
func (h *Hours) Add(n int64, key []byte) {
	if h == nil || n < 0 {
		return
	}
	if at := h.at(n); at.n == n {
		at.filter.Add(key)
	}
}

// at returns the hour that is stored in hour n's place of the ring, which may be later than
// n. If an older hour is stored there, hour n replaces it.
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
		at = &hour{n, f}
		place.Store(at)
	}
	return at
}

// MayHave is false only where the key was certainly not added in any hour from first to
// last, both included.
func (h *Hours) MayHave(first, last int64, key []byte) bool {
	if h == nil || first < max(h.from, 0) || last-first >= ring {
		return true
	}
	hash := maphash.Bytes(h.seed, key)
	for n := first; n <= last; n++ {
		at := h.ring[n%ring].Load()
		switch {
		case at == nil || at.n < n: // no key was added in hour n, so its place in the ring is empty or has an older hour
		case at.n > n || at.filter.may(hash): // a later hour has replaced hour n, or the filter of hour n may have the key
			return true
		}
	}
	return false
}
