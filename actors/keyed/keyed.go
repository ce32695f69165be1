// Package keyed looks things up by key in little memory. Filter tells keys that
// were never there; Map is a map that many goroutines read at once, in little memory:
// 64 ordinary maps, each behind a lock of its own. The standard library's
// concurrent map takes no lock to read, and two hundred bytes an entry; here an
// entry costs what it costs in a map.
package keyed

import (
	"hash/maphash"
	"sync"
)

const shards = 64

// Map is the map. The zero value is empty and ready.
type Map[K comparable, V any] struct {
	once   sync.Once
	seed   maphash.Seed
	shards [shards]shard[K, V]
}

type shard[K comparable, V any] struct {
	sync.RWMutex
	entries map[K]V
	_       [32]byte // its lock shares no cache line with the next one's
}

func (m *Map[K, V]) shard(k K) *shard[K, V] {
	m.once.Do(func() { m.seed = maphash.MakeSeed() })
	return &m.shards[maphash.Comparable(m.seed, k)%shards]
}

// Get is the value of a key.
func (m *Map[K, V]) Get(k K) (V, bool) {
	s := m.shard(k)
	s.RLock()
	v, ok := s.entries[k]
	s.RUnlock()
	return v, ok
}

// Set gives a key a value.
func (m *Map[K, V]) Set(k K, v V) {
	s := m.shard(k)
	s.Lock()
	if s.entries == nil {
		s.entries = map[K]V{}
	}
	s.entries[k] = v
	s.Unlock()
}

// GetOrMake is the value of a key; where it has none, what make returns becomes
// it.
func (m *Map[K, V]) GetOrMake(k K, make func() V) V {
	if v, ok := m.Get(k); ok {
		return v
	}
	s := m.shard(k)
	s.Lock()
	defer s.Unlock()
	v, ok := s.entries[k]
	if !ok {
		if s.entries == nil {
			s.entries = map[K]V{}
		}
		v = make()
		s.entries[k] = v
	}
	return v
}

// Each calls fn for every entry, in no order, until it returns false. fn may
// use the map: it is called without a lock, on the entries that a shard had
// when its turn came.
func (m *Map[K, V]) Each(fn func(K, V) bool) {
	type entry struct {
		k K
		v V
	}
	var list []entry
	for i := range m.shards {
		s := &m.shards[i]
		list = list[:0]
		s.RLock()
		for k, v := range s.entries {
			list = append(list, entry{k, v})
		}
		s.RUnlock()
		for _, e := range list {
			if !fn(e.k, e.v) {
				return
			}
		}
	}
}
