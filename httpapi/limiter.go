package httpapi

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"sync/atomic"

	"pixd/actors/ledger"
)

// Limiter counts per address in fixed windows of a minute, aligned to the
// minute. It has room for 262 144 addresses, in four MiB, however many come by: a
// newcomer takes the place, and the count, of the one with the least of those
// that share its set. So no address is counted too low (save by what is being
// counted at the very instant at which it loses its place), and one is counted too
// high only where eight others with counts of their own met it in one set, which
// the seed keeps anybody from arranging. Requests share no lock: the count of an
// address that is there is one atomic word.
type Limiter struct {
	limit uint32
	seed  maphash.Seed
	sets  []addressSet
}

const (
	addressSets = 1 << 15
	addressWays = 8

	window = 60_000 // milliseconds
)

type addressSet struct {
	slots [addressWays]slot
	mu    sync.Mutex // held while a newcomer takes a place
}

// slot is one address's count: the minute in the upper half, requests below.
type slot struct{ tag, count atomic.Uint64 }

// NewLimiter allows limit a minute to each address, at most 2^31; without limit
// for 0.
func NewLimiter(limit int) *Limiter {
	l := &Limiter{limit: uint32(min(limit, 1<<31)), seed: maphash.MakeSeed()}
	if l.limit > 0 {
		l.sets = make([]addressSet, addressSets)
	}
	return l
}

// Take counts one for an address. It tells how many more the minute has for it,
// -1 without a limit; false where this one was already too many.
func (l *Limiter) Take(ip netip.Addr, now ledger.Millis) (left int, ok bool) {
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

// add counts one in a slot, unless it is full.
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

// current tells whether a count is of this minute, or of the next: the request's
// clock may have been read just before the minute ended. One that is further
// ahead was made before the clock was set back.
func current(count, minute uint64) bool {
	return count>>32 == minute || count>>32 == minute+1
}

// admit gives an address the place of the one with the smallest count, which it
// takes over. The slot of an address that has just been admitted elsewhere is
// found instead.
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
