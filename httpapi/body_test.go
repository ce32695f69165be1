package httpapi

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// FuzzFields checks that fields finds the same fields, with the same values, as the standard
// library's decoder.
func FuzzFields(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":1}`, ` { "a" : [ 1 , { "b" : "}\"" } ] , "c" : null , "d" : "x\\" } `,
		`{"\u0061mount":12,"n":-0.5e+3,"t":true,"f":false,"o":{},"l":[],"s":"\ud83d\ude00\/"}`,
		`{"z":{"b":1,"a":2},"y":"\u0001\t\"","originalTransactionId":"x","b":[{"d":1,"c":2}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		c := new(canonicaliser)
		if _, err := c.run([]byte("before"), body, false, nil); err != nil {
			return
		}
		var want map[string]any
		if err := exactly(body, &want); err != nil {
			t.Fatal(err)
		}
		var names []string
		c.fields(func(name, value []byte) {
			names = append(names, snake(string(name)))
			var got any
			if err := exactly(value, &got); err != nil || !reflect.DeepEqual(got, want[string(name)]) {
				t.Fatalf("%s: field %q is %s, want %v (%v)", body, name, value, want[string(name)], err)
			}
			delete(want, string(name))
			text, isText := got.(string)
			if got := readText(value); got != (textField{Value: text, Given: true, Wrong: !isText}) {
				t.Fatalf("%s: text %+v, want %q", value, got, text)
			}
		})
		for name, value := range want {
			if value != nil {
				t.Fatalf("%s: field %q was passed over", body, name)
			}
		}
		// With camelCase fields gives the same names in their snake_case form.
		if _, err := c.run(nil, body, true, nil); err != nil {
			return
		}
		var snaked []string
		c.fields(func(name, _ []byte) { snaked = append(snaked, string(name)) })
		if !slices.Equal(names, snaked) {
			t.Fatalf("%s: %q, in snake_case %q", body, names, snaked)
		}
	})
}

// exactly decodes JSON and keeps numbers as they are written.
func exactly(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return d.Decode(v)
}

// amounts maps values of the field amount to the amount in base units; 0 means that the value
// is refused.
var amounts = map[string]pix.Amount{
	"1": 100, "1000": 100_000, "999999999999": 99_999_999_999_900,
	"0": 0, "-0": 0, "-1": 0, "1000000000000": 0, "100.0": 0, "1e2": 0, "1E0": 0, "0.5": 0, `"100"`: 0, "null": 0,
	"true": 0, "{}": 0, "[]": 0, "[100]": 0, "9223372036854775807": 0, "9223372036854775808": 0, "18446744073709551617": 0,
	"92233720368547758": 0, "-9223372036854775808": 0,
}

func TestAmounts(t *testing.T) {
	f := newFixture(t)
	f.engine.answer = ledger.Answer{Tx: &ledger.Transaction{Kind: pix.TxPayout, EndToEnd: e2e}}
	for text, want := range amounts {
		f.engine.command = nil
		g := f.send(sent{path: cashOut, body: `{"amount":` + text + `,"pix_key":"a@b.com"}`})
		c, taken := f.engine.command.(ledger.RequestPayout)
		if taken != (want != 0) || c.Amount != want {
			t.Errorf("cash-out of %s: %+v", text, f.engine.command)
		}
		if want == 0 && (g.status != 400 || g.body != `{"errors":{"bad_request":"invalid or missing amount"}}`) {
			t.Errorf("cash-out of %s: %d %s", text, g.status, g.body)
		}
		f.engine.command, f.madeUp = nil, true // a payout answers a charge
		g = f.send(sent{path: cashIn, body: `{"amount":` + text + `}`})
		f.madeUp = false
		charge, taken := f.engine.command.(ledger.CreateCharge)
		if taken != (want != 0) || charge.Amount != want {
			t.Errorf("cash-in of %s: %+v", text, f.engine.command)
		}
		if want == 0 && (g.status != 400 || g.body != `{"worked":false,"errors":{"bad_request":{"amount":["amount must be an integer number of centavos from 1 to 999999999999"]}}}`) {
			t.Errorf("cash-in of %s: %d %s", text, g.status, g.body)
		}
	}
}

// TestCommands checks that the engine gets every field of a body in its normalised form, and
// that a field with the value null counts as absent.
func TestCommands(t *testing.T) {
	f := newFixture(t)
	f.engine.answer = ledger.Answer{Tx: &ledger.Transaction{Kind: pix.TxPayout, EndToEnd: e2e}}
	f.send(sent{path: cashOut, body: `{"amount":7,"Amount":1,"description":"caf\u00e9","end_to_end_id":"` + e2e + `","external_id":" o-1 ","pix_key":"11987654321","pix_key_type":"phone","purpose":"rent","recipient_document":"123.456.789-09","recipient_ispb":"60701190","unknown":{"a":[1]}}`})
	want := ledger.RequestPayout{
		Amount: 700, Key: pix.Key{Type: pix.KeyPhone, Value: "+5511987654321"}, Description: "café", ExternalID: "o-1",
		RecipientISPB: "60701190", EndToEnd: e2e, Purpose: "rent", GivenDocument: "12345678909",
	}
	if f.engine.command != ledger.Command(want) {
		t.Errorf("got %+v", f.engine.command)
	}
	f.send(sent{path: cashOut, body: `{"amount":7,"description":null,"end_to_end_id":null,"external_id":12,"pix_key":"` + testEVP + `","pix_key_type":null,"purpose":null,"recipient_document":5,"recipient_ispb":null}`})
	want = ledger.RequestPayout{Amount: 700, Key: pix.Key{Type: pix.KeyEVP, Value: testEVP}}
	if f.engine.command != ledger.Command(want) {
		t.Errorf("got %+v", f.engine.command)
	}
	f.engine.answer = ledger.Answer{Tx: &ledger.Transaction{Kind: pix.TxCharge, Amount: 700, Charge: ledger.ChargePart{Key: pix.Key{Value: testEVP}}}}
	f.send(sent{path: cashIn, body: `{"amount":7,"description":"x","external_id":"a b"}`})
	if f.engine.command != ledger.Command(ledger.CreateCharge{Amount: 700, Description: "x", Key: pix.Key{Type: pix.KeyEVP, Value: testEVP}}) {
		t.Errorf("got %+v", f.engine.command)
	}
}
