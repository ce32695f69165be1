package ledger

import (
	"maps"

	"pixd/actors/pix"
)

// saved is the state of a bench's account.
type saved struct {
	account Account
	records []Record
	rows    map[string][]byte
}

func (b *bench) save() *saved {
	return &saved{*b.account, append([]Record(nil), b.records...), maps.Clone(b.rows)}
}

// lose takes the account back to the snapshot. What was lost is kept, as the scheme's side of it.
func (b *bench) lose() {
	b.lost = b.save()
	account := b.kept.account
	b.account, b.records, b.rows = &account, append([]Record(nil), b.kept.records...), maps.Clone(b.kept.rows)
	clear(b.carried)
	clear(b.waiting)
	b.now += 60_000
	b.terms.EventsAbove += 1000
	b.terms.RestoredAt = b.now
}

// newestLost is the newest state of a transaction before the journal was lost.
func (b *bench) newestLost(id pix.TxID) (t *Transaction) {
	for i := range b.lost.records {
		if r := &b.lost.records[i]; r.Tx != nil && r.Tx.ID == id {
			t = r.Tx
		}
	}
	if t == nil {
		b.t.Fatalf("%v was never there", id)
	}
	return t
}

// find makes the command that tells the restored account of a payout or refund.
func (b *bench) find(a args) Command {
	t := b.newestLost(b.ids[a["of"]])
	result := map[string]TransferResult{"accepted": TransferIsAccepted, "settled": TransferIsSettled, "rejected": TransferIsRejected}[a["is"]]
	if t.Kind == pix.TxRefund {
		return FindRefund{
			ID: t.ID, ReturnID: t.EndToEnd, Original: t.Refund.OriginalEndToEnd, Amount: t.Amount, Code: t.Refund.Code, Description: t.Description,
			Result: result, Reason: a["code"],
		}
	}
	return FindPayout{
		ID: t.ID, EndToEnd: t.EndToEnd, Amount: t.Amount, Key: t.Payout.Key, Owner: t.Counterparty, RecipientISPB: t.Payout.RecipientISPB,
		Description: t.Description, Purpose: t.Payout.Purpose, Result: result, Reason: a["code"],
	}
}
