package terminal

import "testing"

// TestPlain checks that characters which a terminal might obey are escaped in texts.
func TestPlain(t *testing.T) {
	for s, want := range map[string]string{
		"Açaí & Cia 日本": "Açaí & Cia 日本", "": "", "e\u0301": "e\u0301",
		"\x1b[31m": `\x1b[31m`, "a\nb\tc\rd": `a\nb\tc\rd`, "\u009b2J": `\u009b2J`, "\x7f": `\x7f`,
		"\u202eabc\u2066": `\u202eabc\u2066`, "\xff\xfe": `\xff\xfe`, "\ufffd": "\ufffd", "\u2028": `\u2028`, "\U000e0001": `\U000e0001`,
	} {
		if got := Plain(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}
