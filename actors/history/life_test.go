package history

import (
	"errors"
	"slices"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// lives checks what is known of a transaction: the kinds of its records, and whether that is all.
func (b *book) lives(h *History, id string, complete bool, want ...ledger.RecordKind) *ledger.Life {
	b.t.Helper()
	l, err := h.Life(id)
	if err != nil || l == nil {
		b.t.Fatalf("%+v %v", l, err)
	}
	var kinds []ledger.RecordKind
	for i, r := range l.Records {
		if kinds = append(kinds, r.Kind); i > 0 && r.Seq <= l.Records[i-1].Seq {
			b.t.Errorf("record %d comes after %d", r.Seq, l.Records[i-1].Seq)
		}
	}
	if !slices.Equal(kinds, want) || l.Complete != complete {
		b.t.Errorf("%v complete %v\nwant %v complete %v", kinds, l.Complete, want, complete)
	}
	return l
}

// TestLife checks which records belong to a payment with refunds and a case among other payments with
// the same, and that a bound that is met is told.
func TestLife(t *testing.T) {
	b := newBook(t)
	h := New(b.store)
	p, other := b.received(1, payment(1), 1000), b.received(1, payment(2), 1000)
	plain := b.received(1, payment(3), 1000)
	b.refund(other, 10, "", ledger.TransferIsSettled)
	b.refund(p, 300, "", ledger.TransferIsSettled)
	b.opened(1, p, "i-1", 200)
	b.opened(1, other, "i-2", 200)
	last := b.refund(p, 50, "", ledger.TransferIsRejected)
	whole := []ledger.RecordKind{
		ledger.PaymentReceived, ledger.RefundHeld, ledger.RefundAccepted, ledger.RefundSettled, ledger.CaseOpened,
		ledger.RefundHeld, ledger.RefundAccepted, ledger.RefundFailed,
	}
	for _, id := range []string{p.ID.String(), p.Public(), p.EndToEnd} {
		b.lives(h, id, true, whole...)
	}
	b.lives(h, plain.ID.String(), true, ledger.PaymentReceived)
	l := b.lives(h, last.ID.String(), true, ledger.RefundHeld, ledger.RefundAccepted, ledger.RefundFailed)
	if l.Original == nil || l.Original.ID != p.ID || l.Account != 1 {
		t.Errorf("%+v", l.Original)
	}
	for rows, want := range map[int]int{2: 0, 3: 0, 4: 3, 5: 6, 6: 6} { // two payments come first, and the other payment's refund
		h.life.rows = rows
		some := []ledger.RecordKind{ledger.PaymentReceived}
		some = append(some, whole[1:1+min(want, 3)]...)
		some = append(append(some, ledger.CaseOpened), whole[5:5+max(want-3, 0)]...)
		b.lives(h, p.Public(), rows >= 5, some...)
	}
	h.life = lifeBounds{1, lifeRows}
	b.lives(h, p.Public(), false, ledger.PaymentReceived)
	h.life.records = 4 // the payment's, two cases that are looked at, and that of its own
	b.lives(h, p.Public(), false, ledger.PaymentReceived, ledger.CaseOpened)
	h.life.records = 2
	b.lives(h, last.ID.String(), false, ledger.RefundAccepted, ledger.RefundFailed)
	if l, err := h.Life("PIXOUTAGQ7RZY2LJF6Z4WSG3PR"); l != nil || err != nil {
		t.Errorf("%+v %v", l, err)
	}
}

// TestLifeDeliveries checks what is said of deliveries that wait, were delivered, and were dropped since.
func TestLifeDeliveries(t *testing.T) {
	b := newBook(t)
	h := New(b.store)
	for range 3 {
		b.decide(1, ledger.Subscribe{URL: "https://a.example/x", Events: pix.EventMask(0).With(pix.EventReceived), Secret: make([]byte, 32)})
	}
	p := b.received(1, payment(1), 1000)
	r := b.records[1][len(b.records[1])-1]
	sequence := r.Event(0).Sequence
	target := func(n uint32) layout.Target { return layout.Target{Account: 1, Number: n} }
	done := layout.DeliveryStatus{Record: r.Seq, CreatedAt: r.Time, Attempts: []layout.Attempt{{At: r.Time, Status: 500}, {At: r.Time + 5, Status: 204}}}
	b.write(&wal.Entry{Stream: 1, Ops: []wal.Op{
		{Kind: wal.OpDelete, Key: layout.PendingKey(target(2), r.Time, sequence)},
		{Kind: wal.OpSet, Key: layout.DeliveryKey(target(2), layout.DeliveryDelivered, sequence), Value: done.Encode()},
		{Kind: wal.OpDelete, Key: layout.PendingKey(target(3), r.Time, sequence)},
	}})
	l := b.lives(h, p.Public(), true, ledger.PaymentReceived)
	if len(l.Deliveries) != 3 {
		t.Fatalf("%+v", l.Deliveries)
	}
	for i, want := range []layout.DeliveryState{layout.DeliveryPending, layout.DeliveryDelivered, 0} {
		d := &l.Deliveries[i]
		if d.Target != target(uint32(i)+1) || d.State != want || d.Event.Sequence != sequence || (d.Status == nil) != (want == 0) || want == layout.DeliveryDelivered && len(d.Status.Attempts) != 2 {
			t.Errorf("%+v", d)
		}
	}
	h.life.records = 2
	if l = b.lives(h, p.Public(), false, ledger.PaymentReceived); len(l.Deliveries) != 1 {
		t.Errorf("%+v", l.Deliveries)
	}
}

// TestLifeUnread checks that a read that fails is an error.
func TestLifeUnread(t *testing.T) {
	h := Over(failing{errors.New("no disk")})
	if l, err := h.Life(payment(1)); l != nil || err == nil {
		t.Errorf("%+v %v", l, err)
	}
}

// failing is a journal that cannot be read.
type failing struct{ err error }

func (f failing) Look(wal.Stream, func(View) error) error { return f.err }

func (f failing) Record(wal.Stream, uint64) (wal.Record, bool, error) {
	return wal.Record{}, false, f.err
}

// TestLifeOfReturns checks that a payout's life has the records about what came back of it, and about nothing else.
func TestLifeOfReturns(t *testing.T) {
	b := newBook(t)
	h := New(b.store)
	b.received(1, payment(1), 1000)
	p, other := b.payout(1, e2eA, ledger.TransferIsSettled), b.payout(1, e2eB, ledger.TransferIsSettled)
	for n, of := range []*ledger.Transaction{p, other, p} {
		back := "D" + payment(n + 10)[1:]
		b.decide(1, ledger.ReceiveReturn{ID: of.ID, EndToEnd: of.EndToEnd, ReturnID: back, Amount: 10, Reason: "MD06"})
	}
	b.lives(h, p.ID.String(), true, ledger.PayoutHeld, ledger.PayoutAccepted, ledger.PayoutSettled,
		ledger.ReturnReceived, ledger.PayoutReturned, ledger.ReturnReceived, ledger.PayoutReturned)
	b.lives(h, other.ID.String(), true, ledger.PayoutHeld, ledger.PayoutAccepted, ledger.PayoutSettled,
		ledger.ReturnReceived, ledger.PayoutReturned)
}
