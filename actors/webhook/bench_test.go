package webhook

import (
	"bytes"
	"net/http"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
)

// BenchmarkRequest measures the making of the signed request of one attempt, without sending it.
func BenchmarkRequest(b *testing.B) {
	s := NewSender(NewTargets(true, nil), long)
	defer s.Close()
	p := event("https://example.com/hook")
	p.Body = bytes.Repeat([]byte("x"), 400)
	b.SetBytes(int64(len(p.Body)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := s.request(b.Context(), p)
		if err != nil || len(r.Header) != 5 {
			b.Fatal(r, err)
		}
	}
}

// BenchmarkDelivery measures the machine's part of a delivery that the receiver takes at the
// first attempt: its row wakes the machine, the attempt starts, and its end changes the rows.
func BenchmarkDelivery(b *testing.B) {
	r := newRig(b, nil)
	to, sequence := target(1), uint64(0)
	r.shelf.subscribe(to, ledger.SubscriptionActive)
	b.ReportAllocs()
	for b.Loop() {
		sequence++
		r.emit(to, sequence)
		task := r.one()
		if o := r.answers(task, http.StatusOK); o.State != layout.DeliveryDelivered || task.Sequence != sequence {
			b.Fatalf("%+v", o)
		}
		r.shelf.forget(string(layout.DeliveryKey(to, layout.DeliveryDelivered, sequence)))
	}
	if r.quiet(); !r.Idle() || len(r.shelf.rows) > 0 {
		b.Fatalf("%d rows are left", len(r.shelf.rows))
	}
}

// BenchmarkRefused measures the same for an attempt that the receiver refuses, after which the
// delivery waits for its next attempt. Each is the first delivery of a new machine.
func BenchmarkRefused(b *testing.B) {
	to := target(1)
	b.ReportAllocs()
	for b.Loop() {
		r := newRig(b, nil)
		r.emit(to, 1)
		if o := r.answers(r.one(), http.StatusInternalServerError); o.State != layout.DeliveryPending || o.Next.Due <= r.now {
			b.Fatalf("%+v", o)
		}
	}
}
