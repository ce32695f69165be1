package sim

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

var shop = pix.Key{Type: pix.KeyEVP, Value: "00000000-0000-4000-8000-000000000001"}

// till is a simulator with a feed that keeps notices by end-to-end id.
type till struct {
	*Sim
	mu       sync.Mutex
	arrivals map[string]scheme.Notice
	times    map[string]int
}

func newTill(t *testing.T) *till {
	k := &till{Sim: openOn(t, vfs.NewMem(), nil), arrivals: map[string]scheme.Notice{}, times: map[string]int{}}
	if err := k.RegisterKey(t.Context(), shop, 7); err != nil {
		t.Fatal(err)
	}
	if err := k.Start(func(n scheme.Notice, done func(error)) {
		k.mu.Lock()
		k.arrivals[n.EndToEnd] = n
		k.times[n.EndToEnd]++
		k.mu.Unlock()
		done(nil)
	}); err != nil {
		t.Fatal(err)
	}
	return k
}

// TestPay checks that the notice of a customer's payment has the payment's fields, and
// made-up values for fields that the customer left out.
func TestPay(t *testing.T) {
	k := newTill(t)
	e2e, amount, err := k.Pay(t.Context(), Payment{Key: shop.Value, Amount: 500})
	if err != nil || amount != 500 || !pix.ValidEndToEnd(e2e) || e2e[1:9] != payerISPB {
		t.Fatalf("%s %d %v", e2e, amount, err)
	}
	want := ledger.ReceivePayment{
		EndToEnd: e2e, Amount: 500, Key: shop.Value,
		PayerName: "Cliente Simulado", PayerDocument: "12345678909", PayerISPB: payerISPB,
	}
	want.PaidAt = k.arrivals[e2e].Arrived.PaidAt
	if n := k.arrivals[e2e]; n.Kind != scheme.PaymentArrived || n.Arrived != want || want.PaidAt == 0 || want.PaidAt > k.now() {
		t.Errorf("arrived as %+v", n)
	}
	said := Payment{
		Key: shop.Value, Amount: 7, TxID: "PIXIN1", Description: "coffee", EndToEnd: "E60701190202603011200abcdefghijk",
		PayerName: "Bia", PayerDocument: "any text", PayerISPB: "60701190", At: 1_600_000_000_000,
	}
	if _, _, err := k.Pay(t.Context(), said); err != nil {
		t.Fatal(err)
	}
	want = ledger.ReceivePayment{
		EndToEnd: said.EndToEnd, Amount: 7, Key: shop.Value, TxID: "PIXIN1", Description: "coffee",
		PayerName: "Bia", PayerDocument: "any text", PayerISPB: "60701190", PaidAt: said.At,
	}
	if n := k.arrivals[said.EndToEnd]; n.Arrived != want {
		t.Errorf("arrived as %+v", n)
	}
}

// TestPayUnknownKey checks that a payment to an unregistered key is refused.
func TestPayUnknownKey(t *testing.T) {
	k := newTill(t)
	if _, _, err := k.Pay(t.Context(), Payment{Key: "nobody@example.com", Amount: 5}); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("paid with %v", err)
	}
}

// TestPayRepeated checks that a second payment under the same end-to-end id gets the first
// payment's result and pays nothing.
func TestPayRepeated(t *testing.T) {
	k := newTill(t)
	first, _, err := k.Pay(t.Context(), Payment{Key: shop.Value, Amount: 500})
	if err != nil {
		t.Fatal(err)
	}
	again, amount, err := k.Pay(t.Context(), Payment{Key: shop.Value, Amount: 9, EndToEnd: first})
	if again != first || amount != 500 || err != nil {
		t.Errorf("repeated: %s %d %v", again, amount, err)
	}
	if k.times[first] != 1 {
		t.Errorf("reported %d times", k.times[first])
	}
}

// TestPayConcurrently checks that of payments made at once under one end-to-end id one is
// booked, and that all callers get its result.
func TestPayConcurrently(t *testing.T) {
	k := newTill(t)
	for round := range 40 {
		id := fmt.Sprintf("E60701190202603011200%011d", round)
		var work sync.WaitGroup
		ready := make(chan struct{})
		amounts := make([]pix.Amount, 20)
		for n := range amounts {
			work.Go(func() {
				<-ready
				e2e, amount, err := k.Pay(t.Context(), Payment{Key: shop.Value, Amount: pix.Amount(100 + n), EndToEnd: id})
				if err != nil || e2e != id {
					t.Errorf("%s: %v", e2e, err)
				}
				amounts[n] = amount
			})
		}
		close(ready)
		work.Wait()
		for _, a := range amounts {
			if a != amounts[0] || a != k.arrivals[id].Arrived.Amount {
				t.Fatalf("answered %v, arrived %d", amounts, k.arrivals[id].Arrived.Amount)
			}
		}
		if k.times[id] != 1 {
			t.Fatalf("reported %d times", k.times[id])
		}
	}
}

// TestPayUnderAPayoutsID checks that a customer cannot pay under a payout's end-to-end id.
func TestPayUnderAPayoutsID(t *testing.T) {
	k := newTill(t)
	p := payoutAt(now())
	if _, err := k.Submit(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if _, _, err := k.Pay(t.Context(), Payment{Key: shop.Value, Amount: 5, EndToEnd: p.EndToEnd}); !errors.Is(err, ErrEndToEnd) {
		t.Errorf("paid with %v", err)
	}
	paid, _, err := k.Pay(t.Context(), Payment{Key: shop.Value, Amount: 5})
	if err != nil {
		t.Fatal(err)
	}
	p = payoutAt(now())
	p.EndToEnd = paid
	if s, err := k.Submit(t.Context(), p); err != nil || s.Progress == scheme.Settled {
		t.Errorf("a payout under a customer's id: %+v %v", s, err)
	}
}

// TestPayNobodyTakes checks that Pay returns even if the engine never acknowledges the
// notice.
func TestPayNobodyTakes(t *testing.T) {
	s := openOn(t, vfs.NewMem(), nil)
	if err := s.RegisterKey(t.Context(), shop, 7); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(func(_ scheme.Notice, done func(error)) { done(errors.New("not now")) }); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, amount, err := s.Pay(ctx, Payment{Key: shop.Value, Amount: 5}); amount != 5 || err != nil {
		t.Errorf("paid %d with %v: the payment is in the book", amount, err)
	}
}

func payoutAt(at pix.Millis) scheme.Payment {
	entropy := draw()
	return scheme.Payment{
		Tx: pix.NewTxID(at, entropy), Account: 7, Amount: 100, EndToEnd: pix.EndToEnd("99999004", at, pix.RandomSuffix(entropy)),
		Key: pix.Key{Type: pix.KeyEmail, Value: "ana@example.com"},
	}
}

// TestEndToEndLife checks that an end-to-end id is accepted within twelve hours of the minute
// in it, before and after.
func TestEndToEndLife(t *testing.T) {
	noon := pix.Millis(1772366400000) // 2026-03-01T12:00:00Z
	const minute, hour = pix.Millis(60_000), pix.Millis(3_600_000)
	s := openOn(t, vfs.NewMem(), func(o *Options) {
		o.SettleDelay = 0
		o.Now = func() pix.Millis { return noon }
	})
	for _, c := range []struct {
		at   pix.Millis
		want string
	}{
		{noon, ""},
		{noon - 12*hour, ""},
		{noon + 12*hour, ""},
		{noon - 12*hour - minute, "FF08"},
		{noon + 12*hour + minute, "FF08"},
		{noon - 365*24*hour, "FF08"},
	} {
		if got, err := s.Submit(t.Context(), payoutAt(c.at)); err != nil || got.Reason != c.want {
			t.Errorf("id of %v: %+v %v, want %q", c.at, got, err, c.want)
		}
	}
	p := payoutAt(noon)
	p.EndToEnd = "nonsense"
	if got, err := s.Submit(t.Context(), p); err != nil || got.Reason != "FF08" {
		t.Errorf("an id of no form: %+v %v", got, err)
	}
}

// TestSettlesByTheClock checks that a payment is pending before its due time and settled from
// that time on.
func TestSettlesByTheClock(t *testing.T) {
	at := pix.Millis(1772366400000)
	s := openOn(t, vfs.NewMem(), func(o *Options) {
		o.SettleDelay = time.Minute
		o.Now = func() pix.Millis { return at }
	})
	p := payoutAt(at)
	var reported []string
	for _, later := range []pix.Millis{0, 59_999, 1, 1_000_000} {
		at += later
		got, err := s.Submit(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		reported = append(reported, fmt.Sprint(got.Progress))
	}
	if got := fmt.Sprint(reported); got != fmt.Sprint([]string{"1", "1", "2", "2"}) {
		t.Errorf("reported %s", got)
	}
}
