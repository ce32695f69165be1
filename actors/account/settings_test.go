package account

import (
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// TestSettingsOf checks that settings are read as they are now, from the head row, from records
// behind it, and from records alone, and that it is said how many were read; and that nothing is
// said of an account without records.
func TestSettingsOf(t *testing.T) {
	b := newBench(t)
	reads := func(name string, records int) {
		t.Helper()
		s, read, err := SettingsOf(testAccount, b.store)
		switch {
		case err != nil || read != records || (s == nil) != (name == ""):
			t.Errorf("%+v after %d records: %v", s, read, err)
		case s != nil && s.Name != name:
			t.Errorf("%q, want %q", s.Name, name)
		}
	}
	change := func(name string) {
		t.Helper()
		s := settings()
		s.Name = name
		b.step(ledger.ChangeSettings{Settings: s})
	}
	reads("", 0)
	b.step(ledger.OpenAccount{Settings: settings()})
	reads("Loja", 1)
	change("A")
	b.step(ledger.Credit{Kind: pix.TxTED, Amount: 1})
	reads("A", 3)
	for range 5 { // a head row is written with the eighth record
		b.step(ledger.Credit{Kind: pix.TxTED, Amount: 1})
	}
	reads("A", 0)
	change("B")
	reads("B", 1)
}

// TestSettingsOfDamaged checks that nothing is said of an account whose records are damaged.
func TestSettingsOfDamaged(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(testAccount, 1)
	if s, _, err := SettingsOf(testAccount, w.store); s == nil || err != nil {
		t.Fatalf("%+v %v", s, err)
	}
	w.damage(testAccount)
	if s, _, err := SettingsOf(testAccount, w.store); s != nil || err != nil {
		t.Errorf("%+v %v", s, err)
	}
}
