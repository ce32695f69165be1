package httpapi

import (
	"strings"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// TestReasonTexts checks that every code which the contract names, and every code that the
// engine gives a payout or refund itself, is explained.
func TestReasonTexts(t *testing.T) {
	codes := strings.Fields("AC03 AB03 ED05 DUPL AM02 FF08 BE01 AM09 CH16 DT05 cnpj_out_blocked")
	codes = append(codes, ledger.ReasonQueueTimeout, ledger.ReasonVoided, ledger.ReasonDeclined, ledger.ReasonExpired, ledger.ReasonNotResent, ledger.ReasonDuplicate)
	codes = append(codes, pix.BucketClient.Reason(), pix.BucketInstitution.Reason())
	for _, c := range ledger.Refusals() {
		if _, outside := ledger.ParseRefusal(c.String()); outside {
			codes = append(codes, c.String())
		}
	}
	for _, code := range codes {
		if text := reasonText(code); text != reasonTexts[code] {
			t.Errorf("%s: %q", code, text)
		}
	}
	for code, text := range reasonTexts {
		if len(text) < 15 || text[0] < 'A' || text[0] > 'Z' || strings.HasSuffix(text, ".") {
			t.Errorf("%s: %q", code, text)
		}
	}
	if got := reasonText("ZZ98"); got != "Rejected by the scheme (ZZ98)" {
		t.Errorf("unknown code: %q", got)
	}
}
