package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLettersInISPB checks that institutions with capital letters in their ISPB pay and are
// paid, and that an audit includes them. In a payout request a merchant may name a
// recipient's ISPB only if it consists of digits.
func TestLettersInISPB(t *testing.T) {
	t.Parallel()
	const ours, payers = "1A2B3C4D", "ZZ000X01"
	p := start(t, filepath.Join(t.TempDir(), "data"), "--ispb", ours)
	s := p.shop()
	status, got, err := s.ask(p.merchant, "/pix/cash-out", `{"amount":100,"pix_key":"settle-now@pix.test"}`, "own")
	if err != nil || status != 200 || !strings.Contains(string(got), `"end_to_end_id":"E`+ours) {
		t.Errorf("%d %s %v", status, got, err)
	}
	own := "E" + ours + time.Now().UTC().Format("200601021504") + "00000000001"
	status, got, err = s.ask(p.merchant, "/pix/cash-out", fmt.Sprintf(`{"amount":100,"end_to_end_id":%q,"pix_key":"settle-now+1@pix.test"}`, own), "named")
	if err != nil || status != 200 || !strings.Contains(string(got), own) {
		t.Errorf("%d %s %v", status, got, err)
	}
	for ispb, want := range map[string]string{ours: "recipient_ispb must be 8 digits", "ABCDEFGH": "recipient_ispb must be 8 digits"} {
		status, got, err := s.ask(p.merchant, "/pix/cash-out", fmt.Sprintf(`{"amount":100,"pix_key":"a@b.com","recipient_ispb":%q}`, ispb), "to "+ispb)
		if err != nil || status != 400 || !strings.Contains(string(got), want) {
			t.Errorf("%s: %d %s %v", ispb, status, got, err)
		}
	}
	var paid struct {
		EndToEnd string `json:"end_to_end_id"`
	}
	p.made("/sim/payments", fmt.Sprintf(`{"pix_key":%q,"amount":500,"payer":{"ispb":%q}}`, s.Key, payers), &paid)
	if !strings.HasPrefix(paid.EndToEnd, "E"+payers) {
		t.Error(paid.EndToEnd)
	}
	var received struct {
		TransactionID string `json:"transaction_id"`
		PayerISPB     string `json:"payer_ispb"`
	}
	if err := json.Unmarshal([]byte(p.get("/admin/transactions/"+paid.EndToEnd)), &received); err != nil || received.PayerISPB != payers {
		t.Errorf("%+v %v", received, err)
	}
	if status, got, err := p.operate("POST", "/sim/payments", fmt.Sprintf(`{"pix_key":%q,"amount":500,"payer":{"ispb":"zz000x01"}}`, s.Key)); err != nil || status != 400 || !strings.Contains(string(got), "payer.ispb must be 8 digits or capital letters") {
		t.Errorf("%d %s %v", status, got, err)
	}
	if got := rest(p, s); got != 1_000_000_000-20_000+500 {
		t.Errorf("balance %d", got)
	}
	for _, ispb := range []string{`{"ispb":"` + ours + `","sent":20000,"received":500,`, `{"ispb":"` + payers + `","sent":500,"received":0,`} {
		if got := p.get("/sim/book"); !strings.Contains(got, ispb) {
			t.Errorf("%s is not in %s", ispb, got)
		}
	}
	if code, out, errs := p.operates("audit"); code != 0 || !strings.Contains(out, "scheme's book  compared") {
		t.Errorf("audit: exit %d\n%s%s", code, out, errs)
	}
}
