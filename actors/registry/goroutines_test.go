package registry

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/pix"
	"pixd/wal"
)

// afterCut opens the registry on the files that a simulated power failure has left.
func afterCut(t *testing.T, disk *vfs.MemFS) (*Registry, *wal.Store) {
	t.Helper()
	s, err := wal.Open(wal.Options{
		Dir: "journal", FS: disk, MemTableBytes: 1 << 20, CacheBytes: 1 << 20, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return open(t, s), s
}

// TestReadersUnderChanges checks that, while several goroutines change entries, every entry
// that a reader saw survives a simulated power failure right after the read. It also checks
// that the entries of one read are consistent: the keys that an account lists exist.
func TestReadersUnderChanges(t *testing.T) {
	disk := vfs.NewCrashableMem()
	g := open(t, openStore(t, disk))
	var stop atomic.Bool
	var work sync.WaitGroup
	for w := range 4 {
		work.Go(func() {
			for n := w; !stop.Load(); n += 4 {
				id := pix.AccountID(n + 1)
				register(t, g, n+1)
				name := fmt.Sprint("cli_", n)
				for _, err := range []error{
					second(g.MakeAPIKey(APIKey{ClientID: name, Account: id})),
					g.SetActive(id, false),
					second(g.ChangeAPIKey(name, func(k *APIKey) { k.Active = false })),
					second(g.ReservePixKey(id, pix.Key{Type: pix.KeyEmail, Value: fmt.Sprintf("%d@example.com", n)})),
					registered(g, evp(n+1).Value),
				} {
					if err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	work.Go(func() {
		for !stop.Load() {
			look(t, g) // look fails the test if the entries are not consistent at this moment
		}
	})
	const looks = 20
	var seen [looks]looked
	var kept [looks]*vfs.MemFS
	for n, before := 0, -1; n < looks; n++ {
		for ids, _ := g.Accounts(0, 1<<20); len(ids) <= before; ids, _ = g.Accounts(0, 1<<20) {
			time.Sleep(10 * time.Microsecond) // wait for a change between two looks
		}
		seen[n] = look(t, g)
		before = len(seen[n].accounts)
		kept[n] = disk.CrashClone(vfs.CrashCloneCfg{})
	}
	stop.Store(true)
	work.Wait()
	for n := range looks {
		g, s := afterCut(t, kept[n])
		seen[n].in(t, g)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// looked has the entries that a reader saw in one pass over a registry.
type looked struct {
	accounts []*Account
	apiKeys  []*APIKey
	pixKeys  []*PixKey
}

func look(t *testing.T, g *Registry) (l looked) {
	t.Helper()
	ids, _ := g.Accounts(0, 1<<20)
	for _, id := range ids {
		a, ok := g.Account(id)
		if !ok {
			t.Errorf("%v is listed and not there", id)
			continue
		}
		l.accounts = append(l.accounts, a)
		for _, name := range a.APIKeys {
			k, ok := g.APIKey(name)
			if !ok {
				t.Errorf("%v lists %s, which is not there", id, name)
				continue
			}
			l.apiKeys = append(l.apiKeys, k)
		}
		for _, key := range a.PixKeys {
			k, ok := g.PixKey(key)
			if !ok {
				t.Errorf("%v lists %s, which is not there", id, key)
				continue
			}
			l.pixKeys = append(l.pixKeys, k)
		}
	}
	return l
}

// in checks that registry g has every entry in l, in the same or a later state. A later
// state is easy to tell, because in this test a flag changes only once and lists only grow.
func (l *looked) in(t *testing.T, g *Registry) {
	t.Helper()
	for _, seen := range l.accounts {
		if a, ok := g.Account(seen.ID); !ok || a.Active && !seen.Active || len(a.APIKeys) < len(seen.APIKeys) || len(a.PixKeys) < len(seen.PixKeys) {
			t.Errorf("a reader saw %+v, and after the cut there is %+v", seen, a)
		}
	}
	for _, seen := range l.apiKeys {
		if k, ok := g.APIKey(seen.ClientID); !ok || k.Active && !seen.Active {
			t.Errorf("a reader saw the API key %s, and after the cut there is %+v", seen.ClientID, k)
		}
	}
	for _, seen := range l.pixKeys {
		if k, ok := g.PixKey(seen.Key); !ok || seen.Registered && !k.Registered {
			t.Errorf("a reader saw the PIX key %s, and after the cut there is %+v", seen.Key, k)
		}
	}
}

// TestReserveByMany checks that, when many goroutines of several accounts reserve one
// end-to-end id, all goroutines of exactly one account succeed. A simulated power failure
// right after the first success leaves that account's reservation.
func TestReserveByMany(t *testing.T) {
	const accounts, each = 6, 4
	disk := vfs.NewCrashableMem()
	g := open(t, openStore(t, disk))
	for n := range accounts {
		register(t, g, n+1)
	}
	for n := range 25 {
		var reported [accounts]atomic.Int64
		var first atomic.Bool
		var kept *vfs.MemFS
		var work sync.WaitGroup
		start := make(chan struct{})
		for a := range accounts {
			for range each {
				work.Go(func() {
					<-start
					ok, err := g.ReserveEndToEnd(pix.AccountID(a+1), e2eID(n))
					if first.CompareAndSwap(false, true) {
						kept = disk.CrashClone(vfs.CrashCloneCfg{})
					}
					if err != nil {
						t.Error(err)
					}
					if ok {
						reported[a].Add(1)
					}
				})
			}
		}
		close(start)
		work.Wait()
		winner := 0
		for a := range reported {
			if got := reported[a].Load(); got != 0 && got != each || got == each && winner != 0 {
				t.Fatalf("id %d: account %d was reported so %d times, and %d has it", n, a+1, got, winner)
			} else if got == each {
				winner = a + 1
			}
		}
		again, s := afterCut(t, kept)
		for a := range accounts {
			if ok, err := again.ReserveEndToEnd(pix.AccountID(a+1), e2eID(n)); err != nil || ok != (a+1 == winner) {
				t.Errorf("id %d: after the cut account %d is reported %v %v, and %d had it", n, a+1, ok, err, winner)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// halting is a journal whose reads, while it is set, wait with what they have read until goOn is closed, and say that they do.
type halting struct {
	*wal.Store
	set         atomic.Bool
	waits, goOn chan struct{}
}

// Get implements layout.Getter.
func (h *halting) Get(key []byte) ([]byte, bool, error) {
	waits := h.set.Load()
	v, ok, err := h.Store.Get(key)
	if waits {
		h.waits <- struct{}{}
		<-h.goOn
	}
	return v, ok, err
}

func openHalting(t *testing.T) (*halting, *Registry) {
	t.Helper()
	h := &halting{Store: openStore(t, vfs.NewMem()), waits: make(chan struct{}, 100), goOn: make(chan struct{})}
	g := open(t, h)
	for n := range 2 {
		register(t, g, n+1)
	}
	return h, g
}

// TestReservationsReadAtOnce checks that reservations of several ids read their rows beside each other: on a slow disk
// one account's would hold up everybody's.
func TestReservationsReadAtOnce(t *testing.T) {
	h, g := openHalting(t)
	h.set.Store(true)
	var work sync.WaitGroup
	const ids = 4
	for n := range ids {
		work.Go(func() {
			if ok, err := g.ReserveEndToEnd(pix.AccountID(n%2+1), e2eID(n)); !ok || err != nil {
				t.Error(ok, err)
			}
		})
	}
	for n := range ids {
		select {
		case <-h.waits:
		case <-time.After(10 * time.Second):
			t.Errorf("%d reservations read at once", n)
		}
	}
	h.set.Store(false)
	close(h.goOn)
	work.Wait()
}

// TestReservationWhileReading checks that an id goes to one account where another reserves it while the first reads its
// rows, though that reservation would be durable and no more in memory by then.
func TestReservationWhileReading(t *testing.T) {
	h, g := openHalting(t)
	var got [2]bool
	var work sync.WaitGroup
	reserve := func(a int) {
		work.Go(func() {
			var err error
			if got[a], err = g.ReserveEndToEnd(pix.AccountID(a+1), e2eID(1)); err != nil {
				t.Error(err)
			}
		})
	}
	h.set.Store(true)
	reserve(0)
	<-h.waits
	h.set.Store(false)
	reserve(1)
	time.Sleep(50 * time.Millisecond)
	for n := range 3 { // what is durable leaves the memory
		if ok, err := g.ReserveEndToEnd(1, e2eID(2+n)); !ok || err != nil {
			t.Error(ok, err)
		}
	}
	close(h.goOn)
	work.Wait()
	if got[0] == got[1] {
		t.Errorf("both were told %v", got[0])
	}
}
