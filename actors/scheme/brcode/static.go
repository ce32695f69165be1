// Package brcode writes and reads the text of Brazil's payment QR codes, the BR Code:
// fields of a two-digit id, a two-digit length in bytes and a value, followed by a CRC. It
// is pure: no clock, no randomness, no I/O.
//
// The rules are those of the central bank's "Manual de Padrões para Iniciação do
// Pix" (the fields), of its public Pix API descriptions (txid, the whole text's
// length) and of the EMV QR Code specification they build on (the CRC).
package brcode

import "fmt"

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
	var room [maxStatic]byte
	b := append(room[:0], "000201"...)
	b = s.appendAccount(b)
	b = append(b, "520400005303986"...)
	b = appendAmount(b, s.AmountCentavos)
	b = append(b, "5802BR"...)
	b = appendPlainField(b, "59", s.Name, "RECEBEDOR", maxName)
	b = appendPlainField(b, "60", s.City, "BRASIL", maxCity)
	txid := s.TxID
	if txid == "" {
		txid = noTxID
	}
	b = append(b, '6', '2', '0', '0')
	start := len(b)
	b = setLength(appendField(b, "05", txid), start)
	return string(appendCRC(b)), nil
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

// appendAccount writes the Pix template, field 26: the name of Pix, the key, and the
// description if there is room for it.
func (s Static) appendAccount(b []byte) []byte {
	b = append(b, '2', '6', '0', '0')
	start := len(b)
	b = appendField(b, "00", gui)
	b = appendField(b, "01", s.Key)
	left := maxTemplate - (len(b) - start) - len("02LL")
	if s.Description == "" || left <= 0 {
		return setLength(b, start)
	}
	head := len(b)
	b = append(b, '0', '2', '0', '0')
	// The limit is two bytes more than there is room for, so that the length shows that a
	// description is too long: a space is written only together with the letter after it.
	b = appendPlain(b, s.Description, left+2)
	if n := len(b) - head - len("02LL"); n == 0 || n > left {
		b = b[:head]
	} else {
		b = setLength(b, head+len("02LL"))
	}
	return setLength(b, start)
}

// appendAmount writes field 54: the amount in reais with a point and two decimals. For an
// amount of 0 it writes nothing.
func appendAmount(b []byte, centavos int64) []byte {
	if centavos == 0 {
		return b
	}
	b = append(b, '5', '4', '0', '0')
	start := len(b)
	var digits [13]byte
	i := len(digits)
	for n := centavos; n > 0 || i > len(digits)-4; n /= 10 {
		if i == len(digits)-2 {
			i--
			digits[i] = '.'
		}
		i--
		digits[i] = byte('0' + n%10)
	}
	return setLength(append(b, digits[i:]...), start)
}

// appendPlainField writes text stripped and cut to limit bytes, or fallback where
// stripping leaves nothing: fields 59 and 60 must not be empty.
func appendPlainField(b []byte, id, text, fallback string, limit int) []byte {
	b = append(b, id[0], id[1], '0', '0')
	start := len(b)
	b = appendPlain(b, text, limit)
	if len(b) == start {
		b = append(b, fallback...)
	}
	return setLength(b, start)
}

func appendField(b []byte, id, value string) []byte {
	n := len(value)
	b = append(b, id[0], id[1], byte('0'+n/10), byte('0'+n%10))
	return append(b, value...)
}

// setLength writes the length of the value b[start:] into the two digits before start.
func setLength(b []byte, start int) []byte {
	n := len(b) - start
	b[start-2], b[start-1] = byte('0'+n/10), byte('0'+n%10)
	return b
}
