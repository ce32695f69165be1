package receipt

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"sync"
	"testing"

	"pixd/actors/pix"
)

const at = pix.Millis(1_790_000_000_000) // 2026-09-21T14:13:20Z

func facts(kind pix.TxKind) Facts {
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

func back(kind pix.TxKind) Facts {
	f := facts(kind)
	f.Fee, f.Net, f.Recipient.Key, f.ReasonCode = 0, f.Amount, "", "MD06"
	f.OriginalTransactionID, f.OriginalEndToEnd = "PIXINAGQ7RZY2GJF6ZO4L3XB3", "E6070119020260921132000000000001"
	return f
}

func drawn(t testing.TB, f Facts) []byte {
	t.Helper()
	file, err := PDF(f)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

const (
	headOf = "ISPB 99999004\n%\nR$ 1.234,56\n21/09/2026 11:13:20 (horário de Brasília)\n"
	payer  = "Nome\nPadaria São João Ltda.\nCPF/CNPJ\n**.345.678/0001-**\nInstituição\nISPB 99999004\n"
	payee  = "Nome\nJosé Antônio Conceição\nCPF/CNPJ\n***.456.789-**\nInstituição\nItaú Unibanco (ISPB 60701190)\n"
	fee    = "Tarifa\nR$ 0,50\n"
	dates  = "Data e hora (Brasília)\n21/09/2026 11:13:20\nData e hora (UTC)\n21/09/2026 14:13:20\n"
	text   = "Descrição\nAluguel de setembro\n"
	ids    = "ID Pix (end-to-end)\nE9999900420260921132000000000001\nID da transação\nPIXOUTAGQ7RZY2LJF6Z4WSG3PR\n"
	first  = "Pagamento devolvido\nID Pix (end-to-end)\nE6070119020260921132000000000001\nID da transação\nPIXINAGQ7RZY2GJF6ZO4L3XB3\n"
	ending = "Comprovante emitido por ISPB 99999004.\n1/1\n"
)

// TestPDF checks all that a receipt of each kind says.
func TestPDF(t *testing.T) {
	const amount = "Dados da transação\nValor\nR$ 1.234,56\n"
	unknown := facts(pix.TxTED)
	unknown.Payer, unknown.EndToEnd, unknown.Description, unknown.Recipient.Key, unknown.Fee = Party{}, "", "", "", 0
	internal := unknown
	internal.Kind, internal.Payer, internal.PaidAt = pix.TxInternal, Party{Name: "Ana", Institution: Institution{Name: "Banco"}}, at-86_400_000
	title := "Comprovante de transferência Pix"
	for name, v := range map[string]struct {
		facts       Facts
		title, want string
	}{
		"payout":  {facts(pix.TxPayout), title, "Quem pagou\n" + payer + "Quem recebeu\n" + payee + "Chave Pix\nze@example.com\n" + amount + fee + "Total debitado\nR$ 1.235,06\n" + dates + text + ids},
		"charge":  {facts(pix.TxCharge), title, "Quem pagou\n" + payer + "Quem recebeu\n" + payee + "Chave Pix\nze@example.com\n" + amount + fee + "Valor creditado\nR$ 1.235,06\n" + dates + text + ids},
		"receipt": {facts(pix.TxReceipt), title, "Quem pagou\n" + payer + "Quem recebeu\n" + payee + "Chave Pix\nze@example.com\n" + amount + fee + "Valor creditado\nR$ 1.235,06\n" + dates + text + ids},
		"refund":  {back(pix.TxRefund), "Comprovante de devolução Pix", "Quem devolveu\n" + payer + "Quem recebeu\n" + payee + amount + dates + text + ids + first},
		"return":  {back(pix.TxReturn), "Comprovante de devolução Pix", "Quem devolveu\n" + payer + "Quem recebeu\n" + payee + amount + dates + "Motivo\nDevolução por acordo entre as partes (MD06)\n" + ids + first},
		"TED":     {unknown, "Comprovante de TED", "Origem\nNome\nNão informado\nDestino\n" + payee + amount + dates + "ID da transação\nPIXOUTAGQ7RZY2LJF6Z4WSG3PR\n"},
		"internal": {
			internal, "Comprovante de crédito interno", "Origem\nNome\nAna\nInstituição\nBanco\nDestino\n" + payee + amount + dates +
				"Pago em (Brasília)\n20/09/2026 11:13:20\nID da transação\nPIXOUTAGQ7RZY2LJF6Z4WSG3PR\n",
		},
	} {
		file := drawn(t, v.facts)
		if got, want := lined(read(t, file)), strings.Replace(headOf, "%", v.title, 1)+v.want+ending; got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
		if len(file) > 60_000 {
			t.Errorf("%s: %d bytes", name, len(file))
		}
	}
}

// TestSameBytes checks that the same facts give the same bytes, also in several goroutines at
// once, and other facts other bytes.
func TestSameBytes(t *testing.T) {
	first := drawn(t, facts(pix.TxPayout))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 5 {
				if again := drawn(t, facts(pix.TxPayout)); !bytes.Equal(again, first) {
					t.Error("the same receipt is other bytes")
				}
			}
		})
	}
	all.Wait()
	other := facts(pix.TxPayout)
	other.CompletedAt++
	if later := drawn(t, other); !bytes.Equal(later, first) { // the page shows seconds
		t.Error("one millisecond later: other bytes")
	}
	if !bytes.Contains(first, []byte("/CreationDate (D:20260921141320")) {
		t.Error("not made when the transaction was completed")
	}
}

// TestFontsStay checks that drawing receipts, at once and in any script, does not change the fonts
// from which the next ones are drawn.
func TestFontsStay(t *testing.T) {
	sums := func() (all [3][32]byte) {
		for i, font := range [][]byte{regular, bold, fallback()} {
			all[i] = sha256.Sum256(font)
		}
		return all
	}
	before := sums()
	f := facts(pix.TxPayout)
	f.Payer.Name, f.Recipient.Name = "Zé 王小明 김철수", "Ωμέγα Щ a\u0323\u0302"
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() { drawn(t, f) })
	}
	all.Wait()
	if after := sums(); after != before {
		t.Errorf("regular, bold and fallback: %v", [3]bool{after[0] == before[0], after[1] == before[1], after[2] == before[2]})
	}
}

// longest are facts of which each text has its greatest length, in a wide letter and without
// spaces.
func longest() Facts {
	f := back(pix.TxRefund)
	f.Fee, f.PaidAt, f.Description = 1, at, strings.Repeat("Ŵ", 140)
	f.Payer.Name, f.Recipient.Name = strings.Repeat("W", 140), strings.Repeat("Щ", 140)
	f.Payer.Document, f.Recipient.Document = strings.Repeat("*", 140), strings.Repeat("*", 140)
	f.Recipient.Key = strings.Repeat("w", 70) + "@pix.br"
	f.Recipient.Institution.Name = strings.Repeat("Cooperativa ", 12)
	f.Payer.Institution.Name = strings.Repeat("W", 100)
	f.Issuer.Name = f.Payer.Institution.Name
	return f
}

// endless are facts with more text than fits on a page.
func endless() Facts {
	f := longest()
	f.Payer.Name, f.Recipient.Name, f.Description = strings.Repeat("W", 3000), strings.Repeat("W", 3000), strings.Repeat("ab ", 3000)
	f.Payer.Key, f.Recipient.Key, f.ReasonCode = f.Payer.Name, f.Payer.Name, f.Payer.Name
	f.Payer.Document, f.Recipient.Document, f.EndToEnd, f.TransactionID = f.Payer.Name, f.Payer.Name, f.Payer.Name, f.Payer.Name
	return f
}

// TestLongTexts checks that texts of the greatest lengths are on the page whole, that longer
// ones end in an ellipsis, and that nothing is outside the margins or overlaps.
func TestLongTexts(t *testing.T) {
	whole := read(t, drawn(t, longest()))
	inside(t, "longest", whole)
	joined := strings.ReplaceAll(lined(whole), "\n", "")
	f := longest()
	for _, want := range []string{f.Payer.Name, f.Recipient.Name, f.Description, f.Recipient.Key, f.Payer.Document, strings.TrimSpace(f.Payer.Institution.Name)} {
		if !strings.Contains(joined, want) {
			t.Errorf("%s is not on the page", want)
		}
	}
	if cut := strings.Count(joined, "…"); cut != 2 { // the issuer, at the top and at the foot
		t.Errorf("%d texts were cut", cut)
	}
	over := read(t, drawn(t, endless()))
	inside(t, "endless", over)
	if cut := strings.Count(lined(over), "…"); cut < 9 {
		t.Errorf("only %d texts were cut", cut)
	}
}

// inside checks that each text is between the margins, and below the one before it or beside
// it.
func inside(t *testing.T, name string, all []shown) {
	t.Helper()
	const point = 72 / 25.4
	p := page{title: "x", issuer: "x"}
	d := newDrawing(&p, "x", saoPauloTime(at))
	size := map[int]float64{0: 9, 2: 25, 3: 10, len(all) - 2: 8, len(all) - 1: 8}
	before := pageHeight * point
	for i, s := range all {
		style := ""
		if i == 1 || i == 2 {
			style = "B"
		}
		points := size[i]
		if points == 0 {
			points = scales[len(scales)-1].text // at least this; headings and labels are short
		}
		d.SetFont("noto", style, points)
		if end := s.x/point + d.GetStringWidth(s.text); s.x < margin*point-0.01 || end > pageWidth-margin+0.01 {
			t.Errorf("%s: from %.1f to %.1f mm: %s", name, s.x/point, end, s.text)
		}
		if s.y > before || s.y < before && before-s.y < points || s.y < 10*point {
			t.Errorf("%s: at %.1f after %.1f points: %s", name, s.y, before, s.text)
		}
		before = s.y
	}
}

func FuzzPDF(f *testing.F) {
	for _, s := range []string{"", "Αθηνά", "Наталья", "漢字", "😀👩‍👩‍👧", "\u202eabc", "a\x00\xff\xc3b\r\n\t", "ے ש", "\\(", "e\u0301\u0301", "\ufeff\ufe0f", strings.Repeat("W", 140)} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, name, description string) {
		r := back(pix.TxRefund)
		r.Payer.Name, r.Recipient.Institution.Name, r.Issuer.Name, r.TransactionID = name, name, name, name
		r.Description, r.Recipient.Key, r.EndToEnd = description, description, description
		said := lined(read(t, drawn(t, r)))
		if len(description) < 50 && !strings.Contains(strings.ReplaceAll(said, "\n", ""), strings.ReplaceAll(printable(description), " ", "")) && !strings.Contains(printable(description), " ") {
			t.Errorf("%q is not on the page", description)
		}
	})
}

func BenchmarkPDF(b *testing.B) {
	b.ReportAllocs()
	f := facts(pix.TxPayout)
	for b.Loop() {
		drawn(b, f)
	}
}

// TestOtherScripts checks that names in scripts that the common fonts lack are printed whole,
// in their order, within the margins, and only then with the large fonts.
func TestOtherScripts(t *testing.T) {
	f := facts(pix.TxPayout)
	f.Recipient.Name = "王小明 (Wang) 김철수 たなか"
	f.Description = strings.Repeat("漢字", 70)
	file := drawn(t, f)
	said := strings.ReplaceAll(lined(read(t, file)), "\n", "")
	for _, want := range []string{"王小明 (Wang) 김철수 たなか", f.Description} {
		if !strings.Contains(said, want) {
			t.Errorf("%s is not in %s", want, said)
		}
	}
	if len(file) > 100<<10 {
		t.Errorf("%d bytes", len(file))
	}
	if !bytes.Equal(file, drawn(t, f)) {
		t.Error("two receipts of the same facts differ")
	}
	if len(drawn(t, facts(pix.TxPayout))) > 60<<10 || bytes.Contains(drawn(t, facts(pix.TxPayout)), []byte(others)) {
		t.Error("a receipt in Latin letters has the other fonts")
	}
}
