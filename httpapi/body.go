package httpapi

import (
	"bytes"
	"strconv"
)

// readText reads a value, in canonical spelling, that should be a JSON string. It returns a
// copy of the string's text, or a Text that is marked Wrong.
func readText(value []byte) textField {
	if len(value) < 2 || value[0] != '"' {
		return textField{Given: true, Wrong: true}
	}
	inside := value[1 : len(value)-1]
	if bytes.IndexByte(inside, '\\') < 0 {
		return textField{Value: string(inside), Given: true}
	}
	return textField{Value: string(appendDecoded(nil, inside)), Given: true}
}

// readCentavos reads a value that should be a whole number of centavos. For anything else
// (a fraction, an exponent, a string, or a number beyond 64 bits) it returns 0, which is
// not a valid amount.
func readCentavos(value []byte) int64 {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
