package qr

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	goqr "github.com/piglig/go-qr"
	"pgregory.net/rapid"
)

var allTables = sync.OnceValue(func() (all [maxTabled + 1]*table) {
	for v := 1; v <= maxTabled; v++ {
		if timed || v == 7 || v == 10 { // the race detector slows it down, and finds nothing in one goroutine
			all[v] = newTable(v)
		}
	}
	return all
})

// lastShown has for each version the code that was shown last.
var lastShown [maxTabled + 1]drawnCode

// expectSame checks that the table of parts' version gives the code that go-qr gives, and
// returns false where the table gives none.
func expectSame(t interface{ Fatalf(string, ...any) }, parts []part) bool {
	v := version(parts)
	if allTables()[v] == nil {
		return true
	}
	var want modules
	if err := want.encode(parts, goqr.MinVersion, goqr.MaxVersion); err != nil {
		t.Fatalf("%v: %v", parts, err)
	}
	if 4*v+17 != want.size {
		t.Fatalf("%v: version %d, but %d modules", parts, v, want.size)
	}
	var d data
	d.set(parts, v)
	s := &lastShown[v]
	if !allTables()[v].show(s, &d) {
		s.table = nil
		return false
	}
	got := &s.code
	if got.size != want.size || !bytes.Equal(got.rows(), want.rows()) {
		t.Fatalf("%v: another code of version %d", parts, v)
	}
	return true
}

// TestTablesOfAllLengths compares texts of all lengths for which there are tables. Of each
// version, few texts may have no code from the table: those that fill it to the last bits.
func TestTablesOfAllLengths(t *testing.T) {
	var with, without [maxTabled + 1]int
	step := 1
	if !timed {
		step = 5 // the race detector slows it down, and finds nothing in one goroutine
	}
	text := chargeText + strings.Repeat("Café de São Tomé ", 20)
	for _, rest := range []string{text[lead:], strings.Repeat("\xff\x00", 200), strings.Repeat("A:", 200)} {
		for n := 0; ; n += step {
			parts := appendParts(nil, chargeText[:lead]+"b"+rest[:n])
			v := version(parts)
			if v == 0 {
				break
			}
			if expectSame(t, parts) {
				with[v]++
			} else {
				without[v]++
			}
		}
	}
	for v := 2; v <= maxTabled; v++ {
		if with[v] == 0 || without[v] > 3*3 {
			t.Errorf("version %d: %d codes from the table, %d without it", v, with[v], without[v])
		}
	}
}

func TestTablesOfAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[A-Z0-9$%*+./:-]{14}[a-z]([A-Z0-9]{0,30}[ -~]{1,30}){1,4}`).Draw(t, "text")
		if parts := appendParts(nil, text); version(parts) != 0 {
			expectSame(t, parts)
		}
	})
}

// TestTableIsUsed checks that a charge's image stays the same when its version gets a table,
// also while other requests make images.
func TestTableIsUsed(t *testing.T) {
	parts := appendParts(nil, chargeText)
	of := &tables[version(parts)]
	var m modules
	if err := m.encode(parts, goqr.MinVersion, goqr.MaxVersion); err != nil {
		t.Fatal(err)
	}
	want := new(pngEncoder).encode(&m)
	var work sync.WaitGroup
	end := time.Now().Add(time.Minute) // by then the table is there
	for range 4 {
		work.Go(func() {
			for of.table.Load() == nil && time.Now().Before(end) {
				if got := pngOf(t, chargeText); !bytes.Equal(got, want) {
					t.Error("without the table the image is another one")
				}
			}
		})
	}
	work.Wait()
	d := &drawing{parts: parts}
	if !d.fromTable() {
		t.Fatal("the table is not used")
	}
	if got := pngOf(t, chargeText); !bytes.Equal(got, want) {
		t.Error("with the table the image is another one")
	}
	if n := testing.AllocsPerRun(100, func() { d.fromTable() }); n > 0 && timed {
		t.Errorf("%v allocations", n)
	}
	for _, text := range []string{"", "a", "0123456789ABC", "0123456789ABC" + "a", strings.Repeat("A", 15), chargeText[:lead] + strings.Repeat("a", 300)} {
		if (&drawing{parts: appendParts(nil, text)}).fromTable() {
			t.Errorf("%q: a code from a table", text)
		}
	}
}

// TestTableAfterOtherCodes checks images one after the other in the same memory: of charges, which
// have a table, and of texts with and without one, so that codes begin with different ones.
func TestTableAfterOtherCodes(t *testing.T) {
	tabledCharge()
	longer := strings.Replace(chargeText, "Padaria Joao", "Padaria Joao e Filhos de Sao Tome das Letras", 1)
	other := strings.Replace(chargeText, "K7QWERTY", "AAAAAAAA", 1)
	for range 3 {
		for _, text := range []string{chargeText, other, "x" + chargeText[1:], other, longer, "a", chargeText, chargeText + "\x01", other} {
			var m modules
			if err := m.encode(appendParts(nil, text), goqr.MinVersion, goqr.MaxVersion); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(pngOf(t, text), new(pngEncoder).encode(&m)) {
				t.Errorf("another image of %q", text)
			}
		}
	}
}

// tabledCharge makes images until there is a table for them.
func tabledCharge() {
	for of := &tables[version(appendParts(nil, chargeText))]; of.table.Load() == nil; {
		_, _ = AppendImage(nil, chargeText)
	}
}

func BenchmarkNewTable(b *testing.B) {
	for b.Loop() {
		newTable(7)
	}
}

// TestWrongTable checks that a table which gives another code than the library is not used.
func TestWrongTable(t *testing.T) {
	table := newTable(7)
	if table == nil || !table.isRight(7) {
		t.Fatal("no table of version 7, or a wrong one")
	}
	for _, change := range []int{100, 101, len(table.changes) / 2, len(table.changes) - 40} {
		table.changes[change][len(table.changes[change])/2] ^= 0x10
		if table.isRight(7) {
			t.Errorf("a wrong change of bit %d is not seen", change)
		}
		table.changes[change][len(table.changes[change])/2] ^= 0x10
	}
	table.bases[0].code.bits[3] ^= 1
	table.bases[1].code.bits[3] ^= 1
	if table.isRight(7) {
		t.Error("wrong bases are not seen")
	}
}
