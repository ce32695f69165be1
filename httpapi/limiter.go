package httpapi

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"sync/atomic"

	"pixd/actors/pix"
)

// Limiter counts requests by address in fixed windows of one minute, aligned to the minute.
// It has slots for 262,144 addresses in 4 MiB, however many addresses send requests. A new
// address takes over the slot, and the count, of the address with the smallest count in its
// set of eight. So no count is too low, except for requests counted at the very moment at
// which their address loses its slot. A count is too high only if at least eight other
// addresses share the set of eight slots; the secret seed keeps clients from choosing such
// addresses. Requests share no lock: the count of an address that has a slot is one atomic
// word.
type Limiter struct {
	limit uint32
	seed  maphash.Seed
	sets  []addressSet
}

const (
	addressSets = 1 << 15
	addressWays = 8

	window = 60_000 // in milliseconds: a minute
)

type addressSet struct {
	slots [addressWays]slot
	mu    sync.Mutex // held while a new address takes a slot
}

// slot is the place of one address: tag is the address's hash, and count has the minute in
// its upper half and the number of requests in its lower half.
type slot struct{ tag, count atomic.Uint64 }

// NewLimiter returns a limiter that allows each address limit requests a minute, at most
// 2^31; 0: no limit.
func NewLimiter(limit int) *Limiter {
	l := &Limiter{limit: uint32(min(limit, 1<<31)), seed: maphash.MakeSeed()}
	if l.limit > 0 {
		l.sets = make([]addressSet, addressSets)
	}
	return l
}

// Take counts one request of an address. left is the number of requests that the address may
// still send in this minute, or -1 without a limit. ok is false if the limit was already
// reached.
func (l *Limiter) Take(ip netip.Addr, now pix.Millis) (left int, ok bool) {
	if l.limit == 0 {
		return -1, true
	}
	raw := ip.As16()
	h := maphash.Bytes(l.seed, raw[:])
	set, tag, minute := &l.sets[h%uint64(len(l.sets))], h|1, uint64(now/window)
	for i := range set.slots {
		if s := &set.slots[i]; s.tag.Load() == tag {
			return l.add(s, minute)
		}
	}
	return l.add(set.admit(tag, minute), minute)
}

// add counts one request in a slot, unless the slot has reached the limit.
func (l *Limiter) add(s *slot, minute uint64) (left int, ok bool) {
	for {
		was := s.count.Load()
		now := was + 1
		if !current(was, minute) {
			now = minute<<32 | 1
		} else if uint32(was) >= l.limit {
			return 0, false
		}
		if s.count.CompareAndSwap(was, now) {
			return int(l.limit - uint32(now)), true
		}
	}
}

// windowLeft is the time, in seconds rounded up, from now to the end of the window.
func windowLeft(now pix.Millis) int64 { return int64(window-now%window+999) / 1000 }

// current reports whether a count is of this minute or of the next minute: a request's clock
// may have been read just before the minute ended. A count of a later minute was made before
// the clock was set back.
func current(count, minute uint64) bool {
	return count>>32 == minute || count>>32 == minute+1
}

// admit gives an address the slot with the smallest count of the set; the address takes over
// that count. If the address has got a slot since its caller looked, admit returns that slot.
func (a *addressSet) admit(tag, minute uint64) *slot {
	a.mu.Lock()
	defer a.mu.Unlock()
	least, fewest := &a.slots[0], ^uint64(0)
	for i := range a.slots {
		s := &a.slots[i]
		if s.tag.Load() == tag {
			return s
		}
		count := s.count.Load()
		if !current(count, minute) {
			count = 0
		}
		if n := uint64(uint32(count)); n < fewest {
			least, fewest = s, n
		}
	}
	least.tag.Store(tag)
	return least
}
