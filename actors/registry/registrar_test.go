package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
	"pixd/wal/waltest"
)

// pickyScheme is a scheme that refuses some keys.
type pickyScheme struct {
	refuses  map[string]bool
	reported []string
}

// RegisterKey implements Directory.
func (p *pickyScheme) RegisterKey(_ context.Context, k pix.Key, _ pix.AccountID) error {
	return p.hear(k)
}

// DeregisterKey implements Directory.
func (p *pickyScheme) DeregisterKey(_ context.Context, k pix.Key, _ pix.AccountID) error {
	return p.hear(k)
}

func (p *pickyScheme) hear(k pix.Key) error {
	p.reported = append(p.reported, k.Value)
	if p.refuses[k.Value] || p.refuses["all"] {
		return errors.New("no")
	}
	return nil
}

// TestRemindGoesOn checks that a key which the scheme refuses does not delay the other keys,
// that a pass ends when the scheme refuses every key, and that the next pass begins with the
// keys that were not reached.
func TestRemindGoesOn(t *testing.T) {
	var keys []*PixKey
	r, _, _ := newRegistrar(t)
	for n := range 10 {
		k, err := r.Registry.ReservePixKey(1, pix.Key{Type: pix.KeyEVP, Value: fmt.Sprint("k", n)})
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, k)
	}
	s := &pickyScheme{refuses: map[string]bool{"k0": true, "k1": true, "k2": true, "k5": true}}
	r.Scheme = s
	names := func(keys []*PixKey) (all []string) {
		for _, k := range keys {
			all = append(all, k.Key)
		}
		return all
	}
	left := r.pass(t.Context(), keys, r.remind)
	if got := names(left); !slices.Equal(got, []string{"k3", "k4", "k5", "k6", "k7", "k8", "k9", "k0", "k1", "k2"}) {
		t.Errorf("after three failures %v are left", got)
	}
	left = r.pass(t.Context(), left, r.remind)
	if got := names(left); !slices.Equal(got, []string{"k5", "k0", "k1", "k2"}) {
		t.Errorf("%v are left", got)
	}
	s.refuses = nil
	if left = r.pass(t.Context(), left, r.remind); len(left) != 0 {
		t.Errorf("%v are left", names(left))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	s.reported = nil
	if left = r.pass(ended, keys, r.remind); len(left) != 10 || len(s.reported) != 0 {
		t.Errorf("at the end %v were reported", s.reported)
	}
}

// TestRoundsReachEveryKey checks that keys which the scheme refuses, as many as end a pass,
// keep neither new keys nor removals behind them waiting for longer than one round.
func TestRoundsReachEveryKey(t *testing.T) {
	r, _, _ := newRegistrar(t)
	s := &pickyScheme{refuses: map[string]bool{"k0": true, "k1": true, "k2": true}}
	r.Scheme = s
	for n := range 6 {
		if _, err := r.Registry.ReservePixKey(1, pix.Key{Type: pix.KeyEVP, Value: fmt.Sprint("k", n)}); err != nil {
			t.Fatal(err)
		}
	}
	rounds := func(what string, waiting func() []*PixKey) {
		t.Helper()
		for round, want := range []int{6, 3} {
			if r.Round(t.Context()); len(waiting()) != want {
				t.Errorf("after round %d %d %s wait, want %d", round+1, len(waiting()), what, want)
			}
		}
		s.refuses = nil
		if r.Round(t.Context()); len(waiting()) != 0 {
			t.Errorf("%d %s still wait", len(waiting()), what)
		}
	}
	rounds("new keys", r.Registry.Unregistered)
	s.refuses = map[string]bool{"k0": true, "k1": true, "k2": true}
	for n := range 6 {
		if _, err := r.Registry.RemovePixKey(1, fmt.Sprint("k", n)); err != nil {
			t.Fatal(err)
		}
	}
	rounds("removals", r.Registry.Removals)
}

// remembering is a scheme that has keys. It fails while down is set, and calls during, if
// set, while it registers a key.
type remembering struct {
	has    map[string]pix.AccountID
	down   bool
	during func()
	calls  []string
}

func (s *remembering) RegisterKey(_ context.Context, k pix.Key, a pix.AccountID) error {
	s.calls = append(s.calls, fmt.Sprint("register ", k.Value, " ", uint64(a)))
	if s.down {
		return errors.New("down")
	}
	if s.during != nil {
		s.during()
	}
	s.has[k.Value] = a
	return nil
}

func (s *remembering) DeregisterKey(_ context.Context, k pix.Key, a pix.AccountID) error {
	s.calls = append(s.calls, fmt.Sprint("deregister ", k.Value, " ", uint64(a)))
	if s.down {
		return errors.New("down")
	}
	if s.has[k.Value] == a {
		delete(s.has, k.Value)
	}
	return nil
}

// newRegistrar returns a registrar over a registry with two accounts.
func newRegistrar(t *testing.T) (*Registrar, *remembering, func() *Registrar) {
	j := waltest.NewInMemory()
	s := &remembering{has: map[string]pix.AccountID{}}
	opened := func() *Registrar {
		g, err := Open(settling{j}, func() pix.Millis { return 1772366400000 })
		if err != nil {
			t.Fatal(err)
		}
		return &Registrar{Registry: g, Scheme: s, Log: slog.New(slog.DiscardHandler), Timeout: time.Second}
	}
	r := opened()
	for n := range 2 {
		evp := pix.Key{Type: pix.KeyEVP, Value: fmt.Sprint("first", n+1)}
		if _, err := r.Registry.RegisterAccount(pix.AccountID(n+1), true, ledger.DefaultSettings(), evp); err != nil {
			t.Fatal(err)
		}
		r.Tell(evp.Value)
	}
	s.calls = nil
	return r, s, opened
}

// settling is a journal that makes every entry durable at once.
type settling struct{ *waltest.InMemory }

func (s settling) Append(e *wal.Entry) wal.Ticket {
	defer s.Settle()
	return s.InMemory.Append(e)
}

var shopKey = pix.Key{Type: pix.KeyEmail, Value: "k"}

// TestRegistrarTellsRemovalsFirst checks that the scheme hears of a removal before it hears of
// the key's next owner, and that a removal which it has not heard is told after a restart.
func TestRegistrarTellsRemovalsFirst(t *testing.T) {
	r, s, opened := newRegistrar(t)
	reserve := func(id pix.AccountID) {
		t.Helper()
		if _, err := r.Registry.ReservePixKey(id, shopKey); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(id pix.AccountID) {
		t.Helper()
		if _, err := r.Registry.RemovePixKey(id, "k"); err != nil {
			t.Fatal(err)
		}
	}
	reserve(1)
	r.Tell("k")
	s.down = true
	remove(1)
	if r.Tell("k") {
		t.Error("a scheme that is down was told")
	}
	reserve(2)
	if r.Tell("k") || s.has["k"] != 1 {
		t.Errorf("the scheme has %v", s.has)
	}
	s.down = false
	r = opened()
	if !r.Tell("k") || s.has["k"] != 2 || len(r.Registry.Removals()) != 0 {
		t.Errorf("the scheme has %v", s.has)
	}
	want := []string{"register k 1", "deregister k 1", "deregister k 1", "deregister k 1", "register k 2"}
	if !slices.Equal(s.calls, want) {
		t.Errorf("the scheme heard %q, want %q", s.calls, want)
	}
	if k, _ := r.Registry.PixKey("k"); !k.Registered {
		t.Errorf("the key is %+v", k)
	}
}

// TestRegistrarDuringRemoval checks that a key which is removed while it is being registered
// ends up unknown to the scheme, though the removal's own message must wait.
func TestRegistrarDuringRemoval(t *testing.T) {
	for name, first := range map[string]func(*Registrar) bool{
		"registered": func(r *Registrar) bool { return r.Tell("k") },
		"reminded": func(r *Registrar) bool {
			during := r.Scheme.(*remembering)
			meanwhile := during.during
			during.during = nil
			r.Tell("k")
			during.during = meanwhile
			return r.remind(t.Context(), "k")
		},
	} {
		r, s, _ := newRegistrar(t)
		if _, err := r.Registry.ReservePixKey(1, shopKey); err != nil {
			t.Fatal(err)
		}
		s.during = func() {
			s.during = nil
			if _, err := r.Registry.RemovePixKey(1, "k"); err != nil {
				t.Error(err)
			}
			if r.Tell("k") {
				t.Errorf("%s: the scheme was told of the removal before it has the key", name)
			}
		}
		first(r)
		if _, ours := r.Registry.PixKey("k"); ours || len(r.Registry.Removals()) != 1 {
			t.Errorf("%s: the key is ours: %v", name, ours)
		}
		left := r.pass(t.Context(), inTurn(nil, r.Registry.Removals()), r.news)
		if _, has := s.has["k"]; has || len(left)+len(r.Registry.Removals()) != 0 {
			t.Errorf("%s: the scheme has %v", name, s.has)
		}
		if r.remind(t.Context(), "k"); len(s.has) != 2 {
			t.Errorf("%s: a reminder brought the key back: %v", name, s.has)
		}
	}
}

// TestInTurn checks that keys which an earlier pass left go first, in its order, and that keys
// which no longer wait are dropped.
func TestInTurn(t *testing.T) {
	key := func(name string) *PixKey { return &PixKey{Key: name} }
	got := ""
	for _, k := range inTurn([]*PixKey{key("c"), key("gone"), key("a")}, []*PixKey{key("a"), key("b"), key("c")}) {
		got += k.Key
	}
	if got != "cab" {
		t.Errorf("the order is %s", got)
	}
}

// unwilling is a scheme that registers no key while refuses is set. It counts the registrations
// of each.
type unwilling struct {
	*remembering
	refuses atomic.Bool
	mu      sync.Mutex
	times   map[string]int
}

func (r *unwilling) RegisterKey(_ context.Context, k pix.Key, _ pix.AccountID) error {
	r.mu.Lock()
	r.times[k.Value]++
	r.mu.Unlock()
	if r.refuses.Load() {
		return errors.New("no")
	}
	return nil
}

func (r *unwilling) told(key string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.times[key]
}

// TestRegistrarGoesOn checks that keys which the scheme does not take are told again every
// retryEvery, for as long as it takes.
func TestRegistrarGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, _ := newRegistrar(t)
		s := &unwilling{times: map[string]int{}}
		s.refuses.Store(true)
		r.Scheme = s
		if _, err := r.Registry.ReservePixKey(1, pix.Key{Type: pix.KeyEVP, Value: "k0"}); err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		go r.Run(ctx)
		time.Sleep(3*retryEvery + time.Second)
		synctest.Wait()
		told := func() int { return s.told("k0") }
		if n := told(); n != 4 {
			t.Errorf("told %d times", n)
		}
		s.refuses.Store(false)
		time.Sleep(2 * retryEvery)
		synctest.Wait()
		if k, _ := r.Registry.PixKey("k0"); !k.Registered || told() != 5 {
			t.Errorf("%+v, told %d times", k, told())
		}
		end()
	})
}

// TestRoundReminds checks that, after a restart, the next round tells the scheme of each key again that it had taken
// before, once, and of no key that was removed since.
func TestRoundReminds(t *testing.T) {
	r, s, opened := newRegistrar(t)
	if _, err := r.Registry.ReservePixKey(1, shopKey); err != nil {
		t.Fatal(err)
	}
	r.Tell("k")
	r = opened()
	r.Begin(t.Context())
	if _, err := r.Registry.RemovePixKey(1, "k"); err != nil {
		t.Fatal(err)
	}
	s.calls = nil
	r.Round(t.Context())
	r.Round(t.Context())
	slices.Sort(s.calls)
	if want := []string{"deregister k 1", "register first1 1", "register first2 2"}; !slices.Equal(s.calls, want) {
		t.Errorf("the scheme heard %q, want %q", s.calls, want)
	}
}

// slowly is a scheme that takes 50 ms for each registration.
type slowly struct {
	*remembering
	mu sync.Mutex
}

// RegisterKey implements Directory.
func (s *slowly) RegisterKey(ctx context.Context, k pix.Key, a pix.AccountID) error {
	time.Sleep(50 * time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remembering.RegisterKey(ctx, k, a)
}

// DeregisterKey implements Directory.
func (s *slowly) DeregisterKey(ctx context.Context, k pix.Key, a pix.AccountID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remembering.DeregisterKey(ctx, k, a)
}

// heard returns what the scheme was told.
func (s *slowly) heard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// TestNewsBeforeReminders checks that neither a new key nor a removal waits behind the thousands of keys that the scheme
// is reminded of, which a scheme answers one after the other; and that it is reminded of each all the same.
func TestNewsBeforeReminders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, mem, opened := newRegistrar(t)
		reserve := func(name string) *PixKey {
			k, err := r.Registry.ReservePixKey(1, pix.Key{Type: pix.KeyEVP, Value: name})
			if err != nil {
				t.Error(err)
			}
			return k
		}
		const keys = 500
		for n := range keys {
			if err := r.Registry.RegisteredPixKey(reserve(fmt.Sprint("k", n))); err != nil {
				t.Error(err)
			}
		}
		reserve("waits")
		r = opened()
		mem.calls = nil
		s := &slowly{remembering: mem}
		r.Scheme, r.Forgetful = s, true
		ctx, end := context.WithCancel(t.Context())
		defer end()
		go r.Run(ctx)
		time.Sleep(3*time.Second + 10*time.Millisecond)
		if all := s.heard(); len(all) < 3 || !slices.Contains(all[:3], "register waits 1") {
			t.Errorf("the scheme hears first %q", all)
		}
		reserve("new")
		if _, err := r.Registry.RemovePixKey(1, "k7"); err != nil {
			t.Error(err)
		}
		time.Sleep(retryEvery)
		if told := s.heard(); !slices.Contains(told, "register new 1") || !slices.Contains(told, "deregister k7 1") {
			t.Errorf("in %v the scheme hears neither of a new key nor of a removal", retryEvery)
		}
		time.Sleep(2 * keys * 50 * time.Millisecond)
		end()
		time.Sleep(time.Second) // the call under way
		told := map[string]bool{}
		for _, call := range s.heard() {
			told[call] = true
		}
		for n := range keys {
			if name := fmt.Sprintf("register k%d 1", n); n != 7 && !told[name] {
				t.Errorf("the scheme was not told: %s", name)
			}
		}
	})
}

// TestAllKeysAreLeft checks that a start reminds the scheme of the keys of all accounts, of more than are read at a time.
func TestAllKeysAreLeft(t *testing.T) {
	const accounts = 1001 + 1000
	r, _, opened := newRegistrar(t)
	for n := 3; n <= accounts; n++ {
		evp := pix.Key{Type: pix.KeyEVP, Value: fmt.Sprint("first", n)}
		if _, err := r.Registry.RegisterAccount(pix.AccountID(n), true, ledger.DefaultSettings(), evp); err != nil {
			t.Fatal(err)
		}
		r.Tell(evp.Value)
	}
	r = opened()
	r.Begin(t.Context())
	if len(r.left) != accounts {
		t.Errorf("%d keys are left to remind of, want %d", len(r.left), accounts)
	}
}

// TestForgetfulScheme checks that a scheme which may lose its keys while the process runs is told again, round by round, of the
// keys of all accounts, and then from the first account on; and that another scheme is not.
func TestForgetfulScheme(t *testing.T) {
	for _, forgetful := range []bool{true, false} {
		r, s, _ := newRegistrar(t)
		r.Forgetful = forgetful
		const accounts = 2*remindAtOnce + 3
		for n := 3; n <= accounts; n++ {
			key := pix.Key{Type: pix.KeyEVP, Value: fmt.Sprint("first", n)}
			if _, err := r.Registry.RegisterAccount(pix.AccountID(n), true, ledger.DefaultSettings(), key); err != nil {
				t.Fatal(err)
			}
			r.Tell(key.Value)
		}
		for lap := range 2 {
			clear(s.has)
			s.calls = nil
			for range 3 {
				r.Round(t.Context())
			}
			want := 0
			if forgetful {
				want = accounts
			}
			if len(s.has) != want || len(s.calls) != want {
				t.Errorf("forgetful %v, lap %d: told of %d keys in %d calls, want %d", forgetful, lap+1, len(s.has), len(s.calls), want)
			}
		}
		clear(s.has)
		s.down = true
		r.Round(t.Context())
		s.down = false
		r.Round(t.Context())
		if _, told := s.has["first1"]; told != forgetful || forgetful && len(s.has) != remindAtOnce {
			t.Errorf("forgetful %v: after a round that failed, %d keys are told", forgetful, len(s.has))
		}
	}
}
