package pix

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAmountAdd(t *testing.T) {
	for _, c := range []struct {
		a, b Amount
		ok   bool
	}{
		{math.MaxInt64, 0, true},
		{math.MaxInt64, 1, false},
		{math.MinInt64, -1, false},
		{math.MinInt64, math.MaxInt64, true},
		{1, math.MaxInt64, false},
		{1, math.MaxInt64 - 1, true},
		{math.MinInt64 + 1, -1, true},
		{-1, math.MinInt64, false},
		{-5, 3, true},
	} {
		sum, ok := c.a.Add(c.b)
		if ok != c.ok || ok && sum != c.a+c.b {
			t.Errorf("%d + %d: %d, %v", c.a, c.b, sum, ok)
		}
	}
}

func TestFromCentavos(t *testing.T) {
	for c, ok := range map[int64]bool{0: false, -1: false, 1: true, MaxCentavos: true, MaxCentavos + 1: false, math.MaxInt64: false} {
		if a, got := FromCentavos(c); got != ok || ok && a != Amount(c)*100 {
			t.Errorf("%d centavos: %d, %v", c, a, got)
		}
	}
}

// TestIDs checks that a transaction's id and its transaction_id give the same short id, and
// that two ids of the same time have different short ids if any of 52 bits of entropy
// differs.
func TestIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := Millis(rapid.Int64Range(0, 1<<48-1).Draw(t, "at"))
		var entropy [10]byte
		copy(entropy[:], rapid.SliceOfN(rapid.Byte(), 10, 10).Draw(t, "entropy"))
		id := NewTxID(at, entropy)
		if id.Time() != at {
			t.Fatalf("time %d, want %d", id.Time(), at)
		}
		if id[6]>>4 != 7 || id[8]>>6 != 2 {
			t.Fatalf("%v is no UUID v7", id)
		}
		back, ok := ParseTxID(id.String())
		if !ok || back != id {
			t.Fatalf("%v came back as %v", id, back)
		}
		for _, k := range []TxKind{TxCharge, TxReceipt, TxPayout, TxRefund, TxReturn, TxTED, TxInternal} {
			short, ok := ParsePublic(id.Public(k))
			if !ok || short != id.Short() {
				t.Fatalf("%s came back as %x, want %x", id.Public(k), short, id.Short())
			}
		}
		if charge := id.Public(TxCharge); len(charge) != 25 || strings.ToUpper(charge) != charge {
			t.Fatalf("charge id %q", charge)
		}
		other := entropy
		bit := rapid.IntRange(0, 51).Draw(t, "bit")
		flip(&other, bit)
		if NewTxID(at, other).Short() == id.Short() {
			t.Fatalf("bit %d of entropy does not reach the short id", bit)
		}
	})
}

// flip inverts one of the 52 bits of entropy that a short id includes.
func flip(c *[10]byte, bit int) {
	switch {
	case bit < 4:
		c[0] ^= 1 << bit
	case bit < 12:
		c[1] ^= 1 << (bit - 4)
	case bit < 18:
		c[2] ^= 1 << (bit - 12)
	case bit < 50:
		c[3+(bit-18)/8] ^= 1 << ((bit - 18) % 8)
	default:
		c[7] ^= 0x80 >> (bit - 50)
	}
}

func TestParseIDsRefuse(t *testing.T) {
	for _, s := range []string{"", "PIXIN", "PIXINAAAAAAAAAAAAAAAAAAA", "PIXINAAAAAAAAAAAAAAAAAAAA1", "PIXINaaaaaaaaaaaaaaaaaaaa", "PIXXXAAAAAAAAAAAAAAAAAAAA", "PIXIN0AAAAAAAAAAAAAAAAAAA"} {
		if _, ok := ParsePublic(s); ok {
			t.Errorf("%q parsed", s)
		}
	}
	for _, s := range []string{"", "01890000-0000-7000-8000-00000000000", "01890000x0000-7000-8000-000000000000", "g1890000-0000-7000-8000-000000000000"} {
		if _, ok := ParseTxID(s); ok {
			t.Errorf("%q parsed", s)
		}
	}
	for _, s := range []string{"", "acc_", "acc_aaaaaaaaaaaaa", "ACC_mfrggzdfmztwq", "acc_mfrggzdfmztwr", "acc_mfrggzdfmztw"} {
		if _, ok := ParseAccountID(s); ok {
			t.Errorf("%q parsed", s)
		}
	}
	for _, a := range []AccountID{1, 7, 1 << 63, LastAccountID} {
		if got, ok := ParseAccountID(a.String()); !ok || got != a {
			t.Errorf("%v came back as %v", a, got)
		}
	}
}

func TestEndToEnd(t *testing.T) {
	id := EndToEnd("99999004", 1772366459999, "abcdefghijk")
	if id != "E99999004202603011200abcdefghijk" || !ValidEndToEnd(id) {
		t.Errorf("%q", id)
	}
	for _, s := range []string{
		"", id[1:], "D" + id[1:], id + "x", "E9999900a202603011200abcdefghijk", "E99999004202613011200abcdefghijk",
		"E99999004202602301200abcdefghijk", "E99999004202603012400abcdefghijk", "E99999004202603011200abcdefghij-",
	} {
		if ValidEndToEnd(s) {
			t.Errorf("%q is valid", s)
		}
	}
	print := Fingerprint{Account: 1, Amount: 2, KeyType: KeyEVP, Key: "k"}
	secret := []byte("s")
	for name, other := range map[string]string{
		"account": Fingerprint{2, 2, KeyEVP, "k"}.Suffix(secret, 0), "amount": Fingerprint{1, 3, KeyEVP, "k"}.Suffix(secret, 0),
		"type": Fingerprint{1, 2, KeyCPF, "k"}.Suffix(secret, 0), "key": Fingerprint{1, 2, KeyEVP, "l"}.Suffix(secret, 0),
		"attempt": print.Suffix(secret, 1), "secret": print.Suffix([]byte("t"), 0),
	} {
		if other == print.Suffix(secret, 0) {
			t.Errorf("another %s gives the same characters", name)
		}
	}
	if s := print.Suffix(secret, 0); s != print.Suffix(secret, 0) || !ValidEndToEnd(EndToEnd("99999004", 0, s)) {
		t.Errorf("suffix %q", s)
	}
}

func TestKeys(t *testing.T) {
	const evp = "1f0c3a52-7f1a-4c59-9d3a-0a6f0b8f7a11"
	for _, c := range []struct {
		typ, raw, want string // the parsed key; "": the key is not valid
	}{
		{"cpf", "12345678909", "12345678909"},
		{"cpf", "123.456.789-09", ""},
		{"cpf", "1234567890", ""},
		{"cnpj", "11222333000181", "11222333000181"},
		{"cnpj", "12ABC34501DE35", ""},
		{"email", "Ana.B@Example.COM", "ana.b@example.com"},
		{"email", "ana", ""},
		{"email", "ana@", ""},
		{"email", "a%b@example.com", ""},
		{"email", strings.Repeat("a", 65) + "@example.com", strings.Repeat("a", 65) + "@example.com"},
		{"email", strings.Repeat("a", 66) + "@example.com", ""},
		{"phone", "11987654321", "+5511987654321"},
		{"phone", "+5511987654321", "+5511987654321"},
		{"phone", "+1 1198765432", ""},
		{"phone", "1198765432", ""},
		{"evp", strings.ToUpper(evp), evp},
		{"evp", evp[:35], ""},
		{"", "11222333000181", "11222333000181"},
		{"", "a@b.c", "a@b.c"},
		{"", "+5511987654321", "+5511987654321"},
		{"", evp, evp},
		{"", "11987654321", ""},
		{"", "", ""},
		{"", "+55119876543210", ""},
		{"", " a@b.c", ""},
	} {
		var k Key
		ok := false
		if c.typ == "" {
			if k, ok = DetectKey(c.raw); ok == AmbiguousKey(c.raw) && ok {
				t.Errorf("%q has a type, and is ambiguous", c.raw)
			}
		} else {
			typ, known := ParseKeyType(c.typ)
			if !known {
				t.Fatal(c.typ)
			}
			k, ok = ParseKey(typ, c.raw)
		}
		if ok != (c.want != "") || ok && k.Value != c.want {
			t.Errorf("%s %q: %+v, %v", c.typ, c.raw, k, ok)
		}
	}
}

func TestDocuments(t *testing.T) {
	for s, want := range map[string]string{
		"123.456.789-09": "12345678909", "11.222.333/0001-81": "11222333000181", "12345678909": "12345678909",
		"1234567890": "", "12ABC34501DE35": "", "": "", "abc": "", "１２３４５６７８９０９": "",
	} {
		if got, ok := CleanDocument(s); ok != (want != "") || ok && got != want {
			t.Errorf("document %q: %q, %v", s, got, ok)
		}
	}
	for s, want := range map[string]string{
		"12.ABC.345/01DE-35": "12ABC34501DE35", "12abc34501de35": "12ABC34501DE35", "12345678909": "12345678909",
		"12ABC34501DEX5": "", "1234567890A": "",
	} {
		if got, ok := CleanHolder(s); ok != (want != "") || ok && got != want {
			t.Errorf("holder %q: %q, %v", s, got, ok)
		}
	}
}

func TestCleanExternalID(t *testing.T) {
	long := strings.Repeat("a", 128)
	for s, want := range map[string]string{
		"order-1": "order-1", "  A.b_c:9-  ": "A.b_c:9-", long: long, " " + long + " ": long,
		long + "a": "", "a b": "", "ç": "", "": "", "  ": "", "a/b": "",
	} {
		if got := CleanExternalID(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

// TestSlots checks that an account's slot is the first 12 bits of its id, and that the last
// 65,536 numbers are not account ids.
func TestSlots(t *testing.T) {
	for id, slot := range map[AccountID]uint16{1: 0, 1<<52 - 1: 0, 1 << 52: 1, 0xabc<<52 | 7: 0xabc, LastAccountID: 4095} {
		if got := id.Slot(); got != slot {
			t.Errorf("account %x has slot %d, not %d", uint64(id), got, slot)
		}
	}
	if got, ok := ParseAccountID(LastAccountID.String()); !ok || got != LastAccountID {
		t.Errorf("the last account is read as %v %v", got, ok)
	}
	if _, ok := ParseAccountID((LastAccountID + 1).String()); ok || LastAccountID+1<<16 != 1<<64-1 {
		t.Error("a reserved number is read as an account's")
	}
}

// TestBRL checks that an amount has two decimals, or four where it has parts of a centavo, and
// that the separators stand where its reader expects them.
func TestBRL(t *testing.T) {
	for a, want := range map[Amount][3]string{
		0:                  {"0.00", "0.00", "0,00"},
		1:                  {"0.0001", "0.0001", "0,0001"},
		-70:                {"-0.0070", "-0.0070", "-0,0070"},
		150:                {"0.0150", "0.0150", "0,0150"},
		9_999_900:          {"999.99", "999.99", "999,99"},
		10_000_000:         {"1000.00", "1,000.00", "1.000,00"},
		-1_234_567_890_123: {"-123456789.0123", "-123,456,789.0123", "-123.456.789,0123"},
		math.MaxInt64:      {"922337203685477.5807", "922,337,203,685,477.5807", "922.337.203.685.477,5807"},
		math.MinInt64:      {"-922337203685477.5808", "-922,337,203,685,477.5808", "-922.337.203.685.477,5808"},
	} {
		if got := [3]string{a.BRL("", "."), a.BRL(",", "."), a.BRL(".", ",")}; got != want {
			t.Errorf("%d: %v, want %v", a, got, want)
		}
	}
}

// TestNamesOfUnknownValues checks that a value without a name is its number, and that each value has a name.
func TestNamesOfUnknownValues(t *testing.T) {
	for _, v := range []interface{ String() string }{TxStatus(200), CaseStatus(200), CaseResult(200), EventKind(200), KeyType(200)} {
		if got := v.String(); got != "200" {
			t.Errorf("%T: %q", v, got)
		}
	}
	for n := range 256 { // none of them panics
		for _, v := range []interface{ String() string }{TxStatus(n), CaseStatus(n), CaseResult(n), EventKind(n), KeyType(n)} {
			if v.String() == "" && n > 0 {
				t.Errorf("%T %d has no name", v, n)
			}
		}
	}
}

// TestDuration checks that a length of time is written without zero minutes and zero seconds at its end.
func TestDuration(t *testing.T) {
	for m, want := range map[Millis]string{
		0: "0s", 1: "1ms", 1500: "1.5s", 60_000: "1m", 90_000: "1m30s", 600_000: "10m", 3_600_000: "1h", 5_400_000: "1h30m", 3_601_000: "1h0m1s", 43_200_000: "12h",
	} {
		if got := m.Duration(); got != want {
			t.Errorf("%d ms: %s, want %s", int64(m), got, want)
		}
	}
}
