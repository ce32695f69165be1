package redact

import (
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"strings"
	"testing"
)

// TestText checks what is hidden, and which ids and numbers stay.
func TestText(t *testing.T) {
	for given, want := range map[string]string{
		"":                                     "",
		"AC03":                                 "AC03",
		"12345678909":                          "***",
		"1234567890":                           "1234567890",
		"cpf 123.456.789-09, blocked":          "cpf ***, blocked",
		"123 456 789 09":                       "***",
		"cpf12345678909x":                      "cpf***x",
		"12.345.678/0001-95":                   "***",
		"12345678000195":                       "***",
		"+55 (11) 98765-4321 is unused":        "+*** is unused",
		"+5511987654321":                       "+***",
		"ana.souza@example.com":                "***@example.com",
		"<ana@example.com>":                    "<***@example.com>",
		"a@12345678909":                        "***@***",
		"E9999900420261123220012345678909":     "E9999900420261123220012345678909",
		"D9999900420261123220012345678909":     "D9999900420261123220012345678909",
		"E99999004202611232200123456789091":    "E***",
		"12345678-1234-4123-8123-123456789012": "12345678-1234-4123-8123-123456789012",
		"dial tcp 192.168.100.200:8090":        "dial tcp 192.168.100.200:8090",
		"123.456.789.09":                       "***",
		"2026-11-23T22:50:16.123Z":             "2026-11-23T22:50:16.123Z",
	} {
		if got := Text(given); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}

// TestCode checks that only codes are shown, and no document among them.
func TestCode(t *testing.T) {
	for given, want := range map[string]string{
		"":                      `""`,
		"AC03":                  `"AC03"`,
		"payment_split":         `"payment_split"`,
		"text/html":             `"text/html"`,
		"x-123.456.789-09":      `"x-***"`,
		"Ana Souza":             "a text of 9 bytes",
		"a\x1b[31m":             "a text of 6 bytes",
		strings.Repeat("x", 64): `"` + strings.Repeat("x", 64) + `"`,
		strings.Repeat("x", 65): "a text of 65 bytes",
		"line\n":                "a text of 5 bytes",
	} {
		if got := Code(given); got != want {
			t.Errorf("%q: %s, want %s", given, got, want)
		}
	}
}

// TestError checks that an error's text ends where it repeats another side's answer, and that
// the error is still the one that it was.
func TestError(t *testing.T) {
	for want, given := range map[string]error{
		"malformed HTTP response":              errors.New(`malformed HTTP response "Ana Souza"`),
		"read: malformed MIME header":          fmt.Errorf("read: %w", textproto.ProtocolError("malformed MIME header line: Ana Souza")),
		"malformed MIME header: missing colon": textproto.ProtocolError(`malformed MIME header: missing colon: "Ana Souza"`),
		"unexpected EOF":                       io.ErrUnexpectedEOF,
		"a number *** of the answer":           errors.New("a number 123456789091 of the answer"),
		"two?lines":                            errors.New("two\nlines"),
		strings.Repeat("x", 200):               errors.New(strings.Repeat("x", 300)),
	} {
		got := Error(given)
		if got.Error() != want || !errors.Is(got, given) {
			t.Errorf("%v, want %s", got, want)
		}
	}
	for want, given := range map[string]error{
		`unknown field "since"`:                  errors.New(`unknown field "since"`),
		`unknown field a text of 9 bytes stands`: errors.New(`unknown field "Ana Souza" stands`),
		`unknown field a text of 11 bytes`:       errors.New(`unknown field "Ana \"Souza"`),
		`unknown field "***"`:                    errors.New(`unknown field "12345678909"`),
		`cannot unmarshal number *** into a`:     errors.New(`cannot unmarshal number 12345678909 into a`),
	} {
		got := Decoding(given)
		if got.Error() != want || !errors.Is(got, given) {
			t.Errorf("%v, want %s", got, want)
		}
	}
	if Error(nil) != nil || Decoding(nil) != nil {
		t.Error("an error was made of none")
	}
}
