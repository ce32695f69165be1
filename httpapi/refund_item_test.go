package httpapi

import (
	"strings"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// refund is a refund of 300 base units, with every field that an item shows.
func refund(s pix.TxStatus) ledger.Transaction {
	code := pix.CaseID{7}
	return ledger.Transaction{
		ID: itemID, Kind: pix.TxRefund, Status: s, Amount: 300, EndToEnd: "D9999900420260921132000000000001", ExternalID: "r-1", Description: "Devolução PIX", CreatedAt: testNow,
		Counterparty: pix.Party{Name: "Ana", Document: "12345678909", ISPB: "60701190"},
		Refund:       ledger.RefundPart{Original: otherID, OriginalEndToEnd: e2e, OriginalAmount: 10000, Code: "MD06", Case: &code, Refunded: 300},
	}
}

// TestRefundItem checks the item of a refund in each status: outbound, with the payer as the
// recipient, whose document is whole.
func TestRefundItem(t *testing.T) {
	begin := `{"id":"` + itemUUID + `","transaction_id":"` + itemID.Public(pix.TxRefund) + `","end_to_end_id":"D9999900420260921132000000000001","external_id":"r-1","txid":null,"type":"pix",`
	mid := `"amount":300,"fee_amount":0,"net_amount":300,"description":"Devolução PIX","direction":"outbound","counterparty_name":"Ana","recipient_key":null,"recipient_document":"12345678909","payer_document":null,"payer_ispb":null,"payer_bank_name":null,"receiving_key":null,`
	origin := `"returned_amount":null,"refunded_amount":null,"return_reason":"MD06","case_id":"` + pix.CaseID{7}.String() + `","original_transaction_id":"` + otherID.Public(pix.TxReceipt) + `","original_end_to_end_id":"` + e2e + `",` + created
	const booked = `"booked_at":"2026-09-21T14:13:20.001Z",`
	for status, want := range map[pix.TxStatus]string{
		pix.StatusHeld:     begin + `"status":"pending","payment_status":"processing",` + mid + nullReason + origin + `"booked_at":null,"completed_at":null}`,
		pix.StatusAccepted: begin + `"status":"pending","payment_status":"processing",` + mid + nullReason + origin + `"booked_at":null,"completed_at":null}`,
		pix.StatusSettled:  begin + `"status":"settled","payment_status":"settled",` + mid + nullReason + origin + booked + `"completed_at":"2026-09-21T14:13:20.001Z"}`,
		pix.StatusFailed:   begin + `"status":"failed","payment_status":"failed",` + mid + `"reason_code":"CH16","failure_reason":"CH16","duplicate_of":null,` + origin + booked + `"completed_at":null}`,
	} {
		tx := refund(status)
		if !status.InFlight() {
			tx.BookedAt = testNow + 1
		}
		if status == pix.StatusFailed {
			tx.ReasonCode = "CH16"
		}
		if got := string(Item(&tx, nil)); got != want {
			t.Errorf("%v:\n got %s\nwant %s", status, got, want)
		}
	}
	late := refund(pix.StatusSettled)
	late.BookedAt, late.Transfer.LateAt = testNow+1, testNow+9
	if got := string(Item(&late, nil)); !strings.HasSuffix(got, booked+`"completed_at":"2026-09-21T14:13:20.009Z"}`) {
		t.Errorf("late: %s", got)
	}
}
