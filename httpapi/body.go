package httpapi

import (
	"bytes"
	"strconv"

	"pixd/actors/ledger"
)

// readText reads a value in canonical spelling that should be a string. What it returns
// is a copy.
func readText(value []byte) ledger.Text {
	if len(value) < 2 || value[0] != '"' {
		return ledger.Text{Given: true, Wrong: true}
	}
	inside := value[1 : len(value)-1]
	if bytes.IndexByte(inside, '\\') < 0 {
		return ledger.Text{Value: string(inside), Given: true}
	}
	return ledger.Text{Value: string(appendDecoded(nil, inside)), Given: true}
}

// readCentavos reads a value that should be a whole number; 0, which is no
// amount, where it is anything else: a fraction, an exponent, a string, or more
// than fits.
func readCentavos(value []byte) int64 {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
