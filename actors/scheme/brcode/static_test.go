package brcode

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const evp = "123e4567-e12b-12d1-a456-426655440000"

func charge() Static {
	return Static{
		Key: evp, Description: "Pedido 1234", Name: "Padaria São João & Cia", City: "São Paulo",
		TxID: "PIXIN2K7QWERTYUIOPASDFGHJ", AmountCentavos: 123456,
	}
}

func TestTextOfCharge(t *testing.T) {
	const want = "000201" + "2673" + "0014br.gov.bcb.pix" + "0136" + evp + "0211Pedido 1234" +
		"52040000" + "5303986" + "54071234.56" + "5802BR" + "5920Padaria Sao Joao Cia" + "6009Sao Paulo" +
		"62290525PIXIN2K7QWERTYUIOPASDFGHJ"
	got, err := charge().Text()
	if err != nil || got != seal(want) {
		t.Errorf("Text = %s, %v\nwant   %s", got, err, seal(want))
	}
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "",
		"Padaria São João":        "Padaria Sao Joao",
		"Ação Çã ÀÉÎÕÜ ñ":         "Acao Ca AEIOU n",
		"Sa\u0303o":               "Sao",
		"Joa\u0303o":              "Joao",
		"A & B":                   "A B",
		"AT&T":                    "ATT",
		"  a \t\r\n b  ":          "a b",
		"1ª via Nº 2":             "1a via No 2",
		"a\u00a0b\u2003c":         "a b c",
		"Loja – Centro":           "Loja Centro",
		"日本":                      "",
		"☕":                       "",
		"<b>\"x\"</b>":            "bx/b",
		"R$ 10,00 (dez)":          "R 10,00 (dez)",
		"a-b/c:d_e@f+g.h":         "a-b/c:d_e@f+g.h",
		"abcdefghijklmno pqrst":   "abcdefghijklmno pqrs",
		"abcdefghijklmnopqrs tuv": "abcdefghijklmnopqrs",
		"\xff\xfea":               "a",
	} {
		if got := cut(plain(in), 20); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestDescriptionFitsOrGoes(t *testing.T) {
	fits := strings.Repeat("x", 37) // 73 bytes less the 36 bytes of an EVP key
	for description, want := range map[string]string{
		fits:                             fits,
		fits + "x":                       "",
		strings.Repeat("x", 36) + " y z": "",
		strings.Repeat("x", 36) + "é":    strings.Repeat("x", 36) + "e",
		"  " + fits + "  ":               fits,
		"☕":                              "",
	} {
		s := charge()
		s.Description = description
		text, _ := s.Text()
		if got, err := Parse(text); err != nil || got.Description != want {
			t.Errorf("%q: %q, %v", description, got.Description, err)
		}
	}
	s := charge()
	s.Key = strings.Repeat("k", 77)
	text, _ := s.Text()
	if got, err := Parse(text); err != nil || got.Key != s.Key || got.Description != "" {
		t.Errorf("a key of 77: %+v, %v", got, err)
	}
}

func TestFallbacks(t *testing.T) {
	text, err := Static{Key: "k", Name: "日本", City: " "}.Text()
	if err != nil {
		t.Fatal(err)
	}
	want := Code{Key: "k", Name: "RECEBEDOR", City: "BRASIL"}
	if got, err := Parse(text); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestTextRefuses(t *testing.T) {
	for field, change := range map[string]func(*Static){
		"Key":            func(s *Static) { s.Key = "" },
		"AmountCentavos": func(s *Static) { s.AmountCentavos = -1 },
		"TxID":           func(s *Static) { s.TxID = "a b" },
	} {
		s := charge()
		change(&s)
		var bad *Invalid
		if _, err := s.Text(); !errors.As(err, &bad) || bad.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, s := range []Static{
		{Key: strings.Repeat("k", 78)},
		{Key: "a b"},
		{Key: "é"},
		{Key: "k", TxID: strings.Repeat("a", 26)},
		{Key: "k", AmountCentavos: MaxAmount + 1},
	} {
		if text, err := s.Text(); err == nil {
			t.Errorf("%+v gave %s", s, text)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Static{
			Key:            rapid.StringMatching(`[!-~]{1,77}`).Draw(t, "key"),
			Description:    rapid.StringN(0, 60, -1).Draw(t, "description"),
			Name:           rapid.StringN(0, 40, -1).Draw(t, "name"),
			City:           rapid.StringN(0, 20, -1).Draw(t, "city"),
			TxID:           rapid.StringMatching(`[a-zA-Z0-9]{0,25}`).Draw(t, "txid"),
			AmountCentavos: rapid.Int64Range(0, MaxAmount).Draw(t, "amount"),
		}
		text, err := s.Text()
		if err != nil || len(text) > maxStatic {
			t.Fatalf("%s (%d bytes), %v", text, len(text), err)
		}
		got, err := Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got.Key != s.Key || got.TxID != s.TxID || got.AmountCentavos != s.AmountCentavos || got.URL != "" || got.OneTime {
			t.Fatalf("%+v from %+v", got, s)
		}
		again := Static{Key: got.Key, Description: got.Description, Name: got.Name, City: got.City, TxID: got.TxID, AmountCentavos: got.AmountCentavos}
		if text2, err := again.Text(); err != nil || text2 != text {
			t.Fatalf("again: %s, %v", text2, err)
		}
	})
}

func TestLongestStatic(t *testing.T) {
	s := Static{
		Key: evp, Description: strings.Repeat("d", 37), Name: strings.Repeat("n", 30), City: strings.Repeat("c", 30),
		TxID: strings.Repeat("t", 25), AmountCentavos: MaxAmount,
	}
	if text, err := s.Text(); err != nil || len(text) != maxStatic {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// FuzzParse checks that a text which Parse accepts gives a valid Code, and that any other
// text gets a typed error and no panic.
func FuzzParse(f *testing.F) {
	for _, v := range published {
		f.Add(v.text)
	}
	f.Add(wrongCRC)
	f.Add(withHTTPS)
	f.Add(badLength)
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range []string{text, seal(text)} {
			c, err := Parse(s)
			var bad *Malformed
			switch {
			case err == nil:
				if c.Key != "" && c.URL != "" || c.AmountCentavos < 0 || c.AmountCentavos > MaxAmount || len(s) > MaxText || c.Name == "" {
					t.Errorf("%q: %+v", s, c)
				}
			case !errors.As(err, &bad) && !errors.Is(err, ErrCRC):
				t.Errorf("%q: untyped %v", s, err)
			}
		}
	})
}

func BenchmarkText(b *testing.B) {
	plain := charge()
	plain.Name, plain.City = "Padaria Sao Joao e Cia", "Sao Paulo"
	for name, s := range map[string]Static{"accents": charge(), "plain": plain} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = s.Text()
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	text, _ := charge().Text()
	b.ReportAllocs()
	for b.Loop() {
		_, _ = Parse(text)
	}
}
