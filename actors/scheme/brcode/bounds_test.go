package brcode

import (
	"errors"
	"strings"
	"testing"
)

// TestParseBounds checks codes at a limit, which are read, and next to it, which are not.
func TestParseBounds(t *testing.T) {
	url := func(n int) string {
		return field("00", gui) + field("25", "a.example/"+strings.Repeat("x", n-len("a.example/")))
	}
	rest := func(n int) string { // of n bytes, in templates of others
		fill := ""
		for id := 27; n > 103; id++ {
			fill, n = fill+field(string([]byte{'0' + byte(id/10), '0' + byte(id%10)}), field("00", strings.Repeat("x", 85))), n-93
		}
		return fill + field("51", field("00", strings.Repeat("x", n-8)))
	}
	base := seal(head + pixKey + middle + tail)
	recurrence := field("00", gui) + field("25", "a.example/r")
	for name, c := range map[string]struct {
		text  string
		taken bool
	}{
		"512 bytes":       {seal(head + pixKey + rest(MaxText-len(base)) + middle + tail), true},
		"513 bytes":       {seal(head + pixKey + rest(MaxText-len(base)+1) + middle + tail), false},
		"a URL of 77":     {seal(head + field("26", url(77)) + middle + tail), true},
		"a URL of 78":     {seal(head + field("26", field("00", gui)+field("25", strings.Repeat("x", 78))) + middle + tail), false},
		"no currency":     {seal(head + pixKey + "52040000" + "5802BR5901N6001C" + tail), false},
		"one recurrence":  {seal(head + pixKey + middle + tail + field("80", recurrence)), true},
		"two recurrences": {seal(head + pixKey + middle + tail + field("80", recurrence) + field("81", recurrence)), false},
	} {
		_, err := Parse(c.text)
		var malformed *Malformed
		if (err == nil) != c.taken || err != nil && !errors.As(err, &malformed) {
			t.Errorf("%s (%d bytes): %v", name, len(c.text), err)
		}
	}
}

// TestPlainSpaces checks that each white space character separates words.
func TestPlainSpaces(t *testing.T) {
	for _, c := range "\t\n\v\f\r " {
		if got := plain("A" + string(c) + "B"); got != "A B" {
			t.Errorf("%q: %q", c, got)
		}
	}
}
