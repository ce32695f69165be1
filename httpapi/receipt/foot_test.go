package receipt

import (
	"strings"
	"testing"

	"pixd/actors/pix"
)

// TestNothingBelowTheFootsLine checks that whatever the length of its texts, a receipt has no text between the line of its foot
// and the foot itself.
func TestNothingBelowTheFootsLine(t *testing.T) {
	const line, foot = (footHeight + 5) * 72 / 25.4, footHeight * 72 / 25.4
	for n := range 8 * 24 {
		party := Party{Name: strings.Repeat("Fulana ", 12*(6+n/24)), Institution: Institution{"Banco", "12345678"}}
		f := Facts{
			Kind: pix.TxReturn, Amount: 100, TransactionID: "PIXRETAAAA", EndToEnd: "D1", OriginalTransactionID: "PIXOUTAAAA",
			ReasonCode: strings.Repeat("devolvido ", 12*(n/8%3+8)), CompletedAt: 1, Payer: party, Recipient: party,
		}
		if n&1 != 0 {
			f.PaidAt = 1
		}
		if n&2 != 0 {
			f.Fee, f.Net = 1, 99
		}
		if n&4 != 0 {
			f.OriginalEndToEnd = "E1"
		}
		file, err := PDF(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range read(t, file) {
			if s.y < line && (s.y < foot-1 || s.y > foot+1) {
				t.Errorf("%d: %q at %.1f", n, s.text, s.y)
			}
		}
	}
}
