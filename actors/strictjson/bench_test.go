package strictjson

import (
	"bytes"
	"testing"
)

// order is the body that the benchmarks read.
var order = []byte(`{"kind":"payment_arrived","end_to_end_id":"E9999900420261029120000000000001",` +
	`"arrived":{"amount":25000,"pix_key":"ana@example.com","description":"pão","payer":{"name":"Zé","document":"12345678909","ispb":"99999003"}}}`)

// BenchmarkScan measures the checks of a body alone.
func BenchmarkScan(b *testing.B) {
	rules := Rules{Longest: 64 << 10, Deepest: 8, Plain: true}
	b.SetBytes(int64(len(order)))
	b.ReportAllocs()
	for b.Loop() {
		if err := Scan(order, rules); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecode measures the checks of a body and its decoding into a structure.
func BenchmarkDecode(b *testing.B) {
	type message struct {
		Kind     string `json:"kind"`
		EndToEnd string `json:"end_to_end_id"`
		Arrived  struct {
			Amount int64 `json:"amount"`
		} `json:"arrived"`
	}
	rules := Rules{Longest: 64 << 10, Deepest: 8, Plain: true}
	b.SetBytes(int64(len(order)))
	b.ReportAllocs()
	for b.Loop() {
		var m message
		if err := Decode(order, rules, &m, true); err != nil || m.Arrived.Amount != 25_000 {
			b.Fatal(m, err)
		}
	}
}

// BenchmarkForm measures the reading of a body field by field.
func BenchmarkForm(b *testing.B) {
	rules := Rules{Deepest: 3, Paired: true}
	b.SetBytes(int64(len(order)))
	b.ReportAllocs()
	for b.Loop() {
		var kind string
		var amount int64
		f := Read(order, rules, "kind", "end_to_end_id", "arrived")
		f.Text("kind", &kind)
		f.Object("arrived", "amount", "pix_key", "description", "payer").Integer("amount", &amount)
		if f.Fault() != nil || kind != "payment_arrived" || amount != 25_000 {
			b.Fatal(kind, amount, f.Fault())
		}
	}
}

// BenchmarkEncode measures the encoding of an answer.
func BenchmarkEncode(b *testing.B) {
	answer := struct {
		State string `json:"state"`
		Text  string `json:"text"`
	}{"settled", "a <b> & c"}
	b.ReportAllocs()
	for b.Loop() {
		if got, err := Encode(answer); err != nil || !bytes.Contains(got, []byte("<b>")) {
			b.Fatal(string(got), err)
		}
	}
}
