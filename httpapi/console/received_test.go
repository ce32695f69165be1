package console

import "testing"

// TestReceivedRight checks when a delivery's signature counts as right: where one of those in the header is
// what was computed, and never where nothing was computed.
func TestReceivedRight(t *testing.T) {
	for _, c := range []struct {
		header, computed string
		want             bool
	}{
		{"v1,abc", "v1,abc", true},
		{"v1,new v1,abc", "v1,abc", true},
		{"v1,abd", "v1,abc", false},
		{"v1,abcd", "v1,abc", false},
		{"", "v1,abc", false},
		{"v1,abc", "", false},
		{"", "", false},
	} {
		if got := (received{Signature: c.header, Computed: c.computed}).Right(); got != c.want {
			t.Errorf("%q, computed %q: %v", c.header, c.computed, got)
		}
	}
}
