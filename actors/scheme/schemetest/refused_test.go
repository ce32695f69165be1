package schemetest

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// sendsBack refuses a customer's payment. Its notice must not come again, also after a
// restart, and the book must not count it as received. A payment that is taken counts.
func sendsBack(t *testing.T, b body) {
	k := pix.Key{Type: pix.KeyEVP, Value: "00000000-0000-4000-8000-000000000009"}
	if err := b.Scheme.RegisterKey(t.Context(), k, 7); err != nil {
		t.Fatal(err)
	}
	var came atomic.Int64
	heard := make(chan string, 100)
	refuse := func(n scheme.Notice, done func(error)) {
		if n.Kind == scheme.PaymentArrived && n.Arrived.Amount == 30 {
			came.Add(1)
			done(fmt.Errorf("in a wrapping: %w", scheme.ErrNoPayee))
			heard <- n.EndToEnd
			return
		}
		done(nil)
		heard <- n.EndToEnd
	}
	if err := b.Start(refuse); err != nil {
		t.Fatal(err)
	}
	for _, amount := range []pix.Amount{30, 500} {
		paid := b.Pay(t, k, amount, b.Now())
		select {
		case got := <-heard:
			if got != paid {
				t.Errorf("the notice is about %s, paid was %s", got, paid)
			}
		case <-time.After(patience):
			t.Fatalf("the notice of %s never came", paid)
		}
	}
	pause(1200 * time.Millisecond) // longer than the time until a notice is sent for the second time
	if n := came.Load(); n != 1 {
		t.Errorf("the refused payment came %d times", n)
	}
	for round := range 2 {
		participants := []scheme.ParticipantBook{
			{ISPB: payers, Messages: 3, Sums: scheme.Sums{Sent: 500}},
			{ISPB: ours, Messages: 3, Sums: scheme.Sums{Received: 500, Refused: 30}},
		}
		b.expectBook(t, participants, []scheme.AccountBook{{Account: 7, Sums: scheme.Sums{Received: 500, Refused: 30}}})
		if round == 0 {
			b = b.Again(t)
			if err := b.Start(refuse); err != nil {
				t.Fatal(err)
			}
			pause(100 * time.Millisecond)
		}
	}
	if n := came.Load(); n != 1 || b.book(t).OldestOpen != 0 {
		t.Errorf("after a restart the refused payment came %d times, and the oldest open notice is of %v", n, b.book(t).OldestOpen)
	}
}
