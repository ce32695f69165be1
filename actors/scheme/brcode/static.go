// Package brcode writes and reads the text of Brazil's payment QR codes, the BR Code:
// fields of a two-digit id, a two-digit length in bytes and a value, followed by a CRC. It
// is pure: no clock, no randomness, no I/O.
//
// The rules are those of the central bank's "Manual de Padrões para Iniciação do
// Pix" (the fields), of its public Pix API descriptions (txid, the whole text's
// length) and of the EMV QR Code specification they build on (the CRC).
package brcode

import (
	"cmp"
	"fmt"
	"strings"
)

const (
	// MaxAmount is the greatest amount, in centavos, that field 54 can carry:
	// ten digits, a point and two digits.
	MaxAmount = 999_999_999_999

	// MaxText is the greatest length of a code's text in bytes.
	MaxText = 512

	gui         = "br.gov.bcb.pix"
	noTxID      = "***"
	crcHead     = "6304"
	maxKey      = 77
	maxName     = 25
	maxCity     = 15
	maxTxID     = 25
	maxTemplate = 99

	// maxStatic is the length of the longest text that Static can build.
	maxStatic = 236
)

// Static is a static code: it names the payee's key, and its payer pays to that key. All
// lengths are in bytes.
type Static struct {
	// Key is the PIX key exactly as the directory spells it, 1 to 77 bytes of
	// printable ASCII without spaces.
	Key string
	// Description is shown to the payer. If it is, once stripped, longer than 73 bytes less
	// the key's length, it is left out: half a sentence about money is worse than none.
	Description string
	// Name of the payee: stripped, then cut to 25 bytes; "RECEBEDOR" if stripping leaves
	// nothing.
	Name string
	// City of the payee: stripped, then cut to 15 bytes; "BRASIL" if stripping leaves
	// nothing.
	City string
	// TxID is 1 to 25 of [a-zA-Z0-9], or empty for none (written as "***").
	TxID string
	// AmountCentavos is 1 to MaxAmount, or 0 for a code whose payer chooses the amount.
	AmountCentavos int64
}

// Invalid says which field of a Static cannot be written into a code, and why.
type Invalid struct{ Field, Why string }

func (e *Invalid) Error() string { return fmt.Sprintf("BR Code: %s %s", e.Field, e.Why) }

// Text returns the code's text. Description, Name and City are stripped to the characters
// that every payer's reader accepts: accents go, and the only symbols kept are . , - / : (
// ) _ @ + (some readers refuse a code for an "&"). The error is an *Invalid where Key, TxID
// or AmountCentavos is outside its range.
func (s Static) Text() (string, error) {
	if err := s.check(); err != nil {
		return "", err
	}
	amount := ""
	if s.AmountCentavos > 0 {
		amount = field("54", fmt.Sprintf("%d.%02d", s.AmountCentavos/100, s.AmountCentavos%100))
	}
	text := "000201" + field("26", s.account()) + "520400005303986" + amount + "5802BR" +
		field("59", cmp.Or(cut(plain(s.Name), maxName), "RECEBEDOR")) + field("60", cmp.Or(cut(plain(s.City), maxCity), "BRASIL")) +
		field("62", field("05", cmp.Or(s.TxID, noTxID))) + crcHead
	return text + crcDigits(text), nil
}

func (s Static) check() error {
	switch {
	case s.Key == "" || len(s.Key) > maxKey:
		return &Invalid{"Key", "is not 1 to 77 bytes long"}
	case !visible(s.Key):
		return &Invalid{"Key", "holds a space or something that is not printable ASCII"}
	case s.TxID != "" && !isTxID(s.TxID):
		return &Invalid{"TxID", "is not 1 to 25 ASCII letters and digits"}
	case s.AmountCentavos < 0 || s.AmountCentavos > MaxAmount:
		return &Invalid{"AmountCentavos", "is outside 0 to 999999999999"}
	}
	return nil
}

// account returns the value of field 26, the Pix template: the name of Pix, the key, and the
// description if there is room for it.
func (s Static) account() string {
	template := field("00", gui) + field("01", s.Key)
	if d := plain(s.Description); d != "" && len(d) <= maxTemplate-len(template)-len("02LL") {
		template += field("02", d)
	}
	return template
}

// field returns a field: its id, the length of its value in two digits, and the value.
func field(id, value string) string {
	n := byte(len(value))
	return id + string([]byte{'0' + n/10, '0' + n%10}) + value
}

// cut returns the first bytes of a plain text, without a space at the end.
func cut(text string, limit int) string {
	return strings.TrimSuffix(text[:min(limit, len(text))], " ")
}
