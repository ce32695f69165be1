package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func nested(levels int, open, end string) string {
	return strings.Repeat(open, levels) + "1" + strings.Repeat(end, levels)
}

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		`{}`:                                    `{}`,
		" \t\r\n{ } \n":                         `{}`,
		`{"a":1}`:                               `{"a":1}`,
		`{ "b" : [ 1 , { } , [ ] ] , "a":null}`: `{"a":null,"b":[1,{},[]]}`,
		`{"b":{"d":1,"c":{"f":true,"e":false}},"a":[{"z":1,"y":2},{"x":3}]}`:        `{"a":[{"y":2,"z":1},{"x":3}],"b":{"c":{"e":false,"f":true},"d":1}}`,
		`{"a":1.0,"b":1E+2,"c":-0,"d":0.10e-07,"e":123456789012345678901234567890}`: `{"a":1.0,"b":1E+2,"c":-0,"d":0.10e-07,"e":123456789012345678901234567890}`,
		`{"a":"\/ \u00e7 \u00E7 \ud83d\ude00 \u0041 \u2028"}`:                       "{\"a\":\"/ ç ç 😀 A \u2028\"}",
		`{"a":"\u0022\u005c\"\\"}`:                                                  `{"a":"\"\\\"\\"}`,
		`{"a":"\u0008\u0009\u000a\u000c\u000d\b\t\n\f\r\u0000\u001F\u007f"}`:        `{"a":"\b\t\n\f\r\b\t\n\f\r\u0000\u001f` + "\x7f" + `"}`,
		"{\"a\":\"\ufeff\ufffd\\ufffd\"}":                                           "{\"a\":\"\ufeff\ufffd\ufffd\"}",
		`{"aa":1,"a":2,"":3}`:                                                       `{"":3,"a":2,"aa":1}`,
		`{"a":1,"B":2}`:                                                             `{"B":2,"a":1}`,
		// Keys are sorted by bytes of UTF-8, not by UTF-16 units: U+FF61 comes before
		// U+1F600.
		`{"😀":1,"｡":2}`: `{"｡":2,"😀":1}`,
		// Keys are sorted by their decoded characters, not by their escapes.
		`{"\u0062":1,"a":2}`:     `{"a":2,"b":1}`,
		`{"\n":1,"\u0001":2}`:    `{"\u0001":2,"\n":1}`,
		`{"a\"":1,"a!":2}`:       `{"a!":2,"a\"":1}`,
		nested(32, `{"a":`, `}`): nested(32, `{"a":`, `}`),
	} {
		got, err := Canonical([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%s\n got %s, %v\nwant %s", in, got, err, want)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"":                                   reasonNotJSON,
		" ":                                  reasonNotJSON,
		"{":                                  reasonNotJSON,
		`{"a"}`:                              reasonNotJSON,
		`{"a":}`:                             reasonNotJSON,
		`{"a":1,}`:                           reasonNotJSON,
		`{,}`:                                reasonNotJSON,
		`{"a":1 "b":2}`:                      reasonNotJSON,
		`{a:1}`:                              reasonNotJSON,
		`{'a':1}`:                            reasonNotJSON,
		`{"a":[1,]}`:                         reasonNotJSON,
		`{"a":[,1]}`:                         reasonNotJSON,
		`{"a":[1 2]}`:                        reasonNotJSON,
		`{"a":[1}`:                           reasonNotJSON,
		`{"a":01}`:                           reasonNotJSON,
		`{"a":+1}`:                           reasonNotJSON,
		`{"a":.5}`:                           reasonNotJSON,
		`{"a":1.}`:                           reasonNotJSON,
		`{"a":1e}`:                           reasonNotJSON,
		`{"a":-}`:                            reasonNotJSON,
		`{"a":0x1}`:                          reasonNotJSON,
		`{"a":NaN}`:                          reasonNotJSON,
		`{"a":nul}`:                          reasonNotJSON,
		`{"a":truex}`:                        reasonNotJSON,
		`{"a":True}`:                         reasonNotJSON,
		`{"a":"`:                             reasonNotJSON,
		`{"a":"\`:                            reasonNotJSON,
		`{"a":"\x"}`:                         reasonNotJSON,
		`{"a":"\u12"}`:                       reasonNotJSON,
		`{"a":"\u12g4"}`:                     reasonNotJSON,
		"{\"a\":\"\n\"}":                     reasonNotJSON,
		"{\"a\":\"\x00\"}":                   reasonNotJSON,
		"{\"a\":1\x00}":                      reasonNotJSON,
		"{\"a\":1/*c*/}":                     reasonNotJSON,
		"{\"a\":\u00a01}":                    reasonNotJSON,
		`[1]`:                                reasonNotObject,
		`"a"`:                                reasonNotObject,
		`1`:                                  reasonNotObject,
		`null`:                               reasonNotObject,
		`{}{}`:                               reasonTrailing,
		`{} x`:                               reasonTrailing,
		"{}\x00":                             reasonTrailing,
		"\xef\xbb\xbf{}":                     reasonBOM,
		"{\"a\":\"\xff\"}":                   reasonNotUTF8,
		"{\"a\":\"\xed\xa0\x80\"}":           reasonNotUTF8, // a surrogate encoded in UTF-8
		"{\"a\":\"\xc0\xaf\"}":               reasonNotUTF8, // a slash encoded in two bytes
		"\xff\xfe{\x00}\x00":                 reasonNotUTF8,
		`{"a":"\ud83d"}`:                     reasonSurrogate,
		`{"a":"\ude00"}`:                     reasonSurrogate,
		`{"a":"\ud83dx"}`:                    reasonSurrogate,
		`{"a":"\ud83d\u0041"}`:               reasonSurrogate,
		`{"a":"\ud83d\ud83d\ude00"}`:         reasonSurrogate,
		`{"\udfff":1}`:                       reasonSurrogate,
		`{"a":1,"a":1}`:                      reasonTwice,
		`{"a":1,"b":2,"a":3}`:                reasonTwice,
		`{"a":1,"\u0061":2}`:                 reasonTwice,
		`{"x":[{"b":1,"a":2,"b":3}]}`:        reasonTwice,
		`{"x":{"":1,"":2}}`:                  reasonTwice,
		nested(33, `{"a":`, `}`):             reasonTooDeep,
		`{"a":` + nested(32, `[`, `]`) + `}`: reasonTooDeep,
		strings.Repeat(`{"a":`, 100_000):     reasonTooDeep,
	} {
		var bad *Unusable
		got, err := canonical([]byte("kept"), []byte(in))
		if !errors.As(err, &bad) || bad.Reason != want || string(got) != "kept" {
			t.Errorf("%.60q: %q, %v; want %s", in, got, err, want)
		}
	}
}

func TestSorted(t *testing.T) {
	for in, want := range map[string]bool{
		`{}`:                             true,
		`{ "a" : 1 , "b" : "\u00e7\/" }`: true,
		`{"b":1,"a":2}`:                  false,
		`{"a":{"c":1,"b":2}}`:            false,
		`{"a":[{"c":1,"b":2}],"b":1}`:    false,
		`{"a":[{"c":1},{"b":2}],"b":1}`:  true,
		`{"\u0061":1,"b":2}`:             true,
		`{"\u0062":1,"a":2}`:             false,
		`{"a":1,"B":2}`:                  false,
	} {
		c := new(canonicaliser)
		if _, err := c.run(nil, []byte(in), false, nil); err != nil || c.sorted != want {
			t.Errorf("%s: sorted %v, %v", in, c.sorted, err)
		}
	}
}

// naive computes the canonical form a second time, from the standard library's tokens. It
// is slow and shares no code with canonical.
func naive(body []byte) (string, bool) {
	if !utf8.Valid(body) || !json.Valid(body) || loneSurrogate(body) {
		return "", false
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return "", false
	}
	return naiveInside(d, '{', 1)
}

func naiveInside(d *json.Decoder, open rune, level int) (string, bool) {
	keys, items := []string{}, map[string]string{}
	for d.More() {
		key := strconv.Itoa(len(keys))
		if open == '{' {
			t, _ := d.Token()
			key = t.(string)
		}
		value, ok := naiveValue(d, level)
		if _, twice := items[key]; twice || !ok {
			return "", false
		}
		keys, items[key] = append(keys, key), value
	}
	_, _ = d.Token()
	if open == '{' {
		sort.Strings(keys)
	}
	parts := []string{}
	for _, key := range keys {
		if open == '{' {
			parts = append(parts, naiveString(key)+":"+items[key])
		} else {
			parts = append(parts, items[key])
		}
	}
	return string(open) + strings.Join(parts, ",") + string(open+2), level <= maxDepth
}

func naiveValue(d *json.Decoder, level int) (string, bool) {
	token, _ := d.Token()
	switch v := token.(type) {
	case json.Delim:
		return naiveInside(d, rune(v), level+1)
	case json.Number:
		return v.String(), true
	case string:
		return naiveString(v), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "null", true
}

func naiveString(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	out := strings.TrimSuffix(b.String(), "\n")
	return regexp.MustCompile(`\\u202[89]|\\.`).ReplaceAllStringFunc(out, func(e string) string {
		switch e {
		case `\u2028`:
			return "\u2028"
		case `\u2029`:
			return "\u2029"
		}
		return e
	})
}

var anyEscape = regexp.MustCompile(`\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u(....)|.)`)

func loneSurrogate(body []byte) bool {
	for _, m := range anyEscape.FindAllSubmatch(body, -1) {
		if r, err := strconv.ParseUint(string(m[1]), 16, 16); err == nil && r >= 0xd800 && r <= 0xdfff {
			return true
		}
	}
	return false
}

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"b":[1,{"d":"\u00e7\/","c":-0.1e+9}],"a":null}`, `{"a":1,"a":2}`, `{"a":"\ud83d\ude00\ud83d"}`,
		"{\"\u2028\":\"\\u2028\\u0000\\u001f\x7f\"}", `{"😀":1,"｡":2}`, `{"a":"\\ud83d"}`, "\xef\xbb\xbf{}", `{"b":true,"":false} `,
		`{"\u0000":1,"":[[],{}]}`, `{"fooBar":1,"foo_bar":2}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := canonical(nil, body)
		want, ok := naive(body)
		if (err == nil) != ok || err == nil && string(got) != want {
			t.Fatalf("%q:\ngot  %q, %v\nwant %q, %v", body, got, err, want, ok)
		}
		if err != nil {
			return
		}
		c := new(canonicaliser)
		again, err := c.run(nil, got, false, nil)
		if err != nil || !bytes.Equal(again, got) || !c.sorted || len(got) > len(body) {
			t.Fatalf("%q: again %q, %v", got, again, err)
		}
	})
}

const (
	payoutBody = `{"amount":150000,"description":"Pagamento 4711","external_id":"order-2026-000123","pix_key":"123e4567-e12b-12d1-a456-426655440000","pix_key_type":"evp"}`
	looseBody  = `{"pix_key_type": "evp", "pix_key": "123e4567-e12b-12d1-a456-426655440000", "external_id": "order-2026-000123", "description": "Devolu\u00e7\u00e3o", "amount": 150000}`
)

func BenchmarkCanonical(b *testing.B) {
	for name, body := range map[string]string{"canonical": payoutBody, "unsorted": looseBody} {
		b.Run(name, func(b *testing.B) {
			room, raw := make([]byte, 0, 512), []byte(body)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = canonical(room, raw)
			}
		})
	}
}
