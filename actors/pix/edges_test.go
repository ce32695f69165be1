package pix

import (
	"strings"
	"testing"
)

// TestFirstCheckDigit checks that a CPF is refused whose first check digit is wrong and whose second fits the wrong one.
func TestFirstCheckDigit(t *testing.T) {
	if !ValidCPF("12345678909") {
		t.Error("a CPF is refused")
	}
	for d := '1'; d <= '9'; d++ { // the first check digit of 123456789 is 0
		nine := "123456789" + string(d)
		if cpf := nine + string(checkDigit(nine)); ValidCPF(cpf) {
			t.Errorf("%s is taken", cpf)
		}
	}
}

// TestDocumentWithSpaces checks that a document which has spaces is none.
func TestDocumentWithSpaces(t *testing.T) {
	for _, s := range []string{"123 456 789 09", " 12345678909", "11 222 333 0001 81"} {
		if _, ok := CleanDocument(s); ok {
			t.Errorf("%q is taken", s)
		}
		if _, ok := CleanHolder(s); ok {
			t.Errorf("%q is taken as a holder's", s)
		}
	}
}

// TestSinceAnInstant checks that a doubted instant counts as the start of the process, but never earlier than it says itself.
func TestSinceAnInstant(t *testing.T) {
	r := Reading{Start: 10}
	for at, want := range map[Millis]Millis{5: 10, 10: 10, 15: 15} {
		if got := r.Since(at, true); got != want || r.Since(at, false) != at {
			t.Errorf("%d, doubted: %d, want %d", at, got, want)
		}
	}
}

// TestBase62HasEveryCharacter checks that each of the 62 characters may stand in an id, the last one too.
func TestBase62HasEveryCharacter(t *testing.T) {
	var all strings.Builder
	for i := range byte(62) {
		var sum [32]byte
		sum[1] = i
		all.WriteByte(Base62(sum)[0])
	}
	if all.String() != base62 {
		t.Errorf("%s", all.String())
	}
}
