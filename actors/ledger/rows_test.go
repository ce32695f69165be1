package ledger

import (
	"testing"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// TestRowsOfNoForm checks that decoding returns an error for bytes that no version of the
// engine wrote.
func TestRowsOfNoForm(t *testing.T) {
	for name, decode := range map[string]func(b []byte) error{
		"id":          func(b []byte) error { _, err := layout.DecodeIDRow(b); return err },
		"item":        func(b []byte) error { _, err := layout.DecodeItemRow(b); return err },
		"idempotency": func(b []byte) error { _, err := layout.DecodeIdempotencyRow(b); return err },
		"day":         func(b []byte) error { _, err := layout.DecodeIdempotencyDay(b); return err },
		"sequence":    func(b []byte) error { _, err := layout.DecodeSeqRow(b); return err },
		"end-to-end":  func(b []byte) error { _, err := layout.DecodeEndToEndRow(b); return err },
		"received":    func(b []byte) error { _, err := layout.DecodeReceivedKey(b); return err },
		"payment":     func(b []byte) error { _, err := layout.DecodeReceivedRow(storyID("x"), b); return err },
		"due":         func(b []byte) error { _, err := layout.DecodeDue(b, layout.SeqRow(1)); return err },
		"queue":       func(b []byte) error { _, err := layout.DecodeQueued(b, layout.QueueRow(1)); return err },
		"open":        func(b []byte) error { _, _, err := layout.DecodeOpenKey(b); return err },
		"head":        func(b []byte) error { return (&Account{}).DecodeHead(b) },
	} {
		for _, b := range [][]byte{nil, {1, 2, 3}} {
			if decode(b) == nil {
				t.Errorf("%s: %x is taken", name, b)
			}
		}
	}
	holdBelowZero := Account{Totals: Totals{Held: -1}}
	if (&Account{}).DecodeHead(holdBelowZero.EncodeHead()) == nil {
		t.Error("a head with a hold below zero is taken")
	}
}

// TestSettingsEqual checks that a change of any setting makes settings unequal.
func TestSettingsEqual(t *testing.T) {
	threshold, other, same := pix.Amount(1), pix.Amount(2), pix.Amount(1)
	base := func() Settings {
		s := DefaultSettings()
		s.ApprovalThreshold = &threshold
		return s
	}
	for name, change := range map[string]func(*Settings){
		"name": func(s *Settings) { s.Name = "x" }, "document": func(s *Settings) { s.Document = "x" }, "city": func(s *Settings) { s.City = "x" },
		"in": func(s *Settings) { s.CashInFee.Fixed = 1 }, "out": func(s *Settings) { s.CashOutFee.BPS = 1 }, "ceiling": func(s *Settings) { s.CashOutCeiling = 1 },
		"threshold": func(s *Settings) { s.ApprovalThreshold = &other }, "no threshold": func(s *Settings) { s.ApprovalThreshold = nil },
		"control": func(s *Settings) { s.BlockCNPJOut = true }, "list": func(s *Settings) { s.AuthorizedCNPJs = []string{"x"} }, "window": func(s *Settings) { s.RepeatWindow++ },
	} {
		a, b := base(), base()
		if change(&b); a.Equal(&b) || b.Equal(&a) {
			t.Errorf("%s does not count", name)
		}
	}
	a, b := base(), base()
	if b.ApprovalThreshold = &same; !a.Equal(&b) {
		t.Error("the same threshold is another")
	}
}
