package keyed

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// Hours tells keys that were certainly never added in a span of hours: a Filter
// for each of the last 26, made when its hour has its first key, so that the
// whole has a fixed size. It is asked for hours it did not witness from their
// beginning as well, and says then that it does not know. The methods may be used
// from any goroutine.
type Hours struct {
	from  int64 // the first hour that was witnessed whole
	bytes int   // of one hour's filter
	seed  maphash.Seed
	mu    sync.Mutex // held while an hour is begun
	ring  [ring]atomic.Pointer[hour]
}

// ring is a day, the hour under way, and one to spare.
const ring = 26

type hour struct {
	n      int64
	filter *Filter
}

// NewHours is made in the hour since, or knows of keys up to it: what is older,
// and that hour itself, it did not witness. A filter takes so many bytes an hour.
func NewHours(since int64, bytes int) *Hours {
	return &Hours{from: since + 1, bytes: bytes, seed: maphash.MakeSeed()}
}

// Add makes a key known in an hour (counted from the epoch).
func (h *Hours) Add(n int64, key []byte) {
	if h == nil || n < 0 {
		return
	}
	if at := h.at(n); at.n == n {
		at.filter.Add(key)
	}
}

// at is what stands in an hour's place, begun where it is older.
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

// MayHave is false only where no hour from first to last can have the key.
func (h *Hours) MayHave(first, last int64, key []byte) bool {
	if h == nil || first < max(h.from, 0) || last-first >= ring {
		return true
	}
	hash := maphash.Bytes(h.seed, key)
	for n := first; n <= last; n++ {
		at := h.ring[n%ring].Load()
		switch {
		case at == nil || at.n < n: // witnessed, and no key came
		case at.n > n || at.filter.may(hash): // forgotten, or it may
			return true
		}
	}
	return false
}
