package clock

import (
	"testing"

	"pixd/actors/pix"
)

// BenchmarkRead measures the reading of engine time, without the cost of the computer's clock.
func BenchmarkRead(b *testing.B) {
	c := newBench(0)
	c.clock.Stated(noon)
	b.ReportAllocs()
	for b.Loop() {
		c.pass(1)
		if r := c.clock.Read(); r.Clock < noon || r.Doubted {
			b.Fatalf("%+v", r)
		}
	}
}

// BenchmarkStated measures the comparison with a time that the scheme states, which is done for
// every message of the scheme.
func BenchmarkStated(b *testing.B) {
	c, n := newBench(0), pix.Millis(0)
	b.ReportAllocs()
	for b.Loop() {
		n++
		if alert := c.clock.Stated(noon + n%1000); alert != "" {
			b.Fatal(alert)
		}
	}
	if c.clock.Doubted() {
		b.Fatal("engine time is doubted")
	}
}
