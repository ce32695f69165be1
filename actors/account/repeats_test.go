package account

import (
	"errors"
	"testing"

	"pixd/actors/ledger"
)

// TestRepeatsAtOnce: under one end-to-end id, derived or the merchant's own, no more payouts
// may be under way than the bound says (1,000; here 20). The next is told to wait before anything is held, and goes out once
// there is room.
func TestRepeatsAtOnce(t *testing.T) {
	k, _ := ledger.ParseKey(ledger.KeyEmail, "a@example.com")
	for name, own := range map[string]string{"derived": "", "own": "E9999900420260301120000000000000"} {
		t.Run(name, func(t *testing.T) {
			config := *testConfig
			config.Terms.MaxRepeats = 20
			b := newBench(t)
			b.machine = newMachine(&config, testAccount)
			b.step(ledger.OpenAccount{Settings: settingsOf(args{})})
			b.step(ledger.Credit{Kind: ledger.TxTED, Amount: 1_000_000})
			ask := ledger.RequestPayout{Amount: 1, Key: k, EndToEnd: own}
			var held []*ledger.Transaction
			for range config.Terms.MaxRepeats {
				e := b.step(ask)
				held = append(held, &e.Start[0].Tx)
			}
			seq := b.machine.head.Seq
			call := Call{Command: ask, Now: b.reading(), Entropy: b.draw(), Durable: b.store.durable}
			if _, err := b.machine.Step(b.store, call); !errors.Is(err, ledger.ErrBusy) || b.machine.head.Seq != seq {
				t.Fatalf("one more is answered %v, after record %d", err, b.machine.head.Seq)
			}
			b.step(ledger.ResolvePayout{ID: held[5].ID, EndToEnd: held[5].EndToEnd, Result: ledger.PayoutIsRefused, Refusal: ledger.RefuseKeyNotFound})
			if e := b.step(ask); len(e.Start) == 0 || e.Start[0].Tx.EndToEnd != held[0].EndToEnd {
				t.Fatalf("there is room again, and it comes to %+v", e)
			}
		})
	}
}

// TestDuplicateOf: a duplicate names what the scheme is known to have, not what was held
// first and may never get there.
func TestDuplicateOf(t *testing.T) {
	b := newBench(t)
	b.step(ledger.OpenAccount{Settings: settingsOf(args{})})
	b.step(ledger.Credit{Kind: ledger.TxTED, Amount: 1_000})
	k, _ := ledger.ParseKey(ledger.KeyEmail, "a@example.com")
	var held []*ledger.Transaction
	for range 3 {
		held = append(held, &b.step(ledger.RequestPayout{Amount: 1, Key: k}).Start[0].Tx)
	}
	reported := func(i int, r ledger.PayoutResult, reason string) *ledger.Transaction {
		return b.step(ledger.ResolvePayout{ID: held[i].ID, EndToEnd: held[i].EndToEnd, Result: r, Reason: reason}).Answer.Tx
	}
	reported(1, ledger.PayoutIsAccepted, "")
	if of := reported(2, ledger.PayoutIsRejected, ledger.ReasonDuplicate).DuplicateOf; of == nil || *of != held[1].ID {
		t.Errorf("a duplicate of %v, and the scheme has %v", of, held[1].ID)
	}
	if of := reported(0, ledger.PayoutIsRejected, ledger.ReasonDuplicate).DuplicateOf; of == nil || *of != held[1].ID {
		t.Errorf("a duplicate of %v, and the scheme has %v", of, held[1].ID)
	}
}
