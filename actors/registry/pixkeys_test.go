package registry

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/pix"
	"pixd/wal"
)

var email = pix.Key{Type: pix.KeyEmail, Value: "k"}

// keysOf lists the registry's PIX keys and open removals, by account.
func keysOf(g *Registry) string {
	s := ""
	for _, id := range []pix.AccountID{1, 2} {
		a, _ := g.Account(id)
		for _, name := range a.PixKeys {
			k, ok := g.PixKey(name)
			s += fmt.Sprintf("%d has %s (there %v, registered %v, ours %v, moved %v) ", id, name, ok && k.Account == id, ok && k.Registered, g.Holds(name), g.Moved(name))
		}
	}
	for _, k := range g.Removals() {
		open, ok := g.Removal(k.Key)
		s += fmt.Sprintf("%d gave %s back (%v)", k.Account, k.Key, ok && open == k)
	}
	return s
}

// TestRemoval checks that a removed key is nobody's and can be reserved by another account
// while the scheme is still to be told, that it is then known to have moved, and that all of
// this survives a restart.
func TestRemoval(t *testing.T) {
	fs := vfs.NewMem()
	s, err := wal.Open(wal.Options{Dir: "journal", FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	g := open(t, s)
	one := "1 has " + evp(1).Value + " (there true, registered false, ours false, moved false) "
	two := "2 has " + evp(2).Value + " (there true, registered false, ours false, moved false) "
	register(t, g, 1)
	register(t, g, 2)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	expect := func(want string) {
		t.Helper()
		if got := keysOf(g); got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
		must(s.Close())
		if s, err = wal.Open(wal.Options{Dir: "journal", FS: fs}); err != nil {
			t.Fatal(err)
		}
		if g = open(t, s); keysOf(g) != want {
			t.Errorf("after a restart\n got %s\nwant %s", keysOf(g), want)
		}
	}
	defer func() { must(s.Close()) }()
	must(second(g.ReservePixKey(1, email)))
	must(registered(g, "k"))
	expect(one + "1 has k (there true, registered true, ours true, moved false) " + two)
	before, _ := g.Account(1)
	must(second(g.RemovePixKey(1, "k")))
	if !slices.Equal(before.PixKeys, []string{evp(1).Value, "k"}) {
		t.Errorf("an entry that was read before has %v now", before.PixKeys)
	}
	expect(one + two + "1 gave k back (true)")
	must(second(g.ReservePixKey(2, email)))
	expect(one + two + "2 has k (there true, registered false, ours false, moved true) 1 gave k back (true)")
	must(second(g.RemovePixKey(2, "k"))) // the scheme heard nothing of the second owner: the first removal is all it must hear
	expect(one + two + "1 gave k back (true)")
	k, _ := g.Removal("k")
	must(g.UnlistedPixKey(k))
	expect(one + two)
	must(g.UnlistedPixKey(k))
	expect(one + two)
	must(second(g.ReservePixKey(2, email)))
	must(second(g.RemovePixKey(2, evp(2).Value)))
	expect(one + "2 has k (there true, registered false, ours false, moved true) 2 gave " + evp(2).Value + " back (true)")
	must(registered(g, "k"))
	expect(one + "2 has k (there true, registered true, ours true, moved true) 2 gave " + evp(2).Value + " back (true)")
	if id, ours := g.KeyOwner("k"); id != 2 || !ours {
		t.Errorf("%v has the key: %v", id, ours)
	}
}

// TestLateRegistration checks that the scheme's answer to a registration from before a
// removal does not count for a reservation after it, be it another account's or the same
// one's.
func TestLateRegistration(t *testing.T) {
	for _, next := range []pix.AccountID{1, 2} {
		g := open(t, openStore(t, vfs.NewMem()))
		register(t, g, 1)
		register(t, g, 2)
		early, err := g.ReservePixKey(1, email)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(second(g.RemovePixKey(1, "k")), g.RegisteredPixKey(early)); err != nil {
			t.Fatal(err)
		}
		if k, ok := g.PixKey("k"); ok || g.Holds("k") {
			t.Errorf("the late answer brought back %+v", k)
		}
		if err := errors.Join(second(g.ReservePixKey(next, email)), g.RegisteredPixKey(early)); err != nil {
			t.Fatal(err)
		}
		if k, _ := g.PixKey("k"); k.Account != next || k.Registered {
			t.Errorf("reserved by %v, it is %+v", next, k)
		}
		stale, _ := g.Removal("k")
		again, _ := g.PixKey("k")
		if err := errors.Join(g.RegisteredPixKey(again), g.UnlistedPixKey(stale), second(g.RemovePixKey(next, "k")), g.UnlistedPixKey(stale)); err != nil {
			t.Fatal(err)
		}
		if open, ok := g.Removal("k"); !ok || open.Account != next {
			t.Errorf("the answer to the first removal ended the second: %+v", open)
		}
	}
}

// TestRemovalIsNamed checks what a removal returns, whose a key is, and that open removals are listed in the order in
// which their keys were reserved, also after a restart.
func TestRemovalIsNamed(t *testing.T) {
	fs := vfs.NewMem()
	s := openStore(t, fs)
	g := open(t, s)
	register(t, g, 1)
	for _, name := range []string{"c", "a", "b"} {
		if _, err := g.ReservePixKey(1, pix.Key{Type: pix.KeyEmail, Value: name}); err != nil {
			t.Fatal(err)
		}
	}
	if owner, ok := g.KeyOwner("a"); owner != 1 || !ok {
		t.Errorf("a is of %v (%v)", owner, ok)
	}
	if owner, ok := g.KeyOwner("d"); owner != 0 || ok {
		t.Errorf("d is of %v (%v)", owner, ok)
	}
	for _, name := range []string{"b", "a", "c"} {
		if k, err := g.RemovePixKey(1, name); err != nil || k == nil || k.Key != name || k.Account != 1 {
			t.Errorf("removed %+v (%v)", k, err)
		}
	}
	order := func() (names string) {
		for _, k := range g.Removals() {
			names += k.Key
		}
		return names
	}
	if got := order(); got != "cab" {
		t.Errorf("open: %s", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if g = open(t, openStore(t, fs)); order() != "cab" {
		t.Errorf("open after a restart: %s", order())
	}
}
