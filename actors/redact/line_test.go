package redact

import (
	"errors"
	"testing"
)

// TestLineOfPrintableText checks that the characters next to the printable ASCII ones become question marks.
func TestLineOfPrintableText(t *testing.T) {
	if got := Line(errors.New("a\x7fb\x1fc~ d")); got != "a?b?c~ d" {
		t.Errorf("%q", got)
	}
}
