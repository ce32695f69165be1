// Package keyed has data structures for lookups by key that take little memory. Filter and
// Hours find out that a key was never added. Map is a map that many goroutines read at
// once: 64 ordinary maps, each with its own lock. The standard library's sync.Map reads
// without a lock but takes two hundred bytes for each entry; an entry of Map takes as much
// as in an ordinary map.
package keyed

import (
	"hash/maphash"
	"sync"
)

const shards = 64

// Map is a map for many goroutines. The zero value is empty and ready to use.
type Map[K comparable, V any] struct {
	once   sync.Once
	seed   maphash.Seed
	shards [shards]shard[K, V]
}

type shard[K comparable, V any] struct {
	sync.RWMutex
	entries map[K]V
	_       [32]byte // padding: two shards' locks never share a cache line
}

func (m *Map[K, V]) shard(k K) *shard[K, V] {
	m.once.Do(func() { m.seed = maphash.MakeSeed() })
	return &m.shards[maphash.Comparable(m.seed, k)%shards]
}

// Get returns the value of a key; false where the key is not in the map.
func (m *Map[K, V]) Get(k K) (V, bool) {
	s := m.shard(k)
	s.RLock()
	v, ok := s.entries[k]
	s.RUnlock()
	return v, ok
}

// Set sets the value of a key.
func (m *Map[K, V]) Set(k K, v V) {
	s := m.shard(k)
	s.Lock()
	if s.entries == nil {
		s.entries = map[K]V{}
	}
	s.entries[k] = v
	s.Unlock()
}

// Delete takes a key out of the map, if it is there.
func (m *Map[K, V]) Delete(k K) {
	s := m.shard(k)
	s.Lock()
	delete(s.entries, k)
	s.Unlock()
}

// GetOrMake returns the value of a key. Where the key is not in the map, it is added with
// the result of make.
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

// Each calls fn for every entry, in no particular order, until fn returns false. fn may use
// the map, because no lock is held while fn runs. fn gets the entries as they were when
// Each copied their part of the map.
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
