package ledger

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pixd/actors/pix"
)

// TestSettingsBounds checks the first and last value that each setting takes, those next to them, which are refused with the
// setting's name, and that a refused setting is told before any later one.
func TestSettingsBounds(t *testing.T) {
	amount := func(a pix.Amount) *pix.Amount { return &a }
	cnpjs := func(n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprintf("%014d", i))
		}
		return all
	}
	for _, c := range []struct {
		name  string
		set   func(*Settings)
		field string // empty: taken
	}{
		{"no name", func(s *Settings) { s.Name = "" }, "name"},
		{"a name of 1", func(s *Settings) { s.Name = "L" }, ""},
		{"a name of 100", func(s *Settings) { s.Name = strings.Repeat("ç", 100) }, ""},
		{"a name of 101", func(s *Settings) { s.Name = strings.Repeat("L", 101) }, "name"},
		{"a name that is no text", func(s *Settings) { s.Name = "L\xff" }, "name"},
		{"a document of 13", func(s *Settings) { s.Document = "1122233300018" }, "document"},
		{"a CPF", func(s *Settings) { s.Document = "123.456.789-09" }, ""},
		{"no city", func(s *Settings) { s.City = "" }, "city"},
		{"a city of 1", func(s *Settings) { s.City = "X" }, ""},
		{"a city of 60", func(s *Settings) { s.City = strings.Repeat("ã", 60) }, ""},
		{"a city of 61", func(s *Settings) { s.City = strings.Repeat("a", 61) }, "city"},
		{"a city that is no text", func(s *Settings) { s.City = "\xff" }, "city"},
		{"the highest fees", func(s *Settings) {
			s.CashInFee, s.CashOutFee = Fee{Fixed: pix.MaxAmount, BPS: 10_000}, Fee{Fixed: pix.MaxAmount, BPS: 10_000}
		}, ""},
		{"a cash-in fee that is too high", func(s *Settings) { s.CashInFee.Fixed = pix.MaxAmount + 1 }, "fees.cash_in"},
		{"a negative cash-in fee", func(s *Settings) { s.CashInFee.Fixed = -1 }, "fees.cash_in"},
		{"a cash-in fee above the whole", func(s *Settings) { s.CashInFee.BPS = 10_001 }, "fees.cash_in"},
		{"a negative share of a cash-in", func(s *Settings) { s.CashInFee.BPS = -1 }, "fees.cash_in"},
		{"a cash-out fee that is too high", func(s *Settings) { s.CashOutFee.Fixed = pix.MaxAmount + 1 }, "fees.cash_out"},
		{"a negative cash-out fee", func(s *Settings) { s.CashOutFee.Fixed = -1 }, "fees.cash_out"},
		{"a cash-out fee above the whole", func(s *Settings) { s.CashOutFee.BPS = 10_001 }, "fees.cash_out"},
		{"a negative ceiling", func(s *Settings) { s.CashOutCeiling = -1 }, "cash_out_ceiling"},
		{"a ceiling", func(s *Settings) { s.CashOutCeiling = 1 }, ""},
		{"approval of every payout", func(s *Settings) { s.ApprovalThreshold = amount(0) }, ""},
		{"a negative threshold", func(s *Settings) { s.ApprovalThreshold = amount(-1) }, "approval_threshold"},
		{"the shortest window", func(s *Settings) { s.RepeatWindow = 60_000 }, ""},
		{"a shorter window", func(s *Settings) { s.RepeatWindow = 59_999 }, "repeat_window"},
		{"the longest window", func(s *Settings) { s.RepeatWindow = 12 * 3_600_000 }, ""},
		{"a longer window", func(s *Settings) { s.RepeatWindow = 12*3_600_000 + 1 }, "repeat_window"},
		{"1,000 CNPJs", func(s *Settings) { s.AuthorizedCNPJs = cnpjs(1000) }, ""},
		{"1,001 CNPJs", func(s *Settings) { s.AuthorizedCNPJs = cnpjs(1001) }, "authorized_cnpjs"},
		{"a CPF for a CNPJ", func(s *Settings) { s.AuthorizedCNPJs = []string{"12345678909"} }, "authorized_cnpjs"},
	} {
		s := DefaultSettings()
		s.Name, s.Document = "Loja", "11222333000181"
		c.set(&s)
		r := s.Normalise()
		switch {
		case r == nil && c.field == "":
		case r == nil || r.Code != RefuseSetting || r.Field != c.field:
			t.Errorf("%s: %+v, want a refusal of %q", c.name, r, c.field)
		}
	}
	s := Settings{CashInFee: Fee{Fixed: -1}, CashOutFee: Fee{Fixed: -1}, CashOutCeiling: -1, ApprovalThreshold: amount(-1), AuthorizedCNPJs: []string{""}}
	for _, c := range []struct {
		field string
		right func()
	}{
		{"name", func() { s.Name = "Loja" }},
		{"document", func() { s.Document = "11222333000181" }},
		{"city", func() { s.City = "X" }},
		{"fees.cash_in", func() { s.CashInFee = Fee{} }},
		{"fees.cash_out", func() { s.CashOutFee = Fee{} }},
		{"cash_out_ceiling", func() { s.CashOutCeiling = 0 }},
		{"approval_threshold", func() { s.ApprovalThreshold = nil }},
		{"repeat_window", func() { s.RepeatWindow = MinRepeatWindow }},
		{"authorized_cnpjs", func() { s.AuthorizedCNPJs = nil }},
	} {
		if r := s.Normalise(); r == nil || r.Field != c.field {
			t.Errorf("%+v is told before %s", r, c.field)
		}
		c.right()
	}
}

// TestAuthorizedCNPJs checks that the list of authorized CNPJs is kept without punctuation, in order and each once, and that
// payouts to exactly these pass while others are blocked.
func TestAuthorizedCNPJs(t *testing.T) {
	s := DefaultSettings()
	s.Name, s.Document, s.BlockCNPJOut = "Loja", "11222333000181", true
	s.AuthorizedCNPJs = []string{"12ABC34501DE35", "11.222.333/0001-81", "11222333000181", "00000000000191"}
	if r := s.Normalise(); r != nil {
		t.Fatal(r)
	}
	if want := []string{"00000000000191", "11222333000181", "12ABC34501DE35"}; !slices.Equal(s.AuthorizedCNPJs, want) {
		t.Errorf("kept as %q", s.AuthorizedCNPJs)
	}
	for document, refused := range map[string]bool{"00000000000191": false, "11222333000181": false, "12ABC34501DE35": false, "11222333000262": true, "12345678909": false} {
		if s.RefusesPayoutTo(document) != refused {
			t.Errorf("%s: refused %v", document, !refused)
		}
	}
	s.BlockCNPJOut = false
	if s.RefusesPayoutTo("11222333000262") {
		t.Error("refused, though nothing is blocked")
	}
}
