package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// TestReturnTexts checks the texts for merchants about a return's reason: four codes have
// texts of their own; every other code, known or not, has the generic text.
func TestReturnTexts(t *testing.T) {
	t.Parallel()
	p := start(t, filepath.Join(t.TempDir(), "data"))
	s := p.shop()
	status, got, err := s.ask(p.merchant, "/pix/cash-out", `{"amount":1000,"pix_key":"settle-now@pix.test"}`, "out")
	var out struct {
		TransactionID string `json:"transaction_id"`
		EndToEndID    string `json:"end_to_end_id"`
	}
	if err != nil || status != 200 || json.Unmarshal(got, &out) != nil {
		t.Fatalf("%d %s %v", status, got, err)
	}
	for code, text := range map[string]string{
		"MD06": "Returned by agreement between the parties",
		"BE08": "Returned because of fraud",
		"FR01": "Returned because fraud was reported at the receiving side",
		"SL02": "Returned because of a settlement error",
		"AM09": "Return from counterparty (AM09)",
		"RR04": "Return from counterparty (RR04)",
		"ZZ99": "Return from counterparty (ZZ99)",
	} {
		var back struct {
			ID string `json:"return_id"`
		}
		p.made("/sim/returns", fmt.Sprintf(`{"end_to_end_id":%q,"amount":100,"reason":%q}`, out.EndToEndID, code), &back)
		item := s.receivedReturn(p, back.ID)
		if item.Description != text || item.ReasonCode != code || item.FailureReason != code || item.Original != out.TransactionID || item.Amount != 100 {
			t.Errorf("%s: %+v, want %q", code, item, text)
		}
	}
}

// returnItem holds the fields of a received return, as the merchant sees it.
type returnItem struct {
	TransactionID string `json:"transaction_id"`
	Description   string
	Amount        int64
	ReasonCode    string `json:"reason_code"`
	FailureReason string `json:"failure_reason"`
	Original      string `json:"original_transaction_id"`
}

// receivedReturn waits until a return has arrived and returns it as the merchant sees it. The
// test finds the return in the operator API by the return's id at the scheme.
func (s shop) receivedReturn(p *process, id string) (item returnItem) {
	p.t.Helper()
	for range 500 {
		if status, _, err := p.operate("GET", "/admin/transactions/"+id, ""); err == nil && status == 200 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := json.Unmarshal([]byte(p.get("/admin/transactions/"+id)), &item); err != nil {
		p.t.Fatal(err)
	}
	status, got, err := s.ask(p.merchant, "/transactions/"+item.TransactionID, "", "")
	item = returnItem{}
	if err != nil || status != 200 || json.Unmarshal(got, &item) != nil {
		p.t.Fatalf("%s: %d %s %v", id, status, got, err)
	}
	return item
}
