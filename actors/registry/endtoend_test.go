package registry

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

func e2eID(n int) string { return fmt.Sprintf("E99999004202603011200%011d", n) }

// TestReservationsAreApart checks that no row of an account begins as a reservation's does:
// both are in one store, and ranges of an account's rows are read by their keys.
func TestReservationsAreApart(t *testing.T) {
	key := reservationKey(e2eID(1))
	if name := layout.RowName(key); name != "" {
		t.Errorf("a reservation's row is also a ledger's %s row", name)
	}
	lo, hi := ReservationRange()
	if string(key) < string(lo) || string(key) >= string(hi) {
		t.Errorf("%q is outside of %q to %q", key, lo, hi)
	}
}

// TestReserveEndToEnd checks that the first account that reserves an id keeps it, also
// after a restart, and that a repeated reservation makes no record.
func TestReserveEndToEnd(t *testing.T) {
	fs := vfs.NewMem()
	s, err := wal.Open(wal.Options{Dir: "journal", FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	g := open(t, s)
	register(t, g, 1)
	register(t, g, 2)
	if ok, err := g.ReserveEndToEnd(3, e2eID(1)); ok || !errors.Is(err, ErrUnknownAccount) {
		t.Errorf("an account that is not there: %v %v", ok, err)
	}
	expect := func(g *Registry, a pix.AccountID, n int, want bool, records uint64) {
		t.Helper()
		before := g.ids.machine.Seq
		if ok, err := g.ReserveEndToEnd(a, e2eID(n)); ok != want || err != nil {
			t.Errorf("%v reserves %d: %v %v", a, n, ok, err)
		}
		if made := g.ids.machine.Seq - before; made != records {
			t.Errorf("%v reserves %d: %d records", a, n, made)
		}
	}
	for n := range 100 {
		expect(g, 1, n, true, 1)
		expect(g, 1, n, true, 0)
		expect(g, 2, n, false, 0)
		if waiting := len(g.ids.machine.order); waiting > 1 || len(g.ids.machine.owner) != waiting {
			t.Fatalf("%d reservations are held in memory", waiting)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	g = open(t, openStore(t, fs))
	if held := g.ids.machine; held.owner != nil || held.order != nil {
		t.Errorf("after a restart %d reservations are held in memory", len(held.order))
	}
	expect(g, 2, 7, false, 0)
	expect(g, 1, 7, true, 0)
	expect(g, 2, 1000, true, 1)
	expect(g, 1, 1000, false, 0)
}

// TestReserveAtOnce checks that, of two accounts that reserve the same id at the same time,
// exactly one gets the id, and that repeated requests get the same answers.
func TestReserveAtOnce(t *testing.T) {
	g := open(t, openStore(t, vfs.NewMem()))
	register(t, g, 1)
	register(t, g, 2)
	const ids = 200
	var got [2][ids]bool
	var work sync.WaitGroup
	for a := range 2 {
		for w := range 8 {
			work.Go(func() {
				for n := w; n < ids; n += 8 {
					ok, err := g.ReserveEndToEnd(pix.AccountID(a+1), e2eID(n))
					if err != nil {
						t.Error(err)
					}
					got[a][n] = ok
				}
			})
		}
	}
	work.Wait()
	for n := range ids {
		if got[0][n] == got[1][n] {
			t.Errorf("id %d: both were reported %v", n, got[0][n])
		}
		if again, err := g.ReserveEndToEnd(1, e2eID(n)); err != nil || again != got[0][n] {
			t.Errorf("id %d: reported %v, then %v %v", n, got[0][n], again, err)
		}
	}
}

// TestReservationIsDurable checks that both the account that gets an id and an account that
// does not are answered only once the reservation is durable.
func TestReservationIsDurable(t *testing.T) {
	h := &held{Journal: openStore(t, vfs.NewMem())}
	g := open(t, h)
	done := make(chan error, 1)
	go func() { _, err := g.RegisterAccount(1, true, ledger.Settings{}, evp(1)); done <- err }()
	h.await(t, 1)
	h.release(t)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	go func() { _, err := g.RegisterAccount(2, true, ledger.Settings{}, evp(2)); done <- err }()
	h.await(t, 1)
	h.release(t)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	answers := make(chan bool, 3)
	for n, a := range []pix.AccountID{1, 2, 1} {
		go func() {
			ok, err := g.ReserveEndToEnd(a, e2eID(1))
			if err != nil {
				t.Error(err)
			}
			answers <- ok
		}()
		h.await(t, n+1)
	}
	for _, want := range []bool{true, false, true} {
		select {
		case ok := <-answers:
			t.Fatalf("answered %v before it was durable", ok)
		default:
		}
		h.release(t)
		if ok := <-answers; ok != want {
			t.Errorf("reported %v", ok)
		}
	}
}

// TestReserveUsed checks that an id under which an account has a payout belongs to that
// account. It also checks that, where the engine has computed an id for an account, all ids
// with the same last 11 characters belong to that account, whatever their minute.
func TestReserveUsed(t *testing.T) {
	s := openStore(t, vfs.NewMem())
	g := open(t, s)
	register(t, g, 1)
	register(t, g, 2)
	row := append(make([]byte, 7), 1) // an end-to-end row begins with the account, here account 1; the reservation reads no other byte of it
	row = append(row, make([]byte, 24)...)
	done := make(chan error, 1)
	s.Append(&wal.Entry{Out: []wal.Out{&publication{done: done}}, Ops: []wal.Op{
		{Kind: wal.OpSet, Key: layout.EndToEndKey(e2eID(1)), Value: row},
		{Kind: wal.OpSet, Key: layout.SuffixKey(e2eID(2)[21:]), Value: row},
		{Kind: wal.OpSet, Key: layout.EndToEndKey(e2eID(3)), Value: []byte("short")},
	}})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	nextMinute := pix.EndToEnd("99999004", 1772366400000+60_000, e2eID(2)[21:])
	for _, c := range []struct {
		account pix.AccountID
		id      string
		want    bool
		records uint64
	}{
		{2, e2eID(1), false, 0},
		{1, e2eID(1), true, 1},
		{2, e2eID(1), false, 0},
		{2, e2eID(2), false, 0},
		{2, nextMinute, false, 0},
		{1, nextMinute, true, 1},
		{1, e2eID(2), true, 1},
		{2, e2eID(2), false, 0},
	} {
		before := g.ids.machine.Seq
		if ok, err := g.ReserveEndToEnd(c.account, c.id); ok != c.want || err != nil || g.ids.machine.Seq-before != c.records {
			t.Errorf("%v reserves %s: %v %v, %d records", c.account, c.id, ok, err, g.ids.machine.Seq-before)
		}
	}
	if ok, err := g.ReserveEndToEnd(1, e2eID(3)); ok || err == nil {
		t.Errorf("a row that cannot be read: %v %v", ok, err)
	}
}

// TestNamesOfWhatIsStored checks the names of the registry's rows and streams, and that nothing else is taken for one.
func TestNamesOfWhatIsStored(t *testing.T) {
	for want, key := range map[string][]byte{
		"reservation":    reservationKey(e2eID(1)),
		"operator":       deskKey(rowOperator, []byte("ana")),
		"action":         actionKey(1),
		"first approval": deskKey(rowApproval, make([]byte, 16)),
	} {
		if got := RowName(key); got != want {
			t.Errorf("%q is named %q, want %q", key, got, want)
		}
	}
	for _, key := range [][]byte{nil, {}, {rowDesk}, {rowDesk, 0}, []byte("t"), layout.EndToEndKey(e2eID(1))} {
		if got := RowName(key); got != "" {
			t.Errorf("%q is named %q", key, got)
		}
	}
	for stream, want := range map[wal.Stream]string{Stream: "registry", ReservationStream: "reservations", OperatorStream: "operators", 1: "", wal.Stream(pix.LastAccountID): ""} {
		if got := StreamName(stream); got != want || Owns(stream) != (want != "") {
			t.Errorf("stream %d is %q, the registry's: %v", stream, got, Owns(stream))
		}
	}
}
