package engine

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/wal"
)

// keysOf makes n API keys of one account.
func keysOf(t *testing.T, e *Engine, n int) []*registry.APIKey {
	t.Helper()
	ids, err := populate(e)
	if err != nil {
		t.Fatal(err)
	}
	var keys []*registry.APIKey
	for i := range n {
		k, err := e.Registry.MakeAPIKey(registry.APIKey{ClientID: fmt.Sprintf("cli_%d", i), Account: ids[0]})
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, k)
	}
	return keys
}

func reopened(t *testing.T, fs wal.FS) *Engine {
	t.Helper()
	e, err := Open(crashConfig(fs))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func closed(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

func (e *Engine) used(id string) pix.Millis {
	k, ok := e.Registry.APIKey(id)
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
	e := reopened(t, disk)
	for i, k := range keysOf(t, e, n) {
		if i > 0 {
			k.Used(pix.Millis(1000 + i))
		}
	}
	if _, err := e.Registry.ChangeAPIKey("cli_1", func(k *registry.APIKey) { k.Active = false }); err != nil {
		t.Fatal(err)
	}
	closed(t, e)
	for range 2 {
		e = reopened(t, disk)
		for i := range n {
			want := pix.Millis(1000 + i)
			if i == 0 {
				want = 0
			}
			if got := e.used(fmt.Sprintf("cli_%d", i)); got != want {
				t.Fatalf("key %d was last used at %d, want %d", i, got, want)
			}
		}
		closed(t, e)
	}
}

// TestLastUsedWritesNews checks that keep writes nothing if no time has changed, and
// otherwise one value for each key that was used, in the bytes that docs/formats.md
// describes.
func TestLastUsedWritesNews(t *testing.T) {
	disk := vfs.NewMem()
	e := reopened(t, disk)
	keys := keysOf(t, e, 3)
	for _, k := range e.Registry.Unregistered() { // otherwise the registrar would write while the test counts the writes
		e.registrar.Tell(k.Key)
	}
	writes := func(want uint64) {
		t.Helper()
		before, _ := e.Store.Written()
		if err := e.uses.keep(); err != nil {
			t.Fatal(err)
		}
		if after, _ := e.Store.Written(); after-before != want {
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
	v, ok, err := e.Store.Get([]byte("!last-used/cli_1"))
	if want := "\x00\x00\x00\x01\x02\x03\x04\x06"; err != nil || !ok || string(v) != want {
		t.Errorf("%q %v %v, want %q", v, ok, err, want)
	}
	closed(t, e)
	if e = reopened(t, disk); e.used("cli_1") != 0x0102030406 || e.used("cli_0") != 0 {
		t.Errorf("last used %d and %d", e.used("cli_1"), e.used("cli_0"))
	}
	writes(0)
	closed(t, e)
}

// TestLastUsedUnreadable checks that a time of use with a wrong length is an error at the
// start.
func TestLastUsedUnreadable(t *testing.T) {
	disk := vfs.NewMem()
	e := reopened(t, disk)
	if err := write(e.Store, local, wal.Op{Kind: wal.OpSet, Key: wal.MetaKey(metaLastUsed + "cli_1"), Value: []byte("7")}); err != nil {
		t.Fatal(err)
	}
	closed(t, e)
	_, err := Open(crashConfig(disk))
	if want := `read when keys were last used: "!last-used/cli_1" has 1 bytes`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
