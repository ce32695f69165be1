package sim

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"pixd/actors/pix"
	"pixd/wal"
)

// readOnly opens a pump's rows to be read alone.
func (p *pump) readOnly() *Sim {
	p.t.Helper()
	s, err := Open(Options{Store: p.shelf, ReadOnly: true, Now: func() pix.Millis { return p.at }, Entropy: draw})
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// TestReadOnlyBook checks that a book which is only read has the sums of all movements, also
// where many were never added up, and that nothing changes it.
func TestReadOnlyBook(t *testing.T) {
	p := newPump(t)
	p.pay("AA", "ana@example.com", 10)
	p.at += 2000
	if err := p.addUp(); err != nil {
		t.Fatal(err)
	}
	p.pay("BB", "ana@example.com", 500)
	p.at += 2000
	before, want := maps.Clone(p.shelf.rows), p.book()
	s := p.readOnly()
	s.unadded.Store(addEvery)
	got, err := s.Book(t.Context())
	if err != nil || len(got.Accounts) != 1 || got.Accounts[0] != want.Accounts[0] || got.Accounts[0].Sent != 510 || got.OldestOpen != want.OldestOpen {
		t.Errorf("%+v %v, want %+v", got, err, want)
	}
	if page, _, err := s.Settled(t.Context(), 0, "", 10); len(page) != 2 || err != nil {
		t.Errorf("%+v %v", page, err)
	}
	_, _, paid := s.Pay(t.Context(), Payment{Key: shop.Value, Amount: 5})
	capacity, key := s.SetCapacity(t.Context(), ClientLimited), s.DeregisterKey(t.Context(), shop, 7)
	for _, err := range []error{paid, capacity, key} {
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("%v, %v, %v", paid, capacity, key)
		}
	}
	if !maps.Equal(before, p.shelf.rows) {
		t.Error("the book has changed")
	}
}

// TestReadOnlyBookMustBeWhole checks that a book without the mark of its sums, or none at all, is
// refused, and that nothing is made.
func TestReadOnlyBookMustBeWhole(t *testing.T) {
	fs := vfs.NewMem()
	writes := func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose && op.Kind != errorfs.OpLock {
			t.Errorf("%v", op)
		}
		return nil
	}
	none := func(want string) {
		t.Helper()
		_, err := Open(Options{Dir: "sim", FS: errorfs.Wrap(fs, errorfs.InjectorFunc(writes)), ReadOnly: true, Now: now, Entropy: draw})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	none("sim")
	store, err := wal.Open(wal.Options{Dir: "sim", FS: fs, Hard: map[string]string{"book": bookFormat}})
	if err == nil {
		err = store.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	none("open it once")
}
