package registry

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

func fixed() pix.Millis { return 1772366400000 }

func openStore(t testing.TB, fs wal.FS) *wal.Store {
	t.Helper()
	s, err := wal.Open(wal.Options{Dir: "journal", FS: fs, MemTableBytes: 1 << 20, CacheBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func open(t testing.TB, j Journal) *Registry {
	t.Helper()
	g, err := Open(j, fixed)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func evp(n int) pix.Key {
	return pix.Key{Type: pix.KeyEVP, Value: fmt.Sprintf("%08x-0000-4000-8000-000000000000", n)}
}

func register(t testing.TB, g *Registry, n int) *Account {
	t.Helper()
	a, err := g.RegisterAccount(pix.AccountID(n), true, ledger.DefaultSettings(), evp(n))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// all lists every entry that readers see, as text.
func (g *Registry) all() string {
	ids, _ := g.Accounts(0, 1<<20)
	s := fmt.Sprintln(ids)
	for _, id := range ids {
		a, _ := g.Account(id)
		shown, opening := *a, a.Opening
		shown.Opening = nil
		s += fmt.Sprintf("%+v %+v\n", shown, *opening)
		for _, c := range a.APIKeys {
			k, _ := g.APIKey(c)
			shown := *k
			shown.uses = nil
			s += fmt.Sprintf("%+v\n", shown)
		}
		for _, p := range a.PixKeys {
			k, _ := g.PixKey(p)
			s += fmt.Sprintf("%+v\n", *k)
		}
	}
	return s
}

// TestReplay checks that a registry that is rebuilt from the stream has the entries that
// readers saw before, and that the next change continues the chain of records.
func TestReplay(t *testing.T) {
	fs := vfs.NewMem()
	s, err := wal.Open(wal.Options{Dir: "journal", FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	g := open(t, s)
	for n := range 3 {
		register(t, g, n+1)
	}
	steps := []error{
		g.SetActive(2, false),
		second(g.ReservePixKey(1, pix.Key{Type: pix.KeyEmail, Value: "a@example.com"})),
		registered(g, evp(1).Value),
		second(g.MakeAPIKey(APIKey{ClientID: "cli_1", Account: 3, Permissions: PixRead, Whitelist: []string{"127.0.0.1", "x"}})),
		second(g.ChangeAPIKey("cli_1", func(k *APIKey) { k.Permissions, k.ExpiresAt = AllPermissions, 5 })),
	}
	if err := errors.Join(steps...); err != nil {
		t.Fatal(err)
	}
	before := g.all()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := openStore(t, fs)
	g = open(t, again)
	if after := g.all(); after != before {
		t.Errorf("after a restart:\n%s\nbefore:\n%s", after, before)
	}
	register(t, g, 4)
	if ids, next := open(t, again).Accounts(0, 9); len(ids) != 4 || next != -1 {
		t.Errorf("a third start has %v", ids)
	}
}

// registered notes that the scheme has a key.
func registered(g *Registry, key string) error {
	k, _ := g.PixKey(key)
	return g.RegisteredPixKey(k)
}

func second[T any](_ T, err error) error { return err }

// TestRefusals checks that the machine's refusals reach the caller, and that a refused
// change journals no record.
func TestRefusals(t *testing.T) {
	g := open(t, openStore(t, vfs.NewMem()))
	register(t, g, 1)
	register(t, g, 2)
	seq := g.machine.Seq
	for name, c := range map[string]struct{ got, want error }{
		"account again":          {second(g.RegisterAccount(1, true, ledger.Settings{}, evp(9))), ErrExists},
		"under another's key":    {second(g.RegisterAccount(3, true, ledger.Settings{}, evp(1))), ErrKeyTaken},
		"another's key":          {second(g.ReservePixKey(2, evp(1))), ErrKeyTaken},
		"key of nobody":          {second(g.ReservePixKey(9, evp(9))), ErrUnknownAccount},
		"own key again":          {second(g.ReservePixKey(1, evp(1))), nil},
		"active already":         {g.SetActive(1, true), nil},
		"nobody active":          {g.SetActive(9, true), ErrUnknownAccount},
		"credential of nobody":   {second(g.MakeAPIKey(APIKey{ClientID: "c", Account: 9})), ErrUnknownAccount},
		"credential not there":   {second(g.ChangeAPIKey("c", func(*APIKey) {})), ErrUnknownKey},
		"registered of nobody's": {g.RegisteredPixKey(&PixKey{Key: "nobody's"}), nil},
		"removal of nobody's":    {second(g.RemovePixKey(1, "nobody's")), ErrNoKey},
		"removal of another's":   {second(g.RemovePixKey(1, evp(2).Value)), ErrNoKey},
		"removal of the last":    {second(g.RemovePixKey(1, evp(1).Value)), ErrLastKey},
		"removal from nobody":    {second(g.RemovePixKey(9, evp(1).Value)), ErrUnknownAccount},
		"told of no removal":     {g.UnlistedPixKey(&PixKey{Key: evp(1).Value}), nil},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	if g.machine.Seq != seq {
		t.Errorf("refusals made %d records", g.machine.Seq-seq)
	}
}

// held is a journal that accepts entries and reports them as durable only when release is
// called.
type held struct {
	Journal
	mu   sync.Mutex
	outs []wal.Out
	err  error // the result that release reports for the entries; nil: they are durable
}

func (h *held) Append(e *wal.Entry) wal.Ticket {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.outs = append(h.outs, e.Out...)
	return wal.Ticket(len(h.outs))
}

// await waits until n entries have been appended.
func (h *held) await(t *testing.T, n int) {
	t.Helper()
	for range 2000 {
		h.mu.Lock()
		have := len(h.outs)
		h.mu.Unlock()
		if have >= n {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%d entries never came", n)
}

func (h *held) release(t *testing.T) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.outs) == 0 {
		t.Fatal("nothing to release")
	}
	h.outs[0].Release(h.err)
	h.outs = h.outs[1:]
}

// TestReadersSeeWhatIsDurable checks that a change becomes visible, and its caller gets the
// result, only once the change is durable. A repeat of the change waits for the same
// record.
func TestReadersSeeWhatIsDurable(t *testing.T) {
	h := &held{Journal: openStore(t, vfs.NewMem())}
	g := open(t, h)
	first, again := make(chan error, 1), make(chan error, 1)
	go func() { first <- second(g.RegisterAccount(1, true, ledger.Settings{}, evp(1))) }()
	h.await(t, 1)
	go func() { again <- second(g.ReservePixKey(1, evp(1))) }() // makes no record, but was decided on a record that is not durable yet
	h.await(t, 2)
	select {
	case err := <-first:
		t.Fatalf("answered before it was durable: %v", err)
	case err := <-again:
		t.Fatalf("the repeat was answered before what it repeats was durable: %v", err)
	default:
	}
	_, account := g.Account(1)
	_, pix := g.PixKey(evp(1).Value)
	if ids, _ := g.Accounts(0, 9); account || pix || len(ids) > 0 || len(g.Unregistered()) > 0 {
		t.Fatal("readers saw what was not durable")
	}
	h.release(t)
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	if a, ok := g.Account(1); !ok || !slices.Equal(a.PixKeys, []string{evp(1).Value}) || len(g.Unregistered()) != 1 {
		t.Errorf("shown as %+v", a)
	}
	h.release(t)
	if err := <-again; err != nil {
		t.Error(err)
	}
}

// TestRefusedEntry checks that, when the journal refuses a change's entry, the caller gets
// an error and readers never see the change.
func TestRefusedEntry(t *testing.T) {
	h := &held{Journal: openStore(t, vfs.NewMem()), err: wal.ErrSequence}
	g := open(t, h)
	done := make(chan error, 1)
	go func() { done <- second(g.RegisterAccount(1, true, ledger.Settings{}, evp(1))) }()
	h.await(t, 1)
	h.release(t)
	if err := <-done; !errors.Is(err, wal.ErrSequence) {
		t.Errorf("answered %v", err)
	}
	if _, ok := g.Account(1); ok {
		t.Error("an entry that was refused is shown")
	}
}

// TestReplayStops checks that Open fails at the first record of an unknown kind.
func TestReplayStops(t *testing.T) {
	s := openStore(t, vfs.NewMem())
	done := make(chan error, 1)
	sealed := wal.Seal(0, wal.Record{Stream: Stream, Seq: 1, Kind: 99, Time: 1})
	s.Append(&wal.Entry{Stream: Stream, Records: []wal.Sealed{sealed}, Out: []wal.Out{&publication{done: done}}})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if _, err := Open(s, fixed); err == nil || err.Error() != "registry: replay: registry: record 1: unknown kind 99" {
		t.Errorf("opened with %v", err)
	}
}

// TestClockGoesBack checks that the times of records do not go back when the clock does.
func TestClockGoesBack(t *testing.T) {
	s := openStore(t, vfs.NewMem())
	now := pix.Millis(100)
	g, err := Open(s, func() pix.Millis { return now })
	if err != nil {
		t.Fatal(err)
	}
	register(t, g, 1)
	now = 50
	if a := register(t, g, 2); a.CreatedAt != 100 {
		t.Errorf("created at %d after the clock went back", a.CreatedAt)
	}
	open(t, s)
}

// TestAccountsInPages checks that Accounts lists every account once, for any page size.
func TestAccountsInPages(t *testing.T) {
	g := open(t, openStore(t, vfs.NewMem()))
	for n := range 7 {
		register(t, g, n+1)
	}
	for limit := 1; limit <= 8; limit++ {
		var got []pix.AccountID
		for from := 0; from >= 0; {
			var page []pix.AccountID
			page, from = g.Accounts(from, limit)
			got = append(got, page...)
		}
		if fmt.Sprint(got) != "[acc_aaaaaaaaaaaac acc_aaaaaaaaaaaae acc_aaaaaaaaaaaag acc_aaaaaaaaaaaai acc_aaaaaaaaaaaak acc_aaaaaaaaaaaam acc_aaaaaaaaaaaao]" {
			t.Errorf("pages of %d: %v", limit, got)
		}
	}
	if ids, next := g.Accounts(99, 5); len(ids) != 0 || next != -1 {
		t.Errorf("beyond the end: %v %d", ids, next)
	}
	if ids, _ := g.Accounts(-3, 1); len(ids) != 1 {
		t.Errorf("before the start: %v", ids)
	}
}

// TestManyAtOnce checks that, when many accounts want the same PIX key, exactly one account
// gets it, and that readers always see an account together with its first key.
func TestManyAtOnce(t *testing.T) {
	g := open(t, openStore(t, vfs.NewMem()))
	wanted := pix.Key{Type: pix.KeyEmail, Value: "wanted@example.com"}
	var work sync.WaitGroup
	var mu sync.Mutex
	outcomes := map[error]int{}
	for n := range 16 {
		work.Go(func() {
			register(t, g, n+1)
			if a, ok := g.Account(pix.AccountID(n + 1)); !ok || len(a.PixKeys) == 0 {
				t.Errorf("account %d is shown as %+v", n+1, a)
			}
			_, err := g.ReservePixKey(pix.AccountID(n+1), wanted)
			mu.Lock()
			outcomes[err]++
			mu.Unlock()
			if k, ok := g.PixKey(wanted.Value); !ok || k.Account == 0 {
				t.Errorf("after the answer the key is %+v", k)
			}
		})
		work.Go(func() {
			for range 200 {
				ids, _ := g.Accounts(0, 100)
				for _, id := range ids {
					if _, ok := g.Account(id); !ok {
						t.Errorf("%v is listed and not there", id)
					}
				}
			}
		})
	}
	work.Wait()
	if want := map[error]int{nil: 1, ErrKeyTaken: 15}; !maps.Equal(outcomes, want) {
		t.Errorf("outcomes %v", outcomes)
	}
}

// TestNewUses checks that newUses reports each use of an API key once, also after a change
// of the key, and does not report a time that was set by remember.
func TestNewUses(t *testing.T) {
	g := open(t, openStore(t, vfs.NewMem()))
	register(t, g, 1)
	for _, id := range []string{"cli_1", "cli_2", "cli_3"} {
		if _, err := g.MakeAPIKey(APIKey{ClientID: id, Account: 1}); err != nil {
			t.Fatal(err)
		}
	}
	reported := func() map[string]pix.Millis {
		all := map[string]pix.Millis{}
		if err := g.newUses(func(id string, at pix.Millis) error { all[id] = at; return nil }); err != nil {
			t.Fatal(err)
		}
		return all
	}
	expect := func(want map[string]pix.Millis) {
		t.Helper()
		if got := reported(); !maps.Equal(got, want) {
			t.Errorf("reported %v, want %v", got, want)
		}
	}
	expect(nil)
	g.remember("cli_1", 7)
	g.remember("cli_gone", 7)
	expect(nil)
	k, _ := g.APIKey("cli_1")
	if k.LastUsed() != 7 {
		t.Errorf("remembered %v", k.LastUsed())
	}
	second, _ := g.APIKey("cli_2")
	second.Used(8)
	if _, err := g.ChangeAPIKey("cli_2", func(k *APIKey) { k.Active = false }); err != nil {
		t.Fatal(err)
	}
	k.Used(9)
	broken := errors.New("broken")
	if err := g.newUses(func(string, pix.Millis) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	expect(map[string]pix.Millis{"cli_1": 9, "cli_2": 8})
	expect(nil)
	second.Used(10) // this use is noted in an entry that was replaced meanwhile, and counts for the new entry
	expect(map[string]pix.Millis{"cli_2": 10})
}

// TestSetActiveKeepsKeys checks that making an account inactive and active again keeps its
// lists of keys, for readers and after a replay.
func TestSetActiveKeepsKeys(t *testing.T) {
	s := openStore(t, vfs.NewMem())
	g := open(t, s)
	register(t, g, 1)
	if _, err := g.MakeAPIKey(APIKey{ClientID: "cli_1", Account: 1}); err != nil {
		t.Fatal(err)
	}
	for _, active := range []bool{false, true} {
		if err := g.SetActive(1, active); err != nil {
			t.Fatal(err)
		}
		for name, r := range map[string]*Registry{"now": g, "after a replay": open(t, s)} {
			a, _ := r.Account(1)
			if a.Active != active || !slices.Equal(a.APIKeys, []string{"cli_1"}) || !slices.Equal(a.PixKeys, []string{evp(1).Value}) {
				t.Errorf("%s, active %v: %+v", name, active, a)
			}
		}
	}
}
