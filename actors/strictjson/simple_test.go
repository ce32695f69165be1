package strictjson

import (
	"slices"
	"strings"
	"testing"
)

// TestSimple checks which bodies simple takes, and that Scan finds each of them usable.
func TestSimple(t *testing.T) {
	many := func(n int) string {
		names := make([]string, n)
		for i := range names {
			names[i] = `"n` + strings.Repeat("x", i) + `":1`
		}
		return "{" + strings.Join(names, ",") + "}"
	}
	for _, c := range []struct {
		body  string
		rules Rules
		want  bool
	}{
		{`{}`, message, true},
		{`{"a":1,"b_2":"x","c":{"a":true,"d":false},"e":0,"f":{}}`, message, true},
		{`{"a":"José, 5 < 6 & \u007f"}`, message, false}, // an escape
		{`{"a":"José, 5 < 6 ` + "\x7f\u2028" + `"}`, message, true},
		{`{"a":` + strings.Repeat("1", 94) + `}`, message, true},
		{many(16), Rules{Deepest: 1, Plain: true}, true},
		{`{"az_09":1029}`, message, true},

		{`{"a":` + strings.Repeat("1", 95) + `}`, message, false},
		{many(17), Rules{Deepest: 1, Plain: true}, false},
		{`{"a":{"a":{"a":{}}}}`, message, true},
		{`{"a":{"a":{"a":{"a":{}}}}}`, message, false},
		{``, message, false},
		{`{`, message, false},
		{`{"a"`, message, false},
		{`{"a":`, message, false},
		{`{"a":"`, message, false},
		{`{"a":"x`, message, false},
		{`{"a":1`, message, false},
		{`{"a":1,`, message, false},
		{`{"a":1,}`, message, false},
		{`{,}`, message, false},
		{`{"a":1}x`, message, false},
		{`{"a":1}{}`, message, false},
		{`{"a":1}}`, message, false},
		{`{"a":1,"a":2}`, message, false},
		{`{"a":1,"b":2,"c":3,"b":4}`, message, false},
		{`{"a":{"b":1,"b":2}}`, message, false},
		{`{"A":1}`, message, false},
		{`{"":1}`, message, false},
		{`{"é":1}`, message, false},
		{`{"a":01}`, message, false},
		{`{"a":00}`, message, false},
		{`{"a":-1}`, message, false},
		{`{"a":1.5}`, message, false},
		{`{"a":1e3}`, message, false},
		{`{"a":}`, message, false},
		{`{"a":tru}`, message, false},
		{`{"a":truee}`, message, false},
		{`{"a":trux}`, message, false},
		{`{"a":tr`, message, false},
		{`{"a":null}`, message, false},
		{`{"a":[1]}`, message, false},
		{`{"a":"x"y}`, message, false},
		{`{"a" :1}`, message, false},
		{"{\"a\":\"\n\"}", message, false},
		{"{\"a\":\"\xff\"}", message, false},
		{`{"a":"\"}`, message, false},
	} {
		if got := simple(slices.Clip([]byte(c.body)), c.rules); got != c.want {
			t.Errorf("%s: %v", c.body, got)
		}
		if err := Scan([]byte(c.body), c.rules); c.want && err != nil {
			t.Errorf("%s: %v", c.body, err)
		}
	}
}
