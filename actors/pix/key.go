package pix

import (
	"regexp"
	"strings"
)

// KeyType is the type of a PIX key. Its values are stored.
type KeyType uint8

// String is the type's name in requests and answers.
func (t KeyType) String() string { return nameAt(keyTypeNames[:], t) }

// The key types of the directory (DICT).
const (
	KeyNone KeyType = iota
	KeyCPF
	KeyCNPJ
	KeyEmail
	KeyPhone
	KeyEVP
)

var keyTypeNames = [...]string{
	KeyCPF: "cpf", KeyCNPJ: "cnpj", KeyEmail: "email", KeyPhone: "phone", KeyEVP: "evp",
}

// ParseKeyType parses a type's name; false for any other string.
func ParseKeyType(s string) (KeyType, bool) {
	for t, name := range keyTypeNames {
		if name == s && s != "" {
			return KeyType(t), true
		}
	}
	return KeyNone, false
}

// Key is a PIX key as the directory spells it.
type Key struct {
	Type  KeyType `cbor:"1,keyasint,omitempty"`
	Value string  `cbor:"2,keyasint,omitempty"`
}

// Document is the CPF or CNPJ that the key consists of, else empty.
func (k Key) Document() string {
	if k.Type == KeyCPF || k.Type == KeyCNPJ {
		return k.Value
	}
	return ""
}

var (
	// The directory's pattern for e-mail keys (DICT API); at most 77 characters.
	emailForm = regexp.MustCompile("^[a-z0-9.!#$'*+/=?^_`{|}~-]+@[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$")
	evpForm   = regexp.MustCompile("^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")
)

const maxKeyChars = 77

// ParseKey parses a key of a known type and returns it as the directory spells it: e-mail
// and EVP in lower case, a phone with +55. False where the form does not fit the type.
// Check digits are not verified: the directory knows which keys exist.
func ParseKey(t KeyType, raw string) (Key, bool) {
	k := Key{Type: t, Value: raw}
	switch t {
	case KeyCPF:
		return k, digits(raw, 11)
	case KeyCNPJ:
		return k, digits(raw, 14)
	case KeyEmail:
		k.Value = strings.ToLower(raw)
		return k, len(k.Value) <= maxKeyChars && emailForm.MatchString(k.Value)
	case KeyPhone:
		k.Value = "+55" + strings.TrimPrefix(raw, "+55")
		return k, digits(k.Value[3:], 11)
	case KeyEVP:
		k.Value = strings.ToLower(raw)
		return k, evpForm.MatchString(k.Value)
	}
	return k, false
}

// AmbiguousKey tells whether a key whose type the merchant did not name may be of two types: eleven
// digits are a CPF or a phone number without +55.
func AmbiguousKey(raw string) bool { return digits(raw, 11) }

// DetectKey parses a key whose type the merchant did not name; false where its form is none of the
// directory's, or ambiguous.
func DetectKey(raw string) (Key, bool) {
	t := KeyNone
	switch {
	case digits(raw, 14):
		t = KeyCNPJ
	case strings.Contains(raw, "@"):
		t = KeyEmail
	case strings.HasPrefix(raw, "+55"):
		t = KeyPhone
	case len(raw) == 36:
		t = KeyEVP
	}
	return ParseKey(t, raw)
}

func digits(s string, n int) bool {
	if len(s) != n {
		return false
	}
	for i := range len(s) {
		if !digit(s[i]) {
			return false
		}
	}
	return true
}

// ISPB tells whether s has the form of a participant's id: 8 characters, digits or capital
// letters, as in the pattern of end-to-end ids (SPI catalogue).
func ISPB(s string) bool {
	for i := range len(s) {
		if !digit(s[i]) && !capital(s[i]) {
			return false
		}
	}
	return len(s) == 8
}

// RecipientISPB tells whether s has the form in which a merchant may name the recipient's
// participant: 8 digits, as the contract says.
func RecipientISPB(s string) bool { return digits(s, 8) }
