package account

import (
	"fmt"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// TestRecentSums checks that the refund sums in memory are at every time those of the row, for
// payments that have refunds in flight, and that there are none for any other payment: with
// several refunds and a case of one payment at once, and where two payments share a place.
func TestRecentSums(t *testing.T) {
	for _, slots := range []int{1, recentSlots} {
		b := newBench(t)
		b.machine.config.Recent = NewRecent(slots)
		b.step(ledger.OpenAccount{Settings: settings()})
		var paid []pix.TxID
		for n := range 2 {
			paid = append(paid, b.step(ledger.ReceivePayment{EndToEnd: endToEnd(fmt.Sprint(n)), Amount: 1000, Key: "k"}).Answer.Tx.ID)
		}
		found := 0
		step := func(c ledger.Command) *ledger.Transaction {
			out := b.step(c)
			for _, id := range paid {
				found += b.checkRecentSums(id)
			}
			if len(out.Start) > 0 {
				return out.Start[0].Tx
			}
			return nil
		}
		refund := func(n int) *ledger.Transaction { return step(refundOf(endToEnd(fmt.Sprint(n)), nil)) }
		resolve := func(r *ledger.Transaction, result ledger.TransferResult) {
			step(ledger.ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Result: result, Reason: "CH16"})
		}
		first, second, third := refund(0), refund(1), refund(0)
		resolve(first, ledger.TransferIsAccepted)
		step(ledger.OpenCase{Infraction: "inf-1", EndToEnd: endToEnd("0"), Amount: 300, Situation: "SCAM"})
		resolve(first, ledger.TransferIsSettled)
		resolve(third, ledger.TransferIsRejected)
		resolve(second, ledger.TransferIsSettled)
		resolve(refund(1), ledger.TransferIsSettled)
		if found == 0 {
			t.Error("no refund sums were in memory")
		}
		refund(0)
		b.machine.config.Recent.forget(testAccount)
		if b.machine.config.Recent.sumsOf(testAccount, paid[0]) != nil {
			t.Error("sums are in memory of an account that was forgotten")
		}
	}
}

// checkRecentSums compares the refund sums of a payment in memory with their row, and returns
// how many are in memory.
func (b *bench) checkRecentSums(id pix.TxID) int {
	b.t.Helper()
	recent := b.machine.config.Recent
	got := recent.sumsOf(testAccount, id)
	if got == nil {
		return 0
	}
	if recent.sumsOf(testAccount+1, id) != nil {
		b.t.Errorf("another account has the sums of %v", id)
	}
	row, _, err := (&reader{b.machine, b.store}).Get(layout.RefundSumsKey(testAccount, id))
	if err != nil {
		b.t.Fatal(err)
	}
	want, err := layout.DecodeRefundSums(id, row)
	if err != nil || *got != want || want.InFlight == 0 {
		b.t.Errorf("%+v in memory, the row has %+v, %v", *got, want, err)
	}
	return 1
}

// TestRecentForget checks that what is forgotten are the payouts and refund sums of one account alone.
func TestRecentForget(t *testing.T) {
	recent, ids := NewRecent(recentSlots), [2]pix.TxID{{15: 1}, {15: 2}}
	for i, id := range ids {
		a := pix.AccountID(i + 1)
		recent.put(a, &ledger.Transaction{ID: id})
		recent.changed(a, &layout.RefundSums{Original: id, InFlight: 1})
	}
	recent.forget(1)
	for i, id := range ids {
		a, kept := pix.AccountID(i+1), i == 1
		if (recent.get(id) != nil) != kept || (recent.sumsOf(a, id) != nil) != kept {
			t.Errorf("account %v: payout %v, sums %v, want them kept: %v", a, recent.get(id), recent.sumsOf(a, id), kept)
		}
	}
	recent.forget(2)
	if recent.get(ids[1]) != nil || recent.sumsOf(2, ids[1]) != nil {
		t.Error("the last account is not forgotten")
	}
}
