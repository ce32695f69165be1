package brcode

import (
	"errors"
	"strings"
)

// Code is the content of a BR Code. The code is static (Key) or dynamic (URL).
type Code struct {
	// Key of a static code, spelt as in the text; empty in a dynamic code.
	Key string
	// URL of a dynamic code, without "https://", at most 77 bytes: the payer's reader
	// fetches the payment's data from it over https. Empty in a static code.
	URL string
	// Recurrence is the URL of an automatic-payment authorisation (fields 80 to 99), alone
	// or beside a payment; empty where there is no such field.
	Recurrence string
	// Description and Facilitator (the ISPB of the institution that hands out cash) are the
	// Pix template's subfields 02 and 03; empty where absent.
	Description, Facilitator string
	// Name and City of the payee, 1 to 25 and 1 to 15 bytes.
	Name, City string
	// TxID is 1 to 25 of [a-zA-Z0-9]; empty if the code says "***", and in a dynamic code,
	// whose txid is in the data at its URL.
	TxID string
	// AmountCentavos is at most MaxAmount; 0 where the code names no amount.
	AmountCentavos int64
	// OneTime reports that the code must not be paid twice (field 01 is 12). An amount
	// alone does not make a code one-time.
	OneTime bool
}

// ErrCRC is the error for a text that ends with a wrong CRC. A code with a wrong CRC must not
// be paid, because the reader has misread some of its characters.
var ErrCRC = errors.New("BR Code: wrong CRC")

// Malformed is the error for a text that breaks any other rule of the format. What names the
// field and the rule, for people to read.
type Malformed struct{ What string }

func (e *Malformed) Error() string { return "malformed BR Code: " + e.What }

func malformed(what string) error { return &Malformed{What: what} }

// Parse reads a code's text. It is strict, because the readers of payers' banks may be
// strict: the text is at most MaxText bytes of printable ASCII; field 00 is first and 63
// last; no field id comes twice; no value is empty; the CRC's digits are upper-case. The
// Pix template may be any of the fields 26 to 51, its name in either case. Well-formed
// fields without a meaning for Pix are ignored.
//
// The error is ErrCRC, or a *Malformed for every other broken rule. Errors in the division
// into fields are found before the CRC is checked, errors in the values afterwards: a
// misread text may have any values.
func Parse(text string) (Code, error) {
	if len(text) > MaxText {
		return Code{}, malformed("longer than 512 bytes")
	}
	if !printable(text) {
		return Code{}, malformed("not printable ASCII")
	}
	body, found := strings.CutSuffix(text[:max(0, len(text)-4)], crcHead)
	if !found {
		return Code{}, malformed("63 is not the last field")
	}
	if err := each(body, nothing); err != nil {
		return Code{}, err
	}
	if crcDigits(text[:len(text)-4]) != text[len(text)-4:] {
		return Code{}, ErrCRC
	}
	if !strings.HasPrefix(body, "000201") {
		return Code{}, malformed("00 is not the first field, or not 01")
	}
	var r reader
	if err := each(body, r.top); err != nil {
		return Code{}, err
	}
	return r.code, r.complete()
}

// each calls take for every field of s, and stops at the first error. A field id that occurs
// twice is an error.
func each(s string, take func(id int, value string) error) error {
	var seen [100]bool
	for s != "" {
		id, ok := twoDigits(s)
		if !ok {
			return malformed("a field's id is not two digits")
		}
		n, ok := twoDigits(s[2:])
		if !ok || n == 0 || n > len(s)-4 {
			return malformed(s[:2] + " has a length that is not its value's")
		}
		if seen[id] {
			return malformed(s[:2] + " stands twice")
		}
		seen[id] = true
		if err := take(id, s[4:4+n]); err != nil {
			return err
		}
		s = s[4+n:]
	}
	return nil
}

func nothing(int, string) error { return nil }

func twoDigits(s string) (int, bool) {
	if len(s) < 2 || s[0] < '0' || s[0] > '9' || s[1] < '0' || s[1] > '9' {
		return 0, false
	}
	return int(s[0]-'0')*10 + int(s[1]-'0'), true
}
