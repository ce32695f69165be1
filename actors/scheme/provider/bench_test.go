package provider

import (
	"testing"

	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// BenchmarkSign measures the signature of a message.
func BenchmarkSign(b *testing.B) {
	s := secret(b, shared)
	want := s.Sign(vector)
	b.SetBytes(int64(len(vector.Body)))
	b.ReportAllocs()
	for b.Loop() {
		if s.Sign(vector) != want {
			b.Fatal("another signature")
		}
	}
}

// BenchmarkVerify measures the check of a message's signature and time.
func BenchmarkVerify(b *testing.B) {
	s := secret(b, shared)
	signature := s.Sign(vector)
	b.SetBytes(int64(len(vector.Body)))
	b.ReportAllocs()
	for b.Loop() {
		if stated, err := s.Verify(vector, signature, noon); err != nil || stated != noon {
			b.Fatal(stated, err)
		}
	}
}

// BenchmarkAdmit measures the check of a request by a guard, which also remembers the request
// until it ends. None is acknowledged, so the guard has none to remember afterwards.
func BenchmarkAdmit(b *testing.B) {
	s := secret(b, shared)
	g := NewGuard(s, ToEngine, func() pix.Millis { return noon }, nil)
	signature := s.Sign(vector)
	b.ReportAllocs()
	for b.Loop() {
		end, err := g.Admit(vector, signature)
		if err != nil {
			b.Fatal(err)
		}
		end(false)
	}
}

// BenchmarkNotice measures the encoding and the reading of two notices: that a payout has
// settled, and that a payment has arrived.
func BenchmarkNotice(b *testing.B) {
	for _, n := range []scheme.Notice{notices[0], notices[3]} {
		m := TellNotice(n)
		body := encode(m)
		b.Run("do=encode/kind="+m.Kind, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if got := encode(TellNotice(n)); len(got) != len(body) {
					b.Fatal(string(got))
				}
			}
		})
		b.Run("do=read/kind="+m.Kind, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if got, err := ReadNotice(body); err != nil || got.Kind != n.Kind || got.EndToEnd != n.EndToEnd {
					b.Fatal(got, err)
				}
			}
		})
	}
}

// BenchmarkPayment measures the encoding and the reading of a payment that is submitted.
func BenchmarkPayment(b *testing.B) {
	body := encode(paymentOf(payout))
	b.Run("do=encode", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			if got := encode(paymentOf(payout)); len(got) != len(body) {
				b.Fatal(string(got))
			}
		}
	})
	b.Run("do=read", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			if got, err := ReadPayment(body); err != nil || got != payout {
				b.Fatal(got, err)
			}
		}
	})
}
