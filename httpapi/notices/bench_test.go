package notices

import (
	"strconv"
	"testing"
)

// BenchmarkNotice measures a notice of the scheme, from its signature by the sender to the
// sender's check of the signed answer, with a feed that takes it at once.
func BenchmarkNotice(b *testing.B) {
	w := newHarness(b)
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		if status, got := w.bring(strconv.Itoa(n), settled); status != 200 || got != "{}" {
			b.Fatal(status, got)
		}
	}
	if w.taken != n {
		b.Fatalf("%d taken of %d", w.taken, n)
	}
}
