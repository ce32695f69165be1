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

// TestTextHidesPeople checks that no digit of a document or a phone number is left, and nothing of
// the name in an e-mail address, however they are written.
func TestTextHidesPeople(t *testing.T) {
	for _, given := range []string{
		"123.456.789-09", "12345678909", "123 . 456 . 789 - 09", "123 456 789 09", "123.456.789/09", "123-456-789-09",
		"123\u00a0456\u00a0789\u00a009", "123.456.789\u201309", "123\t456\t789\t09", "\u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668\u0669\u0660\u0661",
		"12.345.678/0001-95", "12345678000195", "12 345 678 / 0001 - 95", "12.ABC.345/01DE-35", "12ABC34501DE35",
		"+55 11 98765-4321", "+5511987654321", "+55 11 3456-7890", "+55 (11) 3456-7890", "(11) 98765-4321", "(11) 3456-7890",
		"(11)3456-7890", "(011) 3456-7890", "11 3456-7890", "11-3456-7890", "11.3456.7890", "11 34567890", "11 98765 4321", "98765-4321", "9 8765-4321",
		"+47 22 34 56 78", "+290 22345", "00 55 11 3456 7890", "%2B5511987654321", "+1 (415) 555-0100",
		"ana.souza@example.com", "ana%40example.com", "ana+shop@example.com",
	} {
		for _, around := range []string{"%s", "to %s: refused", "cpf=%s,", "key/%s?x", `"%s"`} {
			text := strings.Replace(around, "%s", given, 1)
			got := Text(text)
			if !strings.Contains(got, Hidden) || strings.ContainsAny(strings.ReplaceAll(got, "%40", ""), "13456789\u0661") || strings.Contains(got, "ana") {
				t.Errorf("%q: %q", text, got)
			}
		}
	}
}

// TestTextLeavesWhatIsOurs checks that ids, amounts, times, addresses and durations stay readable.
func TestTextLeavesWhatIsOurs(t *testing.T) {
	for _, given := range []string{
		"acc_n4jj5bhb33ncm", "whk_n4jj5bhb33ncm", "PIXOUT7AGOKSRIKACFXO2JKGIU3", "E9999900420261123220012345678909", "D9999900420261123220012345678909",
		"12345678-1234-4123-8123-123456789012", "pixd-20261122T215500Z-4711.snap",
		"1234567890", "balance 10100000, pending 200000, 0 held by cases", "amount 99999999", "1,234,567.89", "-1000000", "+1000000",
		"2026-11-23", "2026-11-23T22:50:16Z", "2026-11-23T22:50:16.123456789Z", "2026-11-23 22:50:16.123456789 +0000 UTC", "2026-11-23T22:50:16.123-03:00",
		"2026/11/23 22:50:16", "1772366400", "20:15:41",
		"1m23.456789012s", "41.105391703s", "123.456789ms", "2h0m12.345678901s", "30s",
		"dial tcp 192.168.100.200:43210->10.0.0.1:8090: connect: connection refused", "[2001:db8::1]:8090", ":8443", "pid 12345, status 422",
		"record 1234567 of 2345678", "epoch 4711, batch 123456789", "99999004", "version 1.26.8", "100 of 20000 bytes",
	} {
		if got := Text(given); got != given {
			t.Errorf("%q: %q", given, got)
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
