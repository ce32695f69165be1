package httpapi

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// settledPayout is a payout with every field that an item shows of a settled one.
func settledPayout() ledger.Transaction {
	t := payout(pix.StatusSettled)
	t.BookedAt = testNow + 200
	return t
}

// BenchmarkItem measures the JSON of one transaction.
func BenchmarkItem(b *testing.B) {
	t := settledPayout()
	want := Item(&t, nil)
	b.SetBytes(int64(len(want)))
	b.ReportAllocs()
	for b.Loop() {
		if len(Item(&t, nil)) != len(want) {
			b.Fatal("another item")
		}
	}
}

// BenchmarkCells measures the line of one transaction in the file of a statement.
func BenchmarkCells(b *testing.B) {
	t := settledPayout()
	b.ReportAllocs()
	for b.Loop() {
		if len(Cells(&t, nil)) != len(Columns()) {
			b.Fatal("a cell is missing")
		}
	}
}

// BenchmarkEvent measures the body of the webhook about a payment that arrived.
func BenchmarkEvent(b *testing.B) {
	t := ledger.Transaction{
		ID: itemID, Kind: pix.TxReceipt, Status: pix.StatusCompleted, Amount: 250_000, EndToEnd: e2e, CreatedAt: testNow, BookedAt: testNow,
		Counterparty: pix.Party{Name: "Zé", Document: "12345678909", ISPB: "60701190"}, Receipt: ledger.ReceiptPart{Key: testEVP}, Ordinal: 1, Booking: 1,
	}
	r := ledger.Record{Account: merchant, Seq: 5, Time: testNow, Kind: ledger.PaymentReceived}
	r.Tx, r.Events, r.Totals.Events = &t, []pix.EventKind{pix.EventReceived}, 1
	want := Event(r.Event(0), nil)
	b.SetBytes(int64(len(want)))
	b.ReportAllocs()
	for b.Loop() {
		if len(Event(r.Event(0), nil)) != len(want) || !bytes.Contains(want, []byte(`"sequence":1`)) {
			b.Fatalf("another event than %s", want)
		}
	}
}

// BenchmarkRender measures the answer to a payout, which the engine stores under its
// idempotency key.
func BenchmarkRender(b *testing.B) {
	t := payout(pix.StatusAccepted)
	a := ledger.Answer{Tx: &t}
	b.ReportAllocs()
	for b.Loop() {
		if s, ok := (Renderer{queueing}).Render(&a, styleOf(false)); !ok || s.Code != 202 {
			b.Fatal(s.Code, ok)
		}
	}
}

// BenchmarkStatement measures the API's own cost of a page of a statement.
func BenchmarkStatement(b *testing.B) {
	for _, items := range []int{20, 100} {
		b.Run(fmt.Sprintf("items=%d", items), func(b *testing.B) {
			f := newFixture(b)
			o := f.options()
			o.RateLimit = 1 << 31
			f.handler = New(o)
			t := settledPayout()
			for range items {
				f.lists.all = append(f.lists.all, &t)
			}
			ctx := requested("GET", fmt.Sprintf("%s?per_page=%d", statementPath, items), "")
			b.ReportAllocs()
			for b.Loop() {
				ctx.Response.Reset()
				f.handler(ctx)
				if body := ctx.Response.Body(); ctx.Response.StatusCode() != 200 || bytes.Count(body, []byte(`"id":`)) != items {
					b.Fatalf("%d %s", ctx.Response.StatusCode(), body)
				}
			}
		})
	}
}

// BenchmarkRefusedRequest measures what the API does for requests that it refuses by itself.
func BenchmarkRefusedRequest(b *testing.B) {
	for _, c := range []struct {
		why, header, value string
		status             int
	}{{"secret", "Authorization", "ApiKey cli_all:wrong", 401}, {"signature", "hmac", strings.Repeat("0", 128), 401}} {
		b.Run("for="+c.why, func(b *testing.B) {
			f := newFixture(b)
			o := f.options()
			o.RateLimit, o.FailedAuthLimit = 1<<31, 1<<31
			f.handler = New(o)
			ctx := requested("POST", cashOut, payBody)
			ctx.Request.Header.Set(c.header, c.value)
			b.ReportAllocs()
			for b.Loop() {
				ctx.Response.Reset()
				f.handler(ctx)
				if status := ctx.Response.StatusCode(); status != c.status {
					b.Fatalf("%d %s", status, ctx.Response.Body())
				}
			}
		})
	}
}
