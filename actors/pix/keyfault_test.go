package pix

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestKeyFault checks which cause the merchant is told, for keys that were mistaken in one way each.
func TestKeyFault(t *testing.T) {
	for _, v := range []struct {
		t        KeyType
		raw, why string
	}{
		{KeyNone, "", "empty"},
		{KeyNone, "a@pix.test ", "space"},
		{KeyEmail, "\ta@pix.test", "space"},
		{KeyPhone, "+55 11 98765-4321", "space"},
		{KeyNone, "123.456.789-09", "punctuation"},
		{KeyCPF, "123.456.789-09", "punctuation"},
		{KeyCNPJ, "12.345.678/0001-95", "punctuation"},
		{KeyCPF, "12.345.678/0001-95", "punctuation"}, // the type is wrong too, and is told once the key is digits
		{KeyPhone, "(11)98765-4321", "punctuation"},
		{KeyNone, "+55(11)98765-4321", "punctuation"},
		{KeyPhone, "1133334444", "landline"},
		{KeyNone, "1133334444", "landline"},
		{KeyPhone, "+551133334444", "landline"},
		{KeyNone, "+551133334444", "landline"},
		{KeyPhone, "+12125550123", "foreign number"},
		{KeyNone, "+44.20.7946.0958", "foreign number"},
		{KeyPhone, "5511987654321", "without its +"},
		{KeyNone, "551133334444", "without its +"},
		{KeyCPF, "12345678000195", "a CNPJ: check the type"},
		{KeyCNPJ, "12345678909", "a CPF or a phone: check the type"},
		{KeyEmail, "+5511987654321", "a phone: check the type"},
		{KeyEVP, "a@pix.test", "an e-mail address: check the type"},
		{KeyPhone, "0b6e4c1e-8f7a-4d3b-9c2a-1f2e3d4c5b6a", "an EVP: check the type"},
		{KeyCPF, "1234567890", "a CPF has 11 digits"},
		{KeyCNPJ, "123456780001955", "a CNPJ has 14 digits"},
		{KeyPhone, "987654321", "a phone has 11 digits"},
		{KeyEVP, "0b6e4c1e8f7a4d3b9c2a1f2e3d4c5b6a", "hyphens"},
		{KeyEmail, "somebody", "e-mail address of at most 77"},
		{KeyNone, "somebody", "none of these"},
	} {
		if got := KeyFault(v.t, v.raw); !strings.Contains(got, v.why) {
			t.Errorf("%v %q: %s; want %s", v.t, v.raw, got, v.why)
		}
	}
}

// TestKeyFaultKeepsSilent checks that every refused key has a cause, and that no cause repeats the key.
func TestKeyFaultKeepsSilent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := KeyType(rapid.IntRange(int(KeyNone), int(KeyEVP)).Draw(t, "type"))
		raw := rapid.StringMatching(`[+(]?[0-9a-f@ .)/-]{4,20}`).Draw(t, "key")
		if got := KeyFault(kind, raw); got == "" || strings.Contains(got, raw) {
			t.Fatalf("%v %q: %q", kind, raw, got)
		}
	})
}
