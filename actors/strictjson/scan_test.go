package strictjson

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

var (
	message = Rules{Longest: 100, Deepest: 4, Plain: true}
	body    = Rules{Deepest: 3, Paired: true}
)

// TestScan checks that a body that breaks a rule is refused with the reason and the offset.
func TestScan(t *testing.T) {
	for _, c := range []struct {
		body   string
		rules  Rules
		reason string // expected reason; empty: the body is usable
		offset int
	}{
		{`{}`, message, "", 0},
		{" {\"a\" : [ {\"b\":[]} ] } \r\n", message, "", 0},
		{`{"a":1,"b":{"a":1},"c":[{"a":1},{"a":2}]}`, body, "", 0},
		{`{"A":1,"ç":"\ud83d\ude00 \\ud800 \" \\\\ud800"}`, body, "", 0},
		{`{"a":"\ud800"}`, message, "", 0}, // messages of the scheme may have half a pair: the message may be about money

		{``, body, "it is not a JSON object", 0},
		{`[]`, body, "it is not a JSON object", 1},
		{`"a"`, body, "it is not a JSON object", 3},
		{"\xef\xbb\xbf{}", body, "it is not a JSON object", 0},
		{"{\"\xff\":1}", body, "it is not UTF-8", 2},
		{"{\"\ufffd\":\"\xe2\x82\"}", body, "it is not UTF-8", 8},
		{`{"a":1} {}`, body, "something follows the JSON object", 9},
		{`{"a":1}x`, body, "something follows the JSON object", 7},
		{`{"a":1,"a":2}`, body, `field "a" stands twice`, 10},
		{`{"a":1,"\u0061":2}`, body, `field "a" stands twice`, 15},
		{`{"x":{"a":1,"b":[{"c":1,"c":1}]}}`, message, `field "c" stands twice`, 27},
		{`{"a":{"a":{"a":{}}}}`, body, "it is nested deeper than 3 levels", 16},
		{`{"a":[[[]]]}`, body, "it is nested deeper than 3 levels", 8},
		{`{"a":[[1]]}`, body, "", 0},
		{`{"A":1}`, message, `unknown field "A"`, 4},
		{`{"a":{"b c":1}}`, message, `unknown field "b c"`, 11},
		{`{"é":1}`, message, `unknown field "\u00e9"`, 5},
		{`{"":1}`, message, `unknown field ""`, 3},
		{`{"a":` + strings.Repeat(" ", 93) + `1}`, message, "", 0},
		{`{"a":` + strings.Repeat(" ", 94) + `1}`, message, "it is longer than 100 bytes", 100},
		{`{"a":"\ud800"}`, body, "it has half of a surrogate pair", 6},
		{`{"a":"\ude00"}`, body, "it has half of a surrogate pair", 6},
		{`{"a":"\ud83d\u0041"}`, body, "it has half of a surrogate pair", 6},
		{`{"a":"\ud83d\ud83d\ude00"}`, body, "it has half of a surrogate pair", 6},
		{`{"a":"\ud83d\ude00\ude00"}`, body, "it has half of a surrogate pair", 18},
		{`{"a":"\\\ud800"}`, body, "it has half of a surrogate pair", 8},
		{`{"\uD800":1}`, body, "it has half of a surrogate pair", 2},
		{`{"a":`, body, notJSON, 5},
		{`{"a"}`, body, notJSON, 4},
		{`{"a":1,}`, body, notJSON, 7},
		{`{"a":01}`, body, notJSON, 6},
		{`{"a":[1}`, body, notJSON, 7},
		{`{"a":nul}`, body, notJSON, 5},
		{`{1:1}`, body, notJSON, 1},
		{`{`, body, notJSON, 1},
	} {
		err := Scan([]byte(c.body), c.rules)
		var got *Unusable
		if c.reason == "" {
			if err != nil {
				t.Errorf("%s: %v", c.body, err)
			}
		} else if !errors.As(err, &got) || got.Reason != c.reason || got.Offset != c.offset {
			t.Errorf("%s: %#v, want %s at %d", c.body, err, c.reason, c.offset)
		}
	}
}

// target has a field of each type that messages have.
type target struct {
	Text   string          `json:"text,omitempty"`
	Number int64           `json:"number"`
	Small  uint64          `json:"small"`
	Flag   bool            `json:"flag,omitempty"`
	List   []string        `json:"list"`
	Nested *target         `json:"nested,omitempty"`
	All    []target        `json:"all"`
	Any    map[string]any  `json:"any"`
	Raw    json.RawMessage `json:"raw,omitempty"`
}

// FuzzDecode checks that Decode and the standard library decode the same body to the same
// values, and that every body that Scan accepts is JSON without duplicate names.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"text":"a","number":1,"flag":true,"list":["a"],"nested":{"text":"\ud83d\ude00"},"all":[{}],"any":{"a":[1,"x",null]},"raw":[ 1 ]}`,
		`{"number":9223372036854775808}`, `{"number":-9223372036854775809}`, `{"number":1.0}`, `{"number":1e2}`, `{"small":-1}`, `{"small":18446744073709551616}`,
		`{"text":null,"list":null,"nested":null}`, `{"text":"\ud800"}`, `{"text":"\u0000\n\"\\"}`, `{"text":7}`, `{"flag":"true"}`, `{"list":{}}`, `{"list":[null]}`,
		`{"text":"é","number":12,"flag":false,"nested":{"text":"a","number":0}}`, `{"nested":{"text":"a","text":"b"}}`, `{"number":007}`, `{"text":"a"}{}`,
		`{"unknown":1}`, `{"number":1,"number":2}`, `{"NUMBER":1}`, `{"any":{"x":1e400}}`, `{"text":"` + "\u2028<>&" + `"}`, `{"raw":"a\u0062"}`, `{"nested":{"nested":{"unknown":{}}}}`,
	} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, in []byte, grows bool) {
		rules := Rules{Longest: 1000, Deepest: 7, Plain: true}
		var got, want target
		err := Decode(in, rules, &got, grows)
		if scanned := Scan(in, rules); scanned != nil {
			if err == nil {
				t.Fatalf("%q was read, though %v", in, scanned)
			}
			if simple(in, rules) {
				t.Fatalf("%q is simple, though %v", in, scanned)
			}
			return
		}
		if !json.Valid(in) || !utf8.Valid(in) {
			t.Fatalf("%q is usable", in)
		}
		d := json.NewDecoder(strings.NewReader(string(in)))
		if !grows {
			d.DisallowUnknownFields()
		}
		if expect := d.Decode(&want); (err == nil) != (expect == nil) {
			t.Fatalf("%q: %v, the standard library: %v", in, err, expect)
		}
		if err != nil {
			return
		}
		same(t, in, got, want)
	})
}

// same checks that Decode and the standard library gave the same values, and that Encode
// writes the same bytes as the standard library.
func same(t *testing.T, in []byte, got, want target) {
	t.Helper()
	var expect strings.Builder
	e := json.NewEncoder(&expect)
	e.SetEscapeHTML(false)
	if err := e.Encode(want); err != nil {
		t.Fatal(err)
	}
	written, err := Encode(got)
	if err != nil || string(written)+"\n" != expect.String() {
		t.Fatalf("%q: read and written %s, the standard library %s (%v)", in, written, expect.String(), err)
	}
}
