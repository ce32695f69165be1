package pix

import (
	"strings"
	"unicode/utf8"
)

// CleanDocument removes the punctuation of a CPF or CNPJ (dots, dashes, slash). The second
// result is false unless 11 or 14 digits are left.
func CleanDocument(s string) (string, bool) {
	s = stripDocument(s)
	return s, digits(s, 11) || digits(s, 14)
}

// CleanHolder is CleanDocument for account holders and for lists of authorized CNPJs:
// unlike CleanDocument it accepts CNPJs with letters (issued since July 2026).
func CleanHolder(s string) (string, bool) {
	s = strings.ToUpper(stripDocument(s))
	return s, digits(s, 11) || IsCNPJ(s)
}

func stripDocument(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r == '/' {
			return -1
		}
		return r
	}, s)
}

// IsCNPJ tells whether s has the form of a CNPJ, [0-9A-Z]{12}[0-9]{2}.
func IsCNPJ(s string) bool {
	if len(s) != 14 || !digits(s[12:], 2) {
		return false
	}
	for i := range 12 {
		if !digit(s[i]) && !('A' <= s[i] && s[i] <= 'Z') {
			return false
		}
	}
	return true
}

// ValidCPF tells whether s is a valid CPF of eleven digits: the last two are check digits,
// each modulo 11 over the digits before it (Receita Federal). Eleven equal digits pass that
// check but are never issued.
func ValidCPF(s string) bool {
	if !digits(s, 11) {
		return false
	}
	same := true
	for i := range s {
		same = same && s[i] == s[0]
	}
	return !same && s[9] == checkDigit(s[:9]) && s[10] == checkDigit(s[:10])
}

// checkDigit computes a check digit: the last digit has weight 2, the one before it 3, and
// so on.
func checkDigit(s string) byte {
	sum := 0
	for i := range s {
		sum += int(s[i]-'0') * (len(s) + 1 - i)
	}
	if d := 11 - sum%11; d < 10 {
		return byte('0' + d)
	}
	return '0'
}

// maxText is the length of the scheme's free text, in characters.
const maxText = 140

// TooLong tells whether a text has more than the 140 characters of the scheme's free text.
func TooLong(s string) bool { return utf8.RuneCountInString(s) > maxText }

const maxExternalID = 128

// CleanExternalID removes white space at both ends of an external_id. The result is empty
// where the rest is empty, has more than 128 bytes, or has a character other than a-z A-Z
// 0-9 . _ : -
func CleanExternalID(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > maxExternalID {
		return ""
	}
	for i := range len(s) {
		if c := s[i]; !digit(c) && !letter(c) && !strings.ContainsRune("._:-", rune(c)) {
			return ""
		}
	}
	return s
}

// Party is the payer or the recipient of a transaction.
type Party struct {
	Name     string `cbor:"1,keyasint,omitempty"`
	Document string `cbor:"2,keyasint,omitempty"` // of a payer: as the scheme sent it; of a recipient: as the directory has it
	ISPB     string `cbor:"3,keyasint,omitempty"`
}
