package pix

import (
	"testing"
)

// TestISPB checks that a participant's id may have capital letters, also inside an
// end-to-end id, but that a recipient's must be 8 digits.
func TestISPB(t *testing.T) {
	for s, want := range map[string]struct{ participant, recipient bool }{
		"99999004":    {true, true},
		"00000000":    {true, true},
		"1A2B3C4D":    {true, false},
		"ABCDEFGZ":    {true, false},
		"1a2B3C4D":    {},
		"9999900":     {},
		"999990040":   {},
		"1A2B3C4":     {},
		"1A2B3C4D5":   {},
		"":            {},
		"9999900 ":    {},
		"9999-004":    {},
		"9999900@":    {},
		"9999900[":    {},
		"9999900/":    {},
		"9999900:":    {},
		"999990Á":     {},
		"9999900\xc1": {},
	} {
		if got := ISPB(s); got != want.participant {
			t.Errorf("ISPB(%q) is %v", s, got)
		}
		if got := RecipientISPB(s); got != want.recipient {
			t.Errorf("RecipientISPB(%q) is %v", s, got)
		}
		id := EndToEnd(s, 1_790_000_000_000, "AbCdEfGhIj0")
		if got := ValidEndToEnd(id); got != want.participant {
			t.Errorf("ValidEndToEnd(%q) is %v", id, got)
		}
	}
}
