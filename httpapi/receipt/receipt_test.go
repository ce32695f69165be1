package receipt

import (
	"os"
	"strings"
	"testing"

	"pixd/actors/ledger"
)

const at = ledger.Millis(1_790_000_000_000) // 2026-09-21T14:13:20Z

func facts(kind ledger.TxKind) Facts {
	return Facts{
		Kind: kind, Amount: 12_345_600, Fee: 5_000, Net: 12_350_600,
		Payer: Party{
			Name: "Padaria São João Ltda.", Document: "**.345.678/0001-**", Institution: Institution{"", "99999004"},
		},
		Recipient: Party{
			Name: "José Antônio Conceição", Document: "***.456.789-**", Key: "ze@example.com", Institution: Institution{"Itaú Unibanco", "60701190"},
		},
		Issuer: Institution{"", "99999004"}, TransactionID: "PIXOUTAGQ7RZY2LJF6Z4WSG3PR", EndToEnd: "E9999900420260921132000000000001",
		Description: "Aluguel de setembro", CompletedAt: at,
	}
}

func TestPictures(t *testing.T) {
	dir := os.Getenv("PICTURES")
	if dir == "" {
		t.Skip()
	}
	long := facts(ledger.TxPayout)
	long.Payer.Name, long.Recipient.Name = strings.Repeat("W", 140), strings.Repeat("Maria Αθηνά Наталья 😀漢字 ", 6)[:140]
	long.Description = strings.Repeat("Ç", 140)
	long.Recipient.Key = strings.Repeat("w", 70) + "@pix.br"
	long.Recipient.Institution.Name = strings.Repeat("Banco Cooperativo ", 6)
	long.OriginalEndToEnd, long.OriginalTransactionID, long.PaidAt = long.EndToEnd, long.TransactionID, at
	refund := facts(ledger.TxRefund)
	refund.Fee = 0
	refund.OriginalEndToEnd, refund.OriginalTransactionID = "E6070119020260921132000000000001", "PIXINAGQ7RZY2GJF6ZO4L3XB3"
	huge := long
	huge.Payer.Name, huge.Recipient.Name, huge.Description = strings.Repeat("W", 3000), strings.Repeat("W", 3000), strings.Repeat("Wa ", 3000)
	for name, f := range map[string]Facts{"payout": facts(ledger.TxPayout), "long": long, "refund": refund, "huge": huge} {
		b, err := PDF(f)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(name, len(b))
		if err := os.WriteFile(dir+"/"+name+".pdf", b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func BenchmarkPDF(b *testing.B) {
	b.ReportAllocs()
	f := facts(ledger.TxPayout)
	for b.Loop() {
		if _, err := PDF(f); err != nil {
			b.Fatal(err)
		}
	}
}
