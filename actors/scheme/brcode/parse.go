package brcode

import (
	"errors"
	"strings"
)

// Code is what a BR Code says. It is static (Key) or dynamic (URL).
type Code struct {
	// Key of a static code, as it stands there; empty in a dynamic one.
	Key string
	// URL of a dynamic code, without a scheme, at most 77 bytes: what is to be
	// paid is asked there over https. Empty in a static code.
	URL string
	// Recurrence is the URL of an automatic-payment authorisation (fields 80 to
	// 99), which may stand beside a payment or alone; empty where there is none.
	Recurrence string
	// Description and Facilitator (the ISPB of who hands out cash) are the
	// template's 02 and 03; empty where absent.
	Description, Facilitator string
	// Name and City of the payee, 1 to 25 and 1 to 15 bytes.
	Name, City string
	// TxID is 1 to 25 of [a-zA-Z0-9]; empty where the code says "***", and in a
	// dynamic code, whose own txid comes from its URL.
	TxID string
	// AmountCentavos is 0 where the code names no amount, at most MaxAmount.
	AmountCentavos int64
	// OneTime says that the code must not be paid twice (01 is 12). An amount
	// alone does not say so.
	OneTime bool
}

// ErrCRC is the refusal of a text whose last field is a CRC, but not that of the
// text. A code with a wrong CRC must not be paid: some of it was misread.
var ErrCRC = errors.New("BR Code: wrong CRC")

// Malformed is the refusal of a text that breaks a rule; What names the field and
// the rule, for people.
type Malformed struct{ What string }

func (e *Malformed) Error() string { return "malformed BR Code: " + e.What }

func malformed(what string) error { return &Malformed{What: what} }

// Parse reads a code's text. It is strict, because every reader on the payer's
// side may be: at most MaxText bytes of printable ASCII; 00 first and 63 last; no
// id twice; no empty value; the CRC in upper-case digits. The Pix template is
// looked for in all of 26 to 51, its name in either case. Well-formed fields that
// mean nothing to Pix are passed over.
//
// The error is ErrCRC, or a *Malformed for every other broken rule. Fields that
// cannot be told apart come before the CRC, what they say comes after it: a
// misread text may say anything.
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
	var crc [4]byte
	if string(appendHex(crc[:0], CRC(text[:len(text)-4]))) != text[len(text)-4:] {
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

// each hands every field of s to take, and stops at the first error. No id may
// come twice.
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
