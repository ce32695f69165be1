package ledger

import (
	"bytes"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// measured is a command with what an account decides it from. It can be decided any number
// of times, because a decision changes nothing.
type measured struct {
	name    string
	before  Account
	facts   Facts
	stamp   Stamp
	records int // how many records follow from the command
}

// measure keeps what a command is decided from, and then carries the command out.
func (h *harness) measure(name string, c Command) (measured, Decision) {
	h.t.Helper()
	s := h.stamp()
	s.Durable = h.account.Totals
	f, err := Gather(h, h.account, c, s)
	if err != nil {
		h.t.Fatal(err)
	}
	m := measured{name: name, before: *h.account, facts: f, stamp: s}
	d := h.step(c)
	if m.records = len(d.Records); d.Refusal != nil || m.records == 0 {
		h.t.Fatalf("%s: %d records, refused with %v", name, m.records, d.Refusal)
	}
	return m, d
}

// usualPayments are the commands of a charge that is paid, of a payout that settles, and of
// a refund, in that order, with a subscription to events.
func usualPayments(b *testing.B) (*harness, []measured) {
	h := newHarness(b)
	s := DefaultSettings()
	s.Name, s.Document, s.CashOutFee = "Padaria São João", "12345678000195", Fee{Fixed: 50}
	h.open(s, 1<<40)
	h.step(Subscribe{URL: "https://example.com/hook", Events: pix.EventMask(0).With(pix.EventChargePaid).With(pix.EventPayoutConfirmed), Secret: make([]byte, 32)})
	const id = "E60701190202603011200abcdefghijk"
	charge, made := h.measure("charge", CreateCharge{Amount: 25_000, ExternalID: "order-1", Description: "two coffees", Key: pix.Key{Type: pix.KeyEVP, Value: "0b6e4c1e-8f7a-4d3b-9c2a-1f2e3d4c5b6a"}})
	receive, _ := h.measure("receive", ReceivePayment{EndToEnd: id, Amount: 25_000, TxID: made.Tx.Public(), PayerName: "Ana", PayerDocument: "12345678909", PayerISPB: "60701190"})
	payout, held := h.measure("payout", RequestPayout{Amount: 10_000, Key: pix.Key{Type: pix.KeyEmail, Value: "ana@example.com"}, ExternalID: "salary-1", Description: "March"})
	tx := held.Tx
	accept, accepted := h.measure("accept", ResolveTransfer{ID: tx.ID, EndToEnd: tx.EndToEnd, Result: TransferIsAccepted, Owner: pix.Party{Name: "Ana", Document: "12345678909", ISPB: "60701190"}})
	settle, _ := h.measure("settle", ResolveTransfer{ID: tx.ID, EndToEnd: accepted.Tx.EndToEnd, Notice: true, Result: TransferIsSettled})
	refund, _ := h.measure("refund", RequestRefund{Original: id, Amount: 5_000, Reason: "MD06"})
	return h, []measured{charge, receive, payout, accept, settle, refund}
}

// BenchmarkDecide measures the decision of a command from facts that were gathered, and the
// application of its records to the account's head.
func BenchmarkDecide(b *testing.B) {
	_, all := usualPayments(b)
	for _, m := range all {
		b.Run("command="+m.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				a := m.before
				d := a.Decide(m.facts, m.stamp)
				for i := range d.Records {
					if err := a.Apply(&d.Records[i]); err != nil {
						b.Fatal(err)
					}
				}
				if a.Seq != m.before.Seq+uint64(m.records) {
					b.Fatalf("%d records, refused with %v", len(d.Records), d.Refusal)
				}
			}
		})
	}
}

// eachKind measures work on the first record of each kind that usual payments have.
func eachKind(b *testing.B, work func(b *testing.B, r *Record)) {
	h, _ := usualPayments(b)
	seen := map[RecordKind]bool{}
	for i := range h.records {
		r := &h.records[i]
		if seen[r.Kind] || r.Tx == nil {
			continue
		}
		seen[r.Kind] = true
		b.Run("record="+r.Kind.String(), func(b *testing.B) { work(b, r) })
	}
}

// BenchmarkEncode measures the encoding of a record's body.
func BenchmarkEncode(b *testing.B) {
	eachKind(b, func(b *testing.B, r *Record) {
		want := r.Encode()
		b.SetBytes(int64(len(want)))
		b.ReportAllocs()
		var got []byte
		for b.Loop() {
			got = r.Encode()
		}
		if !bytes.Equal(got, want) {
			b.Fatalf("%x, was %x", got, want)
		}
	})
}

// BenchmarkDecode measures the decoding of a record's body.
func BenchmarkDecode(b *testing.B) {
	eachKind(b, func(b *testing.B, r *Record) {
		body := r.Encode()
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			got := Record{Account: r.Account, Seq: r.Seq, Time: r.Time, Kind: r.Kind}
			if err := got.Decode(body); err != nil || got.Tx.ID != r.Tx.ID {
				b.Fatal(got.Tx, err)
			}
		}
	})
}

// BenchmarkProject measures the making of a record's rows, into a slice that is kept.
func BenchmarkProject(b *testing.B) {
	eachKind(b, func(b *testing.B, r *Record) {
		want := len(Project(nil, r))
		var rows []layout.Row
		b.ReportAllocs()
		for b.Loop() {
			if rows = Project(rows[:0], r); len(rows) != want || want == 0 {
				b.Fatalf("%d rows, want %d", len(rows), want)
			}
		}
	})
}

// BenchmarkHead measures the encoding and the decoding of an account's head, which are done
// once for every so many records, and at the first use of an account after a start.
func BenchmarkHead(b *testing.B) {
	h, _ := usualPayments(b)
	row := h.account.EncodeHead()
	b.Run("do=encode", func(b *testing.B) {
		b.SetBytes(int64(len(row)))
		b.ReportAllocs()
		for b.Loop() {
			if len(h.account.EncodeHead()) != len(row) {
				b.Fatal("another head")
			}
		}
	})
	b.Run("do=decode", func(b *testing.B) {
		b.SetBytes(int64(len(row)))
		b.ReportAllocs()
		for b.Loop() {
			var a Account
			if err := a.DecodeHead(row); err != nil || a.Totals != h.account.Totals {
				b.Fatal(a.Totals, err)
			}
		}
	})
}
