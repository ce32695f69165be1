package transfer

import (
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// TestControl checks that a payout to an owner whom the account's settings forbid is
// refused before it is submitted. If the payout is in doubt, its hold stays and the payout
// is not submitted again.
func TestControl(t *testing.T) {
	s := ledger.DefaultSettings()
	s.BlockCNPJOut, s.AuthorizedCNPJs = true, []string{"11222333000181"}
	for document, refused := range map[string]bool{
		"11222333000182": true, "12ABC34501DE35": true, "11222333000181": false, "12345678909": false,
	} {
		m := New(Job{Tx: &ledger.Transaction{ID: pix.TxID{1}}, Refuses: s.RefusesPayoutTo})
		m.Begin()
		act := m.Step(Reply{Owner: pix.Party{Document: document}})
		if refused != (act == Report) || refused && m.Outcome.Refusal != ledger.RefuseCNPJBlocked {
			t.Errorf("%s: act %d, %+v", document, act, m.Outcome)
		}
	}
	m := New(Job{Tx: &ledger.Transaction{}, Goal: ledger.GoalResume, Refuses: s.RefusesPayoutTo})
	m.Begin()
	m.Step(Reply{}) // the scheme does not know the payout
	if act := m.Step(Reply{Owner: pix.Party{Document: "11222333000182"}}); act != Report || m.Outcome.Result != ledger.TransferIsAccepted {
		t.Errorf("in doubt: act %d, %+v", act, m.Outcome)
	}
	m = New(Job{Tx: &ledger.Transaction{}, Goal: ledger.GoalClear, Refuses: s.RefusesPayoutTo})
	m.Begin()
	m.Step(Reply{})
	if act := m.Step(Reply{Owner: pix.Party{Document: "11222333000182"}}); act != Report || m.Outcome.Result != ledger.TransferIsOpen {
		t.Errorf("accepted in doubt: act %d, %+v", act, m.Outcome)
	}
	known := &ledger.Transaction{ID: pix.TxID{1}, Counterparty: pix.Party{Name: "Loja", Document: "11222333000182"}}
	for goal, result := range map[ledger.Goal]ledger.TransferResult{ledger.GoalResume: ledger.TransferIsAccepted, ledger.GoalClear: ledger.TransferIsOpen} {
		m = New(Job{Goal: goal, Tx: known, Refuses: s.RefusesPayoutTo})
		m.Begin()
		if act := m.Step(Reply{}); act != Report || m.Outcome.Result != result {
			t.Errorf("goal %d, whose owner an earlier child has learned: act %d, %+v", goal, act, m.Outcome)
		}
	}
	s.BlockCNPJOut = false
	if s.RefusesPayoutTo("11222333000182") {
		t.Error("a control that is off refuses")
	}
}
