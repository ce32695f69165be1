package account

import (
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/scheme"
)

// TestFeedKnowsItsOwn: a notice must name our transaction to the last bit, and a
// kind that somebody takes; else it comes again.
func TestFeedKnowsItsOwn(t *testing.T) {
	b := newBench(t)
	b.step(ledger.OpenAccount{Settings: settingsOf(args{})})
	b.step(ledger.Credit{Kind: ledger.TxTED, Amount: 1_000_000})
	k, _ := ledger.ParseKey(ledger.KeyEmail, "a@example.com")
	held := b.step(ledger.RequestPayout{Amount: 100, Key: k}).Start.Tx
	told := map[ledger.AccountID]int{}
	f := Feed{
		Get: b.store.Get, Key: func(key string) (ledger.AccountID, bool) { return 9, key == "ours" },
		Notice: func(id ledger.AccountID, _ ledger.Command, done func(error)) { told[id]++; done(nil) },
	}
	take := func(n scheme.Notice) (err error) {
		f.Take(n, func(e error) { err = e })
		return err
	}
	other := held.ID
	other[15] ^= 1 // bits that the transaction_id does not carry
	settled := scheme.Notice{Kind: scheme.PaymentSettled, Tx: held.ID, EndToEnd: held.EndToEnd}
	stranger := settled
	stranger.Tx = other
	for round := range 2 { // while it is held, and once it is shown
		if err := take(settled); err != nil || told[testAccount] != round+1 {
			t.Errorf("round %d: ours: %v, told %v", round, err, told)
		}
		if err := take(stranger); err == nil || told[testAccount] != round+1 {
			t.Errorf("round %d: under the same end-to-end id: %v, told %v", round, err, told)
		}
		b.step(ledger.ResolvePayout{ID: held.ID, EndToEnd: held.EndToEnd, Result: ledger.PayoutIsAccepted})
	}
	if err := take(scheme.Notice{Kind: scheme.PaymentArrived, Arrived: ledger.ReceivePayment{Key: "theirs"}}); err == nil {
		t.Error("a payment to another's key was taken")
	}
	if err := take(scheme.Notice{Kind: scheme.PaymentArrived, Arrived: ledger.ReceivePayment{Key: "ours"}}); err != nil || told[9] != 1 {
		t.Errorf("a payment to our key: %v, %v", err, told)
	}
	if err := take(scheme.Notice{Kind: scheme.InfractionOpened, Tx: held.ID, EndToEnd: held.EndToEnd}); err == nil {
		t.Error("an infraction was taken")
	}
}

// TestExpiresInTime: waiting ends at its instant, whoever says that it has come.
func TestExpiresInTime(t *testing.T) {
	b := newBench(t)
	b.step(ledger.OpenAccount{Settings: settingsOf(args{"threshold": "1"})})
	b.step(ledger.Credit{Kind: ledger.TxTED, Amount: 1_000_000})
	k, _ := ledger.ParseKey(ledger.KeyEmail, "a@example.com")
	id := b.step(ledger.RequestPayout{Amount: 100, Key: k}).Answer.Tx.ID
	b.now += testTerms.ApprovalTTL - 1
	if e := b.step(ledger.ExpirePayout{ID: id}); len(e.Entry.Records) != 0 {
		t.Error("a millisecond too early")
	}
	b.now++
	if e := b.step(ledger.ExpirePayout{ID: id}); len(e.Entry.Records) != 1 {
		t.Error("never")
	}
}
