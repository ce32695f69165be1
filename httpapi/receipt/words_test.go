package receipt

import (
	"math"
	"testing"
	"time"

	"pixd/actors/pix"
)

func saoPauloTime(at pix.Millis) time.Time { return time.UnixMilli(int64(at)).In(saoPaulo) }

func TestReais(t *testing.T) {
	for a, want := range map[pix.Amount]string{
		0:                 "R$ 0,00",
		1:                 "R$ 0,0001",
		99:                "R$ 0,0099",
		100:               "R$ 0,01",
		10_000:            "R$ 1,00",
		10_050:            "R$ 1,0050",
		9_999_900:         "R$ 999,99",
		10_000_000:        "R$ 1.000,00",
		12_345_600:        "R$ 1.234,56",
		1_234_567_890_100: "R$ 123.456.789,01",
		-12_345_600:       "-R$ 1.234,56",
		pix.MaxAmount:     "R$ 9.999.999.999,99",
		math.MaxInt64:     "R$ 922.337.203.685.477,5807",
		math.MinInt64:     "-R$ 922.337.203.685.477,5808",
	} {
		if got := reais(a); got != want {
			t.Errorf("%d: %s, want %s", a, got, want)
		}
	}
}

// TestBrasilia checks the hours of Brasília, with the summer time that there was until 2019.
func TestBrasilia(t *testing.T) {
	for instant, want := range map[string]string{
		"2026-03-01T02:59:59Z": "28/02/2026 23:59:59",
		"2026-12-31T03:00:00Z": "31/12/2026 00:00:00",
		"2018-12-25T12:00:00Z": "25/12/2018 10:00:00",
		"2060-01-15T12:00:00Z": "15/01/2060 09:00:00",
	} {
		at, err := time.Parse(time.RFC3339, instant)
		if err != nil {
			t.Fatal(err)
		}
		if got := brasilia(pix.Millis(at.UnixMilli())); got != want {
			t.Errorf("%s: %s, want %s", instant, got, want)
		}
		if got, want := utc(pix.Millis(at.UnixMilli())), at.Format("02/01/2006 15:04:05"); got != want {
			t.Errorf("%s: %s, want %s", instant, got, want)
		}
	}
}

func TestReason(t *testing.T) {
	for code, want := range map[string]string{
		"": "", "XX99": "XX99",
		"MD06": "Devolução por acordo entre as partes (MD06)",
		"BE08": "Devolução por fraude (BE08)",
		"FR01": "Devolução por fraude informada na instituição recebedora (FR01)",
		"SL02": "Devolução por erro de liquidação (SL02)",
	} {
		if got := reason(code); got != want {
			t.Errorf("%s: %s", code, got)
		}
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "",
		"  São \t\r\n João\x00 ": "São João",
		"Sa\u0303o":              "São",
		"Αθηνά Наталья Nguyễn":   "Αθηνά Наталья Nguyễn",
		"王小明 Wang 김철수":           "王小明 Wang 김철수",
		"Zé 😀":                   "Zé \ufffd",
		"a\u202eb\u200dc\ufe0fd": "abcd",
		"a\xffb":                 "a\ufffdb",
		"R$ 1 – “x” …":           "R$ 1 – “x” …",
		"\u2028a\u00a0b\u3000c":  "a b c",
	} {
		if got := printable(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if !coverage()[missing] {
		t.Error("the fonts lack the mark for what they lack")
	}
}
