package httpapi

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMaskedDocument(t *testing.T) {
	for doc, want := range map[string]string{
		"":                   "",
		"12345678909":        "***.456.789-**",
		"123.456.789-09":     "***.456.789-**",
		" 123 456 789 09":    "***.456.789-**",
		"CPF 123.456.789-09": "***.456.789-**",
		"cpf12345678909":     "***.456.789-**",
		"12345678000195":     "**.345.678/0001-**",
		"12.345.678/0001-95": "**.345.678/0001-**",
		"12ABC34501DE35":     "**.ABC.345/01DE-**",
		"12.abc.345/01de-35": "**.ABC.345/01DE-**",
		"***.456.789-**":     "***.456.789-**",
		"***456789**":        "***456789**",
		"AB123456":           "***23***",
		"1":                  "*",
		"12":                 "**",
		"123":                "*2*",
	} {
		if got := maskedDocument(doc); got != want {
			t.Errorf("%q: %q, want %q", doc, got, want)
		}
	}
}

// TestMaskHides checks that no more than a third of an unknown document is shown, and that of
// eleven digits in any writing no more than six follow each other.
func TestMaskHides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := rapid.StringMatching(`([A-Za-z:]{0,6} ?)?[0-9]{3}[. ]?[0-9]{3}[. ]?[0-9]{3}[-/ ]?[0-9]{2}`).Draw(t, "document")
		digits := strings.Map(func(r rune) rune {
			if r < '0' || r > '9' {
				return -1
			}
			return r
		}, maskedDocument(doc))
		if len(digits) > 9 || len(doc) == 11 && len(digits) != 6 {
			t.Errorf("%q shows %q", doc, digits)
		}
	})
}

func TestMaskedKey(t *testing.T) {
	for key, want := range map[string]string{
		"":               "",
		"12345678909":    "***.456.789-**",
		"12345678000195": "**.345.678/0001-**",
		"+5511987654321": "+5511987654321",
		"ze@example.com": "ze@example.com",
		testEVP:          testEVP,
	} {
		if got := maskedKey(key); got != want {
			t.Errorf("%q: %q, want %q", key, got, want)
		}
	}
}
