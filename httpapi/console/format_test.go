package console

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
)

// TestMoney checks how amounts are written, and that reading them gives the same amount again.
func TestMoney(t *testing.T) {
	for n, want := range map[pix.Amount][2]string{
		0: {"R$ 0,00", "R$ 0.00"}, 1: {"R$ 0,0001", "R$ 0.0001"}, 10_000: {"R$ 1,00", "R$ 1.00"}, 12_345_678: {"R$ 1.234,5678", "R$ 1,234.5678"},
		12_345_600: {"R$ 1.234,56", "R$ 1,234.56"}, 12_345_670: {"R$ 1.234,567", "R$ 1,234.567"}, 10_000_000_000: {"R$ 1.000.000,00", "R$ 1,000,000.00"}, -25_000: {"-R$ 2,50", "-R$ 2.50"},
	} {
		for i, l := range []language{portuguese, english} {
			if got := money(l, n); got != want[i] {
				t.Errorf("%d: %q, want %q", n, got, want[i])
			}
			if got, ok := l.parseMoney(want[i]); n >= 0 && (!ok || got != n) {
				t.Errorf("%q: %d %v", want[i], got, ok)
			}
		}
	}
	for _, text := range []string{"", ",", "x", "1,23456", "1.23", "1.2345,00", "-1,00", "1 000 x", "99999999999999,00", "1,00,00", "R$"} {
		if n, ok := portuguese.parseMoney(text); ok {
			t.Errorf("%q is read as %d", text, n)
		}
	}
	for text, want := range map[string]pix.Amount{"1234,5": 12_345_000, " R$ 1.234 ": 12_340_000, "0,01": 100} {
		if n, ok := portuguese.parseMoney(text); !ok || n != want {
			t.Errorf("%q: %d %v", text, n, ok)
		}
	}
	if got := portuguese.Sum(big.NewInt(-123_456_789)); got != "-R$ 12.345,6789" {
		t.Error(got)
	}
}

// TestNumbers checks numbers, sizes, ages and instants.
func TestNumbers(t *testing.T) {
	for want, got := range map[string]string{
		"1.234,5": portuguese.number(1234.5, 1), "1,234.5": english.number(1234.5, 1), "–": english.number(math.NaN(), 1), "-7": english.number(-7, 0), "0.0": english.number(-0.04, 1), "-0.1": english.number(-0.06, 1), "0.3": english.number(0.30000000000000004, -1),
		"12.345": portuguese.Count(12345), "-1.000": portuguese.Count(-1000), "512 B": english.size(512), "1.5 KiB": english.size(1536), "2.0 TiB": english.size(2 << 40),
		"119 s": english.age(119), "3 min": english.age(200), "3 h": english.age(3 * 3600), "4 d": english.age(4 * 86400),
		"31/12/2026 23:00:00 (01/01 02:00 UTC)": moment(portuguese, "2027-01-01T02:00:00.000Z"), "2026-12-31 23:00:00 (01-01 02:00 UTC)": moment(english, "2027-01-01T02:00:00.000Z"), "x": moment(english, "x"),
		"01/01/2027 09:00:00 (12:00 UTC)": moment(portuguese, "2027-01-01T12:00:00.000Z"), "2027-01-01 09:00:00 (12:00 UTC)": moment(english, "2027-01-01T12:00:00.000Z"),
		"***.456.789-**": masked("12345678909"), "12.345.678/****-**": masked("12345678000195"), "***": masked("1"), "": masked(""),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	v := &visit{Shown: "acc_x"}
	for key, want := range map[string]string{
		"12345678909": "***.456.789-**", "12345678000195": "12.345.678/****-**", "+5511999999999": "+5511999999999", "a@x.com": "a@x.com", "123e4567-e89b-12d3-a456-426614174000": "123e4567-e89b-12d3-a456-426614174000",
	} {
		if got := maskedKey(v, "acc_y", key); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got := maskedKey(v, "acc_x", key); got != key {
			t.Errorf("asked for: %q", got)
		}
	}
}

// TestLanguage checks which language a request gets, and that one that is chosen is kept.
func TestLanguage(t *testing.T) {
	f := newFixture(t)
	f.api = payouts
	for _, c := range []struct{ query, cookie, accepts, want string }{
		{"", "", "", "pt-BR"}, {"", "", "en-US,en", "en"}, {"", "", "de", "pt-BR"}, {"", "en", "pt", "en"}, {"?lang=pt-BR", "en", "en", "pt-BR"}, {"?lang=en", "", "", "en"},
	} {
		var headers []string
		if c.accepts != "" {
			headers = append(headers, "Accept-Language", c.accepts)
		}
		if c.cookie != "" {
			headers = append(headers, "Cookie", languageCookie+"="+c.cookie)
		}
		p := f.send("GET", "/console/login"+c.query, "", "", headers...)
		if !strings.Contains(p.body, `<html lang="`+c.want+`">`) || (c.query != "") != strings.Contains(p.header("Set-Cookie"), languageCookie+"="+c.want) {
			t.Errorf("%+v: %q\n%.60s", c, p.header("Set-Cookie"), p.body)
		}
	}
	for _, secure := range []bool{false, true} {
		var ctx fasthttp.RequestCtx
		ctx.QueryArgs().Set("lang", "en")
		setLanguage(&ctx, secure)
		if kept := string(ctx.Response.Header.PeekCookie(languageCookie)); strings.Contains(kept, "secure") != secure || !strings.Contains(kept, "HttpOnly") || !strings.Contains(kept, "max-age=31536000") {
			t.Errorf("secure %v: %q", secure, kept)
		}
	}
	cookie := f.login(olgaToken)
	f.says(f.send("GET", "/console/actions?operator=a%26b&done=x", cookie, ""), 200, `href="/console/actions?lang=en&amp;operator=a%26b"`)
}
