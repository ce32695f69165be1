package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pixd/actors/pix"
	"pixd/cmd/terminal"
)

func TestReais(t *testing.T) {
	for a, want := range map[pix.Amount]string{
		0: "0.00", 1: "0.0001", 100: "0.01", 150: "0.0150", 10_000: "1.00", -10_000: "-1.00", 9_999_900: "999.99",
		10_000_000: "1,000.00", 1_234_567_890_123: "123,456,789.0123", -70: "-0.0070",
		math.MaxInt64: "922,337,203,685,477.5807", math.MinInt64: "-922,337,203,685,477.5808",
	} {
		if got := reais(a); got != want {
			t.Errorf("%d: %s, want %s", a, got, want)
		}
	}
}

// TestPrintJSON checks that printJSON escapes the characters which a terminal might obey, and
// that a reader of the JSON sees no difference.
func TestPrintJSON(t *testing.T) {
	was := map[string]string{"a<b>": "\x1b[31m \u009b \u202e \U000e0001 \x7f ção 日本 \n"}
	raw := `{ "a<b>":` + "\n\t\"\\u001b[31m \u009b \u202e \U000e0001 \x7f ção 日本 \\n\" }"
	var b strings.Builder
	if err := printJSON(&b, []byte(raw)); err != nil {
		t.Fatal(err)
	}
	var is map[string]string
	if err := json.Unmarshal([]byte(b.String()), &is); err != nil || is["a<b>"] != was["a<b>"] {
		t.Errorf("%q %v", b.String(), err)
	}
	if line, _ := strings.CutSuffix(b.String(), "\n"); terminal.Plain(line) != line {
		t.Errorf("%q", line)
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct{ s, want string }{{"ação", "ação"}, {"ações", "açõ…"}, {"", ""}} {
		if got := cut(c.s, 4); got != c.want {
			t.Errorf("%s: %s, want %s", c.s, got, c.want)
		}
	}
}
