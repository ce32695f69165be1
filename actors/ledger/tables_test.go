package ledger

import (
	"os"
	"strings"
	"testing"
)

// TestKindTable checks that each record kind has a name of its own, that no value between
// two kinds is unused, and that the properties of a kind are consistent.
func TestKindTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for k := range RecordKind(len(kinds)) {
		row := k.row()
		switch {
		case k == 0 && row.name != "":
			t.Error("kind 0 has a name")
		case k == 0:
			continue
		case row.name == "" || names[row.name]:
			t.Errorf("kind %d is named %q", k, row.name)
		}
		names[row.name] = true
		if !strings.Contains(string(page), "`"+row.name+"`") {
			t.Errorf("docs/formats.md does not name %v", k)
		}
		about := row.entity == entityTransaction
		if !about && (row.shows || row.books || row.balance != 0 || row.held != 0) {
			t.Errorf("%v is about no transaction, and shows, books or moves one", k)
		}
		if about && row.rows == nil || row.entity == entityAccount && row.rows != nil {
			t.Errorf("%v: its rows", k)
		}
	}
	if k := RecordKind(len(kinds)); k.isKnown() || k.String() == "" {
		t.Errorf("kind %d: %v", k, k)
	}
}

// TestRefusalTable checks that each refusal has a name of its own, and that the reason
// codes of failed payouts are those in the merchants' documents.
func TestRefusalTable(t *testing.T) {
	names := map[string]RefusalCode{}
	for c := range RefusalCode(len(refusals)) {
		name := c.String()
		if other, twice := names[name]; twice || (name == "") != (c == RefuseNothing) {
			t.Errorf("refusal %d is named %q, as %d is", c, name, other)
		}
		names[name] = c
		got, ok := ParseRefusal(name)
		if outside := refusals[c].outside; ok != outside || ok && got != c {
			t.Errorf("%q is read as %v %v, and is the scheme's: %v", name, got, ok, outside)
		}
		if c.Limit() != 0 && !refusals[c].outside {
			t.Errorf("%v is a limit of the directory, and not its word", c)
		}
	}
	if got := Refusals(); len(got) != len(refusals)-1 || got[0] != RefuseAmount {
		t.Errorf("all refusals: %v", got)
	}
}
