package engine

import (
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/ledger"
	"pixd/actors/registry"
)

// TestFormatOfKinds checks that a new kind of record comes with a new format of the journal: a version that does
// not know the kind must refuse the store. Whoever adds a kind raises both numbers here.
func TestFormatOfKinds(t *testing.T) {
	const format, newest, registrys = "9", 52, 78
	w := newHarness(t, vfs.NewMem())
	if got, ok, err := w.Store.HardSetting("format"); got != format || !ok || err != nil {
		t.Errorf("a new journal has format %q (%v), want %s", got, err, format)
	}
	kinds := 0
	for !strings.HasPrefix(ledger.RecordKind(kinds+1).String(), "kind ") {
		kinds++
	}
	if kinds != newest {
		t.Errorf("format %s knows %d kinds of record, there are %d", format, newest, kinds)
	}
	for kinds = 64; !strings.HasPrefix(registry.RecordKind(kinds+1).String(), "kind "); {
		kinds++
	}
	if kinds != registrys {
		t.Errorf("format %s knows kinds of the registry's records up to %d, there are %d", format, registrys, kinds)
	}
}
