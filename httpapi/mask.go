package httpapi

import (
	"strings"

	"pixd/actors/pix"
)

// maskedDocument hides a part of a document: of a CPF the first three digits and the last
// two, of a CNPJ the first two characters and the last two, of anything else two thirds of the
// characters. Punctuation in the document does not matter. An empty document stays empty.
func maskedDocument(doc string) string {
	bare := strings.ToUpper(punctuation.Replace(doc))
	switch {
	case len(bare) == 11 && strings.HasPrefix(bare, "***") && strings.HasSuffix(bare, "**") && isDigits(bare[3:9]):
		return doc // it came masked
	case isCPF(bare):
		return "***." + bare[3:6] + "." + bare[6:9] + "-**"
	case isCPF(strings.TrimPrefix(bare, "CPF")): // it would have the form of a CNPJ with letters
		return maskedDocument(bare[len("CPF"):])
	case pix.IsCNPJ(bare):
		return "**." + bare[2:5] + "." + bare[5:8] + "/" + bare[8:12] + "-**"
	}
	all := []rune(punctuation.Replace(doc))
	hidden := (len(all) + 2) / 3
	for i := range all {
		if i < hidden || i >= len(all)-hidden {
			all[i] = '*'
		}
	}
	return string(all)
}

// isCPF reports whether a text has the form of a CPF.
func isCPF(s string) bool { return len(s) == 11 && isDigits(s) }

func isDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// maskedKey hides a part of a PIX key that is a CPF or a CNPJ, and leaves any other key.
func maskedKey(key string) string {
	if isCPF(key) || pix.IsCNPJ(key) {
		return maskedDocument(key)
	}
	return key
}
