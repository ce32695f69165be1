package sorted

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkSort measures the sorting of rows that come in no order, all of them in memory or most
// of them through a temporary file, and the reading of them in order.
func BenchmarkSort(b *testing.B) {
	const many = 20_000
	all := make([]Row, many)
	size := 0
	for i, n := range rand.New(rand.NewPCG(1, 2)).Perm(many) {
		all[i] = Row{Key: fmt.Appendf(nil, "row-%08d", n), Value: make([]byte, 60), Order: uint64(i + 1), Stream: 7, Seq: uint64(i + 1)}
		size += len(all[i].Key) + len(all[i].Value)
	}
	for _, room := range []int{64 << 10, 16 << 20} {
		b.Run(fmt.Sprintf("rows=%d/room=%dKiB", many, room>>10), func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			dir := b.TempDir()
			for b.Loop() {
				sortAll(b, dir, room, all)
			}
		})
	}
}

func sortAll(b *testing.B, dir string, room int, all []Row) {
	s, err := New(dir, room)
	if err != nil {
		b.Fatal(err)
	}
	for i := range all {
		if err := s.Add(&all[i]); err != nil {
			b.Fatal(err)
		}
	}
	m, err := Merge(s)
	if err != nil {
		b.Fatal(err)
	}
	n, last := 0, ""
	for ; m.Next(); n++ {
		if key := string(m.Row().Key); key > last {
			last = key
			continue
		}
		b.Fatal("not in order")
	}
	if m.Err() != nil || n != len(all) {
		b.Fatal(n, m.Err())
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}
