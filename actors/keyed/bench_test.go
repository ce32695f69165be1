package keyed

import (
	"fmt"
	"testing"
)

// BenchmarkFilter measures a filter of a hundred thousand keys: the addition of a key, and the
// questions about a key that was added and about one that was not.
func BenchmarkFilter(b *testing.B) {
	keys := make([][]byte, 200_000)
	for n := range keys {
		keys[n] = fmt.Appendf(nil, "E99999004202603011200%011d", n)
	}
	added, foreign := keys[:100_000], keys[100_000:]
	f := NewFilter(1 << 20)
	for _, k := range added {
		f.Add(k)
	}
	f.Ready()
	b.Run("do=add", func(b *testing.B) {
		n := 0
		b.ReportAllocs()
		for b.Loop() {
			f.Add(added[n%len(added)])
			n++
		}
	})
	for _, c := range []struct {
		name string
		keys [][]byte
	}{{"present", added}, {"absent", foreign}} {
		b.Run("do=ask/key="+c.name, func(b *testing.B) {
			n, there := 0, 0
			b.ReportAllocs()
			for b.Loop() {
				if f.MayHave(c.keys[n%len(c.keys)]) {
					there++
				}
				n++
			}
			if want := c.name == "present"; want && there != n || !want && n > 1000 && there > n/10 {
				b.Fatalf("%d of %d may be there", there, n)
			}
		})
	}
}

// BenchmarkMap measures reads of a map of a hundred thousand entries, from all processors at
// once, and writes from one.
func BenchmarkMap(b *testing.B) {
	const size = 100_000
	var m Map[int, int]
	for k := range size {
		m.Set(k, k+1)
	}
	b.Run("do=get", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(p *testing.PB) {
			for k := 0; p.Next(); k = (k + 1) % size {
				if v, ok := m.Get(k); !ok || v != k+1 {
					b.Error(k, v, ok)
					return
				}
			}
		})
	})
	b.Run("do=set", func(b *testing.B) {
		k := 0
		b.ReportAllocs()
		for b.Loop() {
			m.Set(k, k+1)
			k = (k + 1) % size
		}
		if v, ok := m.Get(0); !ok || v != 1 {
			b.Fatal(v, ok)
		}
	})
}
