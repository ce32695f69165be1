package engine

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/registry"
	"pixd/wal"
)

// TestLastUsedIsKept checks that an engine writes at its end when API keys were last used, and
// reads it at its start, which fails where it cannot be read.
func TestLastUsedIsKept(t *testing.T) {
	disk := vfs.NewMem()
	for n := range 3 {
		e, err := Open(crashConfig(disk))
		if err != nil {
			t.Fatal(err)
		}
		switch n {
		case 0:
			ids, err := populate(e)
			if err != nil {
				t.Fatal(err)
			}
			k, err := e.Registry.MakeAPIKey(registry.APIKey{ClientID: "cli_1", Account: ids[0]})
			if err != nil {
				t.Fatal(err)
			}
			k.Used(7)
		case 1:
			if k, ok := e.Registry.APIKey("cli_1"); !ok || k.LastUsed() != 7 {
				t.Errorf("%+v", k)
			}
		case 2:
			if err := e.Store.WriteRows(wal.Local, wal.Op{Kind: wal.OpSet, Key: wal.MetaKey("last-used/cli_1"), Value: []byte("7")}); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Open(crashConfig(disk))
	if want := `read when keys were last used: "!last-used/cli_1" has 1 bytes`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
