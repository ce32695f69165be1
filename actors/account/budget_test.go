package account

import (
	"fmt"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// cost counts what one entry writes into the journal: the keys that it sets or deletes, and
// the bytes of keys and values. The batch's own row is shared by all entries and not
// counted.
func cost(e *wal.Entry) (keys, bytes int) {
	const recordKey = 17
	for _, r := range e.Records {
		keys, bytes = keys+1, bytes+recordKey+len(r.Value)
	}
	for _, o := range e.Ops {
		keys, bytes = keys+1, bytes+len(o.Key)+len(o.Value)
	}
	return keys, bytes
}

// TestBudget checks that each operation writes few and short keys. A change that writes
// more must change the numbers here and in docs/formats.md.
func TestBudget(t *testing.T) {
	b := newBench(t)
	b.ahead = 0 // a record in which the two times differ is a few bytes longer
	b.machine.config = &Config{Renderer: renderForTest, HeadEvery: 1 << 40, Terms: testTerms, Recent: NewRecent(recentSlots)}
	b.step(ledger.OpenAccount{Settings: settings()})
	b.step(ledger.Credit{Kind: pix.TxTED, Amount: 1_000_000})
	k, _ := pix.ParseKey(pix.KeyEVP, "1f0c3a52-7f1a-4c59-9d3a-0a6f0b8f7a11")
	request := ledger.RequestPayout{Amount: 10_000, Key: k, Description: "supplier"}
	owner := pix.Party{Name: "Pessoa Simulada", Document: "98765432100", ISPB: "99999005"}
	var id pix.TxID
	var e2e string
	resolve := func(r ledger.TransferResult) ledger.ResolveTransfer {
		return ledger.ResolveTransfer{ID: id, EndToEnd: e2e, Result: r, Owner: owner}
	}
	charge := b.step(ledger.CreateCharge{Amount: 500, Key: k})
	for _, c := range []struct {
		name        string
		command     func() ledger.Command
		keys, bytes int
	}{
		{"charge", func() ledger.Command { return ledger.CreateCharge{Amount: 500, Key: k} }, 3, 235},
		{"charge with external id", func() ledger.Command { return ledger.CreateCharge{Amount: 500, Key: k, ExternalID: "order-1"} }, 4, 270},
		{"charge under a key", func() ledger.Command { return ledger.CreateCharge{Amount: 500, Key: k, Claim: &ledger.Claim{}} }, 4, 390},
		{"payment of a charge", func() ledger.Command {
			return ledger.ReceivePayment{EndToEnd: fmt.Sprintf("E99999003202603011200%011s", "1"), Amount: 500, TxID: charge.Answer.Tx.Public(), Key: k.Value}
		}, 4, 355},
		{"payment without one", func() ledger.Command {
			return ledger.ReceivePayment{EndToEnd: fmt.Sprintf("E99999003202603011200%011s", "2"), Amount: 500, Key: k.Value}
		}, 5, 378},
		{"payout held", func() ledger.Command { return request }, 3, 272},
		{"payout accepted", func() ledger.Command { return resolve(ledger.TransferIsAccepted) }, 4, 357},
		{"payout settled", func() ledger.Command { return resolve(ledger.TransferIsSettled) }, 5, 383},
		{"answer kept", func() ledger.Command {
			return ledger.KeepAnswer{Claim: &ledger.Claim{Scope: [16]byte{1}}, Stored: ledger.Stored{Code: 200, Body: []byte(`{"worked":true,"valid":true,"cpf":"12345678909"}`)}}
		}, 2, 240},
		{"read", func() ledger.Command { return ledger.ReadAccount{} }, 0, 0},
		{"refused", func() ledger.Command { r := request; r.Amount = 1 << 40; return r }, 0, 0},
	} {
		e := b.step(c.command())
		if len(e.Start) > 0 {
			id, e2e = e.Start[0].Tx.ID, e.Start[0].Tx.EndToEnd
		}
		if keys, bytes := cost(&e.Entry); keys != c.keys || bytes > c.bytes || bytes < c.bytes*9/10 {
			t.Errorf("%s: %d keys and %d bytes, budgeted %d and %d", c.name, keys, bytes, c.keys, c.bytes)
		}
	}
}

// TestBudgetOfRefunds is TestBudget for refunds and special-return cases.
func TestBudgetOfRefunds(t *testing.T) {
	b := newBench(t)
	terms := testTerms
	terms.MEDDeadline, terms.MEDAnalysis = 1000, 2000
	b.machine.config = &Config{Renderer: renderForTest, HeadEvery: 1 << 40, Terms: terms, Recent: NewRecent(recentSlots)}
	b.step(ledger.OpenAccount{Settings: settings()})
	e2e := endToEnd("a")
	b.step(ledger.ReceivePayment{EndToEnd: e2e, Amount: 1000, Key: "k", PayerName: "Ana", PayerDocument: "12345678909"})
	var tx *ledger.Transaction
	var k *ledger.Case
	resolve := func(r ledger.TransferResult) func() ledger.Command {
		return func() ledger.Command {
			return ledger.ResolveTransfer{ID: tx.ID, EndToEnd: tx.EndToEnd, Result: r, Reason: "CH16"}
		}
	}
	reports := 0
	report := func() ledger.Command {
		reports++
		return ledger.OpenCase{Infraction: fmt.Sprintf("01a20359-970b-7350-b591-4f1e1b82ba9%d", reports), EndToEnd: e2e, Amount: 200, Situation: "SCAM"}
	}
	refund := func() ledger.Command {
		return ledger.RequestRefund{Original: e2e, Amount: 100, Reason: "MD06", Description: "one was broken"}
	}
	analysis := func(r pix.CaseResult) func() ledger.Command {
		return func() ledger.Command { return ledger.CloseCase{ID: k.ID, Result: r} }
	}
	for _, c := range []struct {
		name        string
		command     func() ledger.Command
		keys, bytes int
	}{
		{"refund held", refund, 4, 440},
		{"refund accepted", resolve(ledger.TransferIsAccepted), 4, 370},
		{"refund settled", resolve(ledger.TransferIsSettled), 6, 490},
		{"refund held again", refund, 4, 440},
		{"refund settled in the call", resolve(ledger.TransferIsSettled), 10, 855},
		{"case opened", report, 7, 505},
		{"case defended", func() ledger.Command {
			return ledger.DefendCase{ID: k.ID, Justification: "delivered", Result: pix.Disagreed}
		}, 6, 450},
		{"case closed for the merchant", analysis(pix.Disagreed), 6, 485},
		{"another opened", report, 7, 505},
		{"withdrawn", func() ledger.Command { return ledger.CancelCase{Infraction: k.Infraction, EndToEnd: e2e} }, 6, 460},
		{"a third opened", report, 7, 505},
		{"agreed and refunded", analysis(pix.Agreed), 16, 1360},
		{"its refund accepted", resolve(ledger.TransferIsAccepted), 4, 390},
		{"its refund settled", resolve(ledger.TransferIsSettled), 9, 815},
	} {
		e := b.step(c.command())
		if len(e.Start) > 0 {
			tx = e.Start[0].Tx
		}
		if e.Answer != nil && e.Answer.Case != nil {
			k = e.Answer.Case
		}
		if keys, bytes := cost(&e.Entry); keys != c.keys || bytes > c.bytes || bytes < c.bytes*9/10 {
			t.Errorf("%s: %d keys and %d bytes, budgeted %d and %d", c.name, keys, bytes, c.keys, c.bytes)
		}
	}
}
