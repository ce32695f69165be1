package registry

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/pix"
	"pixd/wal"
)

// withUses opens the registry, and the times of use of its keys, in a store.
func withUses(t *testing.T, fs wal.FS) (*Registry, *wal.Store) {
	t.Helper()
	s := openStore(t, fs)
	g := open(t, s)
	if err := g.LoadUses(s); err != nil {
		t.Fatal(err)
	}
	return g, s
}

// ended writes the last times of use and closes the store.
func ended(t *testing.T, g *Registry, s *wal.Store) {
	t.Helper()
	if err := g.WriteUses(s); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// makeKeys makes n API keys of one account.
func makeKeys(t *testing.T, g *Registry, n int) (keys []*APIKey) {
	t.Helper()
	register(t, g, 1)
	for i := range n {
		k, err := g.MakeAPIKey(APIKey{ClientID: fmt.Sprintf("cli_%d", i), Account: 1})
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, k)
	}
	return keys
}

func lastUse(g *Registry, id string) pix.Millis {
	k, ok := g.APIKey(id)
	if !ok {
		return -1
	}
	return k.LastUsed()
}

// TestLastUsedSurvives checks that times of use survive a clean close, even for a revoked
// key, and change only when the key is used. There are more keys than one batch takes.
func TestLastUsedSurvives(t *testing.T) {
	const n = 2*usesAtOnce + 3
	disk := vfs.NewMem()
	g, s := withUses(t, disk)
	for i, k := range makeKeys(t, g, n) {
		if i > 0 {
			k.Used(pix.Millis(1000 + i))
		}
	}
	if _, err := g.ChangeAPIKey("cli_1", func(k *APIKey) { k.Active = false }); err != nil {
		t.Fatal(err)
	}
	ended(t, g, s)
	for range 2 {
		g, s = withUses(t, disk)
		for i := range n {
			want := pix.Millis(1000 + i)
			if i == 0 {
				want = 0
			}
			if got := lastUse(g, fmt.Sprintf("cli_%d", i)); got != want {
				t.Fatalf("key %d was last used at %d, want %d", i, got, want)
			}
		}
		ended(t, g, s)
	}
}

// TestLastUsedWritesNews checks that WriteUses writes nothing if no time has changed, and
// otherwise one value for each key that was used, in the bytes that docs/formats.md
// describes.
func TestLastUsedWritesNews(t *testing.T) {
	disk := vfs.NewMem()
	g, s := withUses(t, disk)
	keys := makeKeys(t, g, 3)
	writes := func(want uint64) {
		t.Helper()
		before, _ := s.Written()
		if err := g.WriteUses(s); err != nil {
			t.Fatal(err)
		}
		if after, _ := s.Written(); after-before != want {
			t.Errorf("%d keys written, want %d", after-before, want)
		}
	}
	writes(0)
	keys[1].Used(0x0102030405)
	writes(1 + 1) // two rows are written: the time of use, and the position of the batch
	writes(0)
	keys[1].Used(0x0102030406)
	keys[2].Used(5)
	writes(2 + 1)
	writes(0)
	v, ok, err := s.Get([]byte("!last-used/cli_1"))
	if want := "\x00\x00\x00\x01\x02\x03\x04\x06"; err != nil || !ok || string(v) != want {
		t.Errorf("%q %v %v, want %q", v, ok, err, want)
	}
	ended(t, g, s)
	if g, s = withUses(t, disk); lastUse(g, "cli_1") != 0x0102030406 || lastUse(g, "cli_0") != 0 {
		t.Errorf("last used %d and %d", lastUse(g, "cli_1"), lastUse(g, "cli_0"))
	}
	writes(0)
	ended(t, g, s)
}

// TestLastUsedUnreadable checks that a time of use with a wrong length is an error.
func TestLastUsedUnreadable(t *testing.T) {
	s := openStore(t, vfs.NewMem())
	if err := s.WriteRows(wal.Local, wal.Op{Kind: wal.OpSet, Key: wal.MetaKey(metaLastUsed + "cli_1"), Value: []byte("7")}); err != nil {
		t.Fatal(err)
	}
	err := open(t, s).LoadUses(s)
	if want := `read when keys were last used: "!last-used/cli_1" has 1 bytes`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
