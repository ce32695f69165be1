package account

import (
	"fmt"
	"testing"

	"pixd/actors/ledger"
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
	b.machine.config = &Config{Renderer: renderForTest, HeadEvery: 1 << 40, Terms: testTerms, Recent: NewRecent(recentSlots)}
	b.step(ledger.OpenAccount{Settings: settings()})
	b.step(ledger.Credit{Kind: ledger.TxTED, Amount: 1_000_000})
	k, _ := ledger.ParseKey(ledger.KeyEVP, "1f0c3a52-7f1a-4c59-9d3a-0a6f0b8f7a11")
	request := ledger.RequestPayout{Amount: 10_000, Key: k, Description: "supplier"}
	owner := ledger.Party{Name: "Pessoa Simulada", Document: "98765432100", ISPB: "99999005"}
	var id ledger.TxID
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
		}, 4, 345},
		{"payment without one", func() ledger.Command {
			return ledger.ReceivePayment{EndToEnd: fmt.Sprintf("E99999003202603011200%011s", "2"), Amount: 500, Key: k.Value}
		}, 5, 370},
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
