package engine

import (
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/ledger"
	"pixd/actors/scheme"
)

// TestInactiveAccount checks that an inactive account's requests are refused while its
// money still moves: payments arrive, and payouts settle, are rejected and come back.
func TestInactiveAccount(t *testing.T) {
	t.Parallel()
	o := newOtherSide(t)
	w := newHarness(t, vfs.NewMem(), o.beside)
	settles, rejected := w.paidOut(`{"amount":500,"pix_key":"a@pix.test"}`), w.paidOut(`{"amount":600,"pix_key":"b@pix.test"}`)
	active := func(yes string) {
		if status, got := w.operate("PATCH", "/admin/accounts/"+w.ID, `{"active":`+yes+`}`); status != 200 {
			t.Fatalf("active %s: %d %s", yes, status, got)
		}
	}
	active("false")
	if status, got, _ := w.charge(); status != 403 || got != `{"error":{"status":403,"message":"Account is not active"}}` {
		t.Errorf("a charge: %d %s", status, got)
	}
	o.notify(w, scheme.Notice{Kind: scheme.PaymentSettled, Tx: settles.tx(), EndToEnd: settles.EndToEnd}, nil)
	o.notify(w, scheme.Notice{Kind: scheme.PaymentRejected, Tx: rejected.tx(), EndToEnd: rejected.EndToEnd, Reason: "AC03"}, nil)
	o.notify(w, scheme.Notice{
		Kind: scheme.ReturnReceived, Tx: settles.tx(), EndToEnd: settles.EndToEnd, ReturnID: returnID(1), Amount: 200, Reason: "MD06",
	}, nil)
	const endToEnd = "E60701190202603011200abcdefghijk"
	o.notify(w, scheme.Notice{
		Kind: scheme.PaymentArrived, EndToEnd: endToEnd, Arrived: ledger.ReceivePayment{EndToEnd: endToEnd, Amount: 700, Key: w.EVP},
	}, nil)
	active("true")
	for id, want := range map[string]string{settles.TransactionID: "settled", rejected.TransactionID: "rejected"} {
		if got := w.found(id); got.Status != want {
			t.Errorf("%s is %+v", id, got)
		}
	}
	if got := w.money(); !strings.Contains(got, `"balance":950900,"available":950900`) { // 1,000,000 - 500 centavos + 200 + 700 base units; 100 base units are a centavo
		t.Errorf("balance %s", got)
	}
}
