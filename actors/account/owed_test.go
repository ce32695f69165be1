package account

import (
	"fmt"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

func (c *counted) Scan(lo, hi []byte, fn func(k, v []byte) (bool, error)) error {
	return c.Rows.Scan(lo, hi, func(k, v []byte) (bool, error) {
		c.rows++
		return fn(k, v)
	})
}

// stepOn is step with reads that are counted.
func (b *bench) stepOn(rows Rows, c ledger.Command) outcome {
	b.store.durable = b.store.ticket
	e, effects, err := b.machine.Step(rows, Call{Command: c, Now: b.reading(), Entropy: b.draw(), Durable: b.store.durable})
	if err != nil {
		b.t.Fatal(err)
	}
	b.machine.Submitted(b.store.append(&e))
	return b.machine.outcome(e, effects)
}

// almost credits so much that the case which is owed lacks 4,997 base units.
func (b *bench) almost(t *testing.T) {
	t.Helper()
	if len(b.step(ledger.Credit{Kind: pix.TxTED, Amount: 1_905_000}).Start) != 0 {
		t.Fatal("refunded too early")
	}
}

// TestOwedBehindOpenCases checks that, where older open cases keep an agreed case from its money,
// a command does not read them all; and that the refund is made as soon as there is money for it,
// however it comes: by a credit, by a payout that fails, and by an older case that is withdrawn.
func TestOwedBehindOpenCases(t *testing.T) {
	const cases = 200
	for name, frees := range map[string]func(b *bench, first *ledger.Case, held ledger.Transaction) outcome{
		"a credit": func(b *bench, _ *ledger.Case, _ ledger.Transaction) outcome {
			return b.step(ledger.Credit{Kind: pix.TxTED, Amount: 10_000_000})
		},
		"a payout that is refused": func(b *bench, _ *ledger.Case, held ledger.Transaction) outcome {
			b.almost(t)
			return b.step(ledger.ResolveTransfer{ID: held.ID, EndToEnd: held.EndToEnd, Result: ledger.TransferIsRefused, Refusal: ledger.RefuseKeyNotFound})
		},
		"a credit after a case was withdrawn": func(b *bench, first *ledger.Case, _ ledger.Transaction) outcome {
			b.step(ledger.Credit{Kind: pix.TxTED, Amount: 1_800_000})
			b.step(ledger.CancelCase{Infraction: first.Infraction, EndToEnd: first.EndToEnd})
			return b.step(ledger.Credit{Kind: pix.TxTED, Amount: 20_000})
		},
		"a case that is withdrawn": func(b *bench, first *ledger.Case, _ ledger.Transaction) outcome {
			b.almost(t)
			return b.step(ledger.CancelCase{Infraction: first.Infraction, EndToEnd: first.EndToEnd})
		},
	} {
		b := newBench(t)
		b.step(ledger.OpenAccount{Settings: settings()})
		for i := range cases {
			b.step(ledger.ReceivePayment{EndToEnd: endToEnd(fmt.Sprint(i)), Amount: 100_000, Key: "k"})
		}
		k, _ := pix.ParseKey(pix.KeyEmail, "ana@example.com")
		out := b.step(ledger.RequestPayout{Amount: cases * 10_000, Key: k}).Start[0].Tx
		b.step(ledger.ResolveTransfer{ID: out.ID, EndToEnd: out.EndToEnd, Result: ledger.TransferIsSettled})
		held := *b.step(ledger.RequestPayout{Amount: 10_000, Key: k}).Start[0].Tx
		var first, last *ledger.Case
		for i := range cases {
			last = b.step(ledger.OpenCase{Infraction: fmt.Sprint("i", i), EndToEnd: endToEnd(fmt.Sprint(i)), Amount: 100_000, Situation: "SCAM"}).Answer.Case
			if first == nil {
				first = last
			}
		}
		if started := b.step(ledger.CloseCase{ID: last.ID, Result: pix.Agreed}).Start; len(started) != 0 {
			t.Fatalf("%s: refunded without money", name)
		}
		reads := &counted{Rows: b.store}
		for range 3 {
			b.stepOn(reads, ledger.Credit{Kind: pix.TxTED, Amount: 1})
		}
		if reads.rows > cases+3*5 {
			t.Errorf("%s: three credits beside %d open cases read %d rows", name, cases, reads.rows)
		}
		if started := frees(b, first, held).Start; len(started) != 1 || started[0].Tx.Kind != pix.TxRefund {
			t.Errorf("%s makes no refund: %+v", name, started)
		}
	}
}

// TestRaisedBehindOpenCases checks that an agreed case which holds more, as a refund of its payment
// failed, is not refunded from money that older open cases hold.
func TestRaisedBehindOpenCases(t *testing.T) {
	b := newBench(t)
	b.step(ledger.OpenAccount{Settings: settings()})
	older, payment := endToEnd("a"), endToEnd("b")
	b.step(ledger.ReceivePayment{EndToEnd: older, Amount: 100_000, Key: "k"})
	b.step(ledger.ReceivePayment{EndToEnd: payment, Amount: 100_000, Key: "k"})
	k, _ := pix.ParseKey(pix.KeyEmail, "ana@example.com")
	out := b.step(ledger.RequestPayout{Amount: 150_000, Key: k}).Start[0].Tx
	b.step(ledger.ResolveTransfer{ID: out.ID, EndToEnd: out.EndToEnd, Result: ledger.TransferIsSettled})
	refund := *b.step(ledger.RequestRefund{Original: payment, Amount: 20_000, Reason: "MD06"}).Start[0].Tx
	b.step(ledger.OpenCase{Infraction: "i1", EndToEnd: older, Amount: 100_000, Situation: "SCAM"})
	later := b.step(ledger.OpenCase{Infraction: "i2", EndToEnd: payment, Amount: 100_000, Situation: "SCAM"}).Answer.Case
	b.step(ledger.CloseCase{ID: later.ID, Result: pix.Agreed})
	b.step(ledger.Credit{Kind: pix.TxTED, Amount: 1})
	got := b.step(ledger.ResolveTransfer{ID: refund.ID, EndToEnd: refund.EndToEnd, Result: ledger.TransferIsRefused, Refusal: ledger.RefuseProvider})
	if len(got.Start) != 0 || b.machine.head.Totals.MEDHeld != 200_000 {
		t.Errorf("%+v, %+v", got.Start, b.machine.head.Totals)
	}
}
