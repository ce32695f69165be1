package httpapi

import (
	"slices"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// TestTextCells checks which texts are kept as they are and which get a quote, because a
// spreadsheet might compute them.
func TestTextCells(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "two coffees": "two coffees", "1+1=2": "1+1=2", "a@b.com": "a@b.com", "São João, nº 5": "São João, nº 5", "12345678909": "12345678909", "***.456.789-**": "***.456.789-**",
		"=1+1": "'=1+1", "+5511987654321": "'+5511987654321", "-2": "'-2", "@SUM(A1)": "'@SUM(A1)", "=": "'=",
		"\thello": "'\thello", "\rhello": "'\rhello", "\nhello": "'\nhello", "two\nlines": "two\nlines", "two\r\nlines": "two\r\nlines",
		"  =1": "'  =1", "\u00a0=1": "'\u00a0=1", "\"=1": "'\"=1", "'=1": "''=1", " ' \" =1": "' ' \" =1", "'quoted'": "'quoted'",
		"＝1": "'＝1", "＋1": "'＋1", "－1": "'－1", "＠A": "'＠A",
		"\u200b=1": "'\ufffd=1", "\ufeff=1": "'\ufffd=1", "\x00=1": "'\ufffd=1", "\x1b[31mred": "\ufffd[31mred", "a\xffb": "a\ufffdb", "\xff=1": "'\ufffd=1",
		"a;=1": "a;'=1", "a; =1;b": "a;' =1;b", "a\t=1": "a\t'=1", "a\n=1": "a\n'=1", "a\r\n-1": "a\r\n'-1", ";;@": "';;'@", "\t=1": "'\t'=1", "a;b": "a;b", `x";=cmd|' /C calc'!A0`: `x";'=cmd|' /C calc'!A0`,
		"a,=1": "a,=1", "-": "'-", "–": "–",
	} {
		if got := textCell(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestBRL(t *testing.T) {
	for a, want := range map[pix.Amount]string{
		0: "0.00", 1: "0.0001", -1: "-0.0001", 100: "0.01", 10_000: "1.00", -250_000: "-25.00", 123_456_789_012: "12345678.9012",
		1 << 62: "461168601842738.7904", -1 << 63: "-922337203685477.5808", 9_900: "0.99", -5_050: "-0.5050",
	} {
		if got := brl(a); got != want {
			t.Errorf("%d: %s, want %s", int64(a), got, want)
		}
	}
}

// TestCells checks the cells of movements of several kinds.
func TestCells(t *testing.T) {
	const at = pix.Millis(1_790_000_000_000)
	payout := ledger.Transaction{
		ID: pix.TxID{1}, Kind: pix.TxPayout, Status: pix.StatusSettled, Amount: 250_000, Fee: 101, CreatedAt: at, BookedAt: at + 1,
		Counterparty: pix.Party{Name: "=Ana", Document: "12345678909", ISPB: "00000000"}, Description: "-x", ExternalID: "-1", EndToEnd: "E1",
		Payout: ledger.PayoutPart{Key: pix.Key{Type: pix.KeyPhone, Value: "+5511987654321"}},
	}
	late, rejected := payout, payout
	late.Transfer.LateAt = at + 2
	rejected.Status, rejected.ReasonCode = pix.StatusRejected, "AC03"
	refund := ledger.Transaction{
		ID: pix.TxID{2}, Kind: pix.TxRefund, Status: pix.StatusFailed, Amount: 100, CreatedAt: at, BookedAt: at,
		Refund: ledger.RefundPart{Original: pix.TxID{3}, OriginalEndToEnd: "E3"}, ReasonCode: "DT05",
	}
	receipt := ledger.Transaction{
		ID: pix.TxID{4}, Kind: pix.TxReceipt, Status: pix.StatusCompleted, Amount: 1, Fee: 3, CreatedAt: at, BookedAt: at,
		Counterparty: pix.Party{Name: "Rui", Document: "12345678909", ISPB: "77777777"},
	}
	banks := Banks{"00000000": "Banco;=1", "77777777": "Banco 7"}
	for _, c := range []struct {
		of   *ledger.Transaction
		want map[string]string
	}{
		{&payout, map[string]string{
			"booked_at": "2026-09-21T14:13:20.001Z", "completed_at": "2026-09-21T14:13:20.001Z", "created_at": "2026-09-21T14:13:20.000Z", "transaction_id": payout.Public(), "id": payout.ID.String(),
			"type": "pix", "direction": "outbound", "status": "settled", "amount_brl": "25.00", "fee_brl": "0.0101", "net_brl": "25.0101", "movement_brl": "-25.0101",
			"description": "'-x", "counterparty_name": "'=Ana", "counterparty_document": "***.456.789-**", "counterparty_bank": "Banco;'=1", "counterparty_ispb": "00000000", "recipient_key": "'+5511987654321",
			"external_id": "'-1", "end_to_end_id": "E1", "original_transaction_id": "", "reason_code": "",
		}},
		{&late, map[string]string{"booked_at": "2026-09-21T14:13:20.001Z", "completed_at": "2026-09-21T14:13:20.002Z", "movement_brl": "-25.0101"}},
		{&rejected, map[string]string{"status": "rejected", "completed_at": "", "movement_brl": "0.00", "net_brl": "25.0101", "reason_code": "AC03"}},
		{&refund, map[string]string{"original_transaction_id": pix.TxID{3}.Public(pix.TxReceipt), "original_end_to_end_id": "E3", "status": "failed", "movement_brl": "0.00", "reason_code": "DT05"}},
		{&receipt, map[string]string{"direction": "inbound", "status": "completed", "amount_brl": "0.0001", "net_brl": "-0.0002", "movement_brl": "-0.0002", "counterparty_document": "12345678909", "counterparty_bank": "Banco 7", "recipient_key": ""}},
	} {
		got := Cells(c.of, banks)
		if len(got) != len(Columns()) {
			t.Fatalf("%d cells, %d columns", len(got), len(Columns()))
		}
		for name, want := range c.want {
			if i := slices.Index(Columns(), name); i < 0 || got[i] != want {
				t.Errorf("%v: %s: %q, want %q", c.of.Kind, name, got[i], want)
			}
		}
	}
}
