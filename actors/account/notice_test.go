package account

import (
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// TestEmptyNotice checks that a notice which names a held payout, but an end-to-end id of
// another minute, changes nothing: a child actor still carries the payout, and the payout
// gets no outcome.
func TestEmptyNotice(t *testing.T) {
	b := newBench(t)
	b.step(ledger.OpenAccount{Settings: settings()})
	b.step(ledger.Credit{Kind: pix.TxTED, Amount: 1_000})
	k, _ := pix.ParseKey(pix.KeyEmail, "a@example.com")
	held := b.step(ledger.RequestPayout{Amount: 100, Key: k, Claim: &ledger.Claim{Scope: [16]byte{1}}}).Start[0].Tx
	other := held.EndToEnd[:20] + string('0'+'9'-held.EndToEnd[20]) + held.EndToEnd[21:]
	e := b.step(ledger.ResolveTransfer{ID: held.ID, EndToEnd: other, Notice: true, Result: ledger.TransferIsSettled})
	if len(e.Entry.Records) != 0 || e.Outcome != nil || len(b.machine.work) != 1 {
		t.Errorf("%d records, outcome %+v, %d children", len(e.Entry.Records), e.Outcome, len(b.machine.work))
	}
	e = b.step(ledger.ResolveTransfer{ID: held.ID, EndToEnd: held.EndToEnd, Notice: true, Result: ledger.TransferIsSettled})
	if len(e.Entry.Records) == 0 || e.Outcome == nil || e.Outcome.Stored == nil || len(b.machine.work) != 0 {
		t.Errorf("its own: %d records, outcome %+v, %d children", len(e.Entry.Records), e.Outcome, len(b.machine.work))
	}
}
