package pix

import (
	"fmt"
	"strings"
)

// KeyFault says why ParseKey or, where t is KeyNone, DetectKey refuses a key, as a sentence for the
// merchant who sent it. It names the request's fields pix_key and pix_key_type, and repeats nothing
// of the key. The first cause that applies counts; an ambiguous key has none.
func KeyFault(t KeyType, raw string) string {
	for _, cause := range keyFaults {
		if cause.is(t, raw) {
			return cause.text
		}
	}
	if other := formOf(raw); t != KeyNone && other != "" {
		return fmt.Sprintf("pix_key has the form of %s: check the type in pix_key_type", other)
	}
	return keyForms[t]
}

// keyFaults are the causes that a look at the key alone may find, in their order.
var keyFaults = []struct {
	text string
	is   func(t KeyType, raw string) bool
}{
	{"pix_key is empty", func(_ KeyType, raw string) bool { return raw == "" }},
	{"pix_key has a space in it, or another white space", func(_ KeyType, raw string) bool { return strings.ContainsAny(raw, whiteSpace) }},
	{
		"pix_key is a foreign number: only phones in Brazil, +55, are keys",
		func(t KeyType, raw string) bool {
			return mayBePhone(t) && strings.HasPrefix(raw, "+") && !strings.HasPrefix(raw, "+55") && digitsAlone(bareNumber(raw[1:]))
		},
	},
	{
		"pix_key has punctuation: a CPF, a CNPJ and a phone are digits alone, but for the +55 of a phone",
		func(t KeyType, raw string) bool {
			number := strings.TrimPrefix(raw, "+55")
			return t != KeyEmail && t != KeyEVP && bareNumber(number) != number && digitsAlone(bareNumber(number))
		},
	},
	{
		"pix_key has the ten digits of a landline: a phone that is a key is a mobile, the area code and nine digits",
		func(t KeyType, raw string) bool { return mayBePhone(t) && digits(strings.TrimPrefix(raw, "+55"), 10) },
	},
	{
		"pix_key has the country code without its +: write +55 and 11 digits, or the 11 digits alone",
		func(t KeyType, raw string) bool {
			return mayBePhone(t) && strings.HasPrefix(raw, "55") && (digits(raw, 12) || digits(raw, 13))
		},
	},
}

// whiteSpace is what people paste along with a key: among it the no-break space, and marks of no width.
const whiteSpace = " \t\r\n\v\f\u00a0\u200b\u2009\u202f\ufeff"

// mayBePhone tells whether a key that was named to be of type t may be a phone.
func mayBePhone(t KeyType) bool { return t == KeyPhone || t == KeyNone }

// bareNumber is a number without the punctuation that people write numbers with.
func bareNumber(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("+-./()", r) {
			return -1
		}
		return r
	}, s)
}

func digitsAlone(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// formOf names the type of key whose form a text has, with its article; empty: it has that of none.
func formOf(raw string) string {
	if AmbiguousKey(raw) {
		return "a CPF or a phone"
	}
	k, ok := DetectKey(raw)
	if !ok {
		return ""
	}
	return map[KeyType]string{KeyCNPJ: "a CNPJ", KeyEmail: "an e-mail address", KeyPhone: "a phone", KeyEVP: "an EVP"}[k.Type]
}

// keyForms say what a key of each type looks like; KeyNone stands for a key whose type was not named.
var keyForms = [...]string{
	KeyNone:  "pix_key is none of these: a CPF of 11 digits, a CNPJ of 14, an e-mail address, a phone as +55 and 11 digits, an EVP, which is a UUID",
	KeyCPF:   "a CPF has 11 digits: check pix_key, and the type in pix_key_type",
	KeyCNPJ:  "a CNPJ has 14 digits: check pix_key, and the type in pix_key_type",
	KeyEmail: "pix_key is no e-mail address of at most 77 characters that the directory takes: check it, and the type in pix_key_type",
	KeyPhone: "a phone has 11 digits, the area code first, with or without +55: check pix_key, and the type in pix_key_type",
	KeyEVP:   "an EVP is a UUID of 32 hexadecimal digits and four hyphens: check pix_key, and the type in pix_key_type",
}
