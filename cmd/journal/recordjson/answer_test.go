package recordjson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pixd/actors/ledger"
)

// shown returns how a stored answer's body is shown.
func shown(t *testing.T, body string) string {
	t.Helper()
	l := &line{b: []byte("{")}
	writerOf(reflect.TypeFor[ledger.Stored]())(l, "answer", reflect.ValueOf(&ledger.Stored{Code: 200, Body: []byte(body)}).Elem())
	got, ok := strings.CutPrefix(string(l.b), `{"answer":{"code":200`)
	if !ok || !json.Valid([]byte(string(l.b)+"}")) {
		t.Errorf("%s: shown as %s", body, l.b)
	}
	got = strings.TrimSuffix(got, "}")
	return strings.TrimPrefix(got, `,"body":`)
}

// TestAnswers checks that of a stored answer everything is shown but secrets, which are masked
// under every name, at any depth and whatever their type is.
func TestAnswers(t *testing.T) {
	for body, want := range map[string]string{
		"":   "",
		"{}": "{}",
		`{ "worked" : true, "amount": 1.50e3, "data":[1,{"a":null}, [], {}, "x"] }`: `{"amount":1.50e3,"data":[1,{"a":null},[],{},"x"],"worked":true}`,
		`{"secret":"whsec_AAAA","id":"whk_a"}`:                                      `{"id":"whk_a","secret":"***"}`,
		`{"clientSecret":"sk_A","client_secret":"sk_B","ClientSecret":"sk_C"}`:      `{"ClientSecret":"***","clientSecret":"***","client_secret":"***"}`,
		`{"data":[{"a":{"secret":"x"}},{"Secret":5}],"z":1}`:                        `{"data":[{"a":{"secret":"***"}},{"Secret":"***"}],"z":1}`,
		`{"secret":{"a":["x",{"b":"y"}]},"token":["x"],"password":null}`:            `{"password":"***","secret":"***","token":"***"}`,
		`{"s\u0065cret":"x","hmac":"y","authorization":"ApiKey a:b"}`:               `{"authorization":"***","hmac":"***","secret":"***"}`,
		`{"secretSha256":"ab","secret_sha256":"cd"}`:                                `{"secretSha256":"***","secret_sha256":"***"}`,
		`{"secretary":"Ana","a":"secret","b":"secret:x"}`:                           `{"a":"secret","b":"secret:x","secretary":"Ana"}`,
		`{"url":"https://a.example/h?token=x","URL":"https://b.example/?y"}`:        `{"URL":"https://b.example/?***","url":"https://a.example/h?***"}`,
		`{"url":{"secret":"x?y"},"x":"a?b"}`:                                        `{"url":{"secret":"***"},"x":"a?b"}`,
		`{"a":"\"\\\u001b[31m\n<&>"}`:                                               `{"a":"\"\\\u001b[31m\n<&>"}`,
		"{\"a\":\"x\u202ey\u0085\u2028\U000e0001\"}":                                `{"a":"x\u202ey\u0085\u2028\udb40\udc01"}`,
		`not JSON, secret`:     `"***"`,
		`["whsec_AAAA"]`:       `"***"`,
		`{"a":1,"a":2}`:        `"***"`,
		"{\"a\":\"\xff\"}":     `"***"`,
		`{"secret":"whsec_AAA`: `"***"`,
	} {
		if got := shown(t, body); got != want {
			t.Errorf("%s\nis shown as %s\nwant        %s", body, got, want)
		}
	}
}

// TestOneListOfSecrets checks that the names of records' secrets are in the list for answers:
// masking a whole record as if it was an answer changes nothing.
func TestOneListOfSecrets(t *testing.T) {
	l, r, _ := fullRecords()
	for i, line := range [][]byte{AppendLedger(nil, 1, l), AppendRegistry(nil, 1, "registry", r)} {
		if !bytes.Contains(line, []byte(`"***"`)) {
			t.Errorf("no secret in %s", line)
		}
		got := shown(t, string(line))
		if strings.Count(got, `"***"`) != strings.Count(string(line), `"***"`) {
			t.Errorf("record %d has a secret that is not masked: %s", i, got)
		}
	}
}

// TestURLs checks that the query of a subscription's URL, in which a token may be, is masked.
func TestURLs(t *testing.T) {
	r := ledger.Record{Kind: ledger.SubscriptionMade, Body: ledger.Body{Subscription: &ledger.Subscription{URL: "https://a.example/h?token=x"}}}
	if got := string(AppendLedger(nil, 1, &r)); !strings.Contains(got, `"url":"https://a.example/h?***"`) || strings.Contains(got, "token") {
		t.Error(got)
	}
}

// TestTerminal checks that no character passes which a terminal or an editor might take for a
// command, and that a reader of JSON gets each text back.
func TestTerminal(t *testing.T) {
	var every strings.Builder
	for r := range rune(unicode.MaxRune + 1) {
		if utf8.ValidRune(r) {
			every.WriteRune(r)
		}
	}
	for name, text := range map[string]string{
		"escape": "a\x1b[2J\a\b\r\n\tb", "DEL and C1": "\x7f\u0080\u009b31m\u009f", "lines": "\u2028\u2029\v\f",
		"bidi": "\u202a\u202e\u2066\u2069\u200e\u061c", "JSON": `"\</script>&`, "letters": "São João, nº 5 – 日本 🙂", "every": every.String(),
	} {
		r := ledger.Record{Kind: ledger.Credited, Body: ledger.Body{Tx: &ledger.Transaction{Description: text}}}
		got := AppendLedger(nil, 1, &r)
		var back struct {
			Body struct {
				Transaction struct{ Description string }
			}
		}
		if err := json.Unmarshal(got, &back); err != nil || back.Body.Transaction.Description != text {
			t.Errorf("%s: came back as %.100q, %v", name, back.Body.Transaction.Description, err)
		}
		for i, c := range strings.TrimSuffix(string(got), "\n") {
			if unicode.IsControl(c) || unicode.In(c, unicode.Bidi_Control, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) {
				t.Errorf("%s: %U at byte %d", name, c, i)
				break
			}
		}
		if name == "letters" && !strings.Contains(string(got), text) {
			t.Errorf("%s", got)
		}
		if name == "JSON" && !strings.Contains(string(got), `"\"\\</script>&"`) {
			t.Errorf("%s", got)
		}
	}
	if got := string(appendText(nil, "a\xff\x9b\xc0\x80b")); got != `"a����b"` {
		t.Errorf("what is no UTF-8 is shown as %s", got)
	}
}
