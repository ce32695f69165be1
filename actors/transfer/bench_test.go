package transfer

import (
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/scheme"
)

// BenchmarkJob measures the steps of a payout's job: the look-up of the key, the submission, and
// the report that the payment is accepted.
func BenchmarkJob(b *testing.B) {
	j := job
	j.Goal = ledger.GoalPay
	b.ReportAllocs()
	for b.Loop() {
		m := New(j)
		if m.Begin() != Lookup || m.Query().Key != j.Tx.Payout.Key || m.Step(Reply{Owner: ana}) != Submit || m.Payment().Amount != j.Tx.Amount {
			b.Fatal("the payment was not submitted")
		}
		act := m.Step(Reply{State: scheme.State{Progress: scheme.Pending}})
		if act != Report || m.Outcome.Result != ledger.TransferIsAccepted {
			b.Fatalf("%v: %+v", act, m.Outcome)
		}
	}
}
