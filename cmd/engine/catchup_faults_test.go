package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/catchup"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/restored"
	"pixd/actors/scheme"
	"pixd/actors/scheme/sim"
	"pixd/cmd/journal"
	"pixd/wal"
)

// told is a scheme that notes since when its movements are asked for, and that a test makes do something
// before it answers.
type told struct {
	scheme.Scheme
	mu     sync.Mutex
	since  []pix.Millis
	after  []string                         // where each page begins; "": at the beginning
	list   func(*scheme.MovementPage) error // called with each page; may be nil
	book   func() (*scheme.Book, error)     // called before the book is read; may be nil
	ask    error                            // of questions about payouts and refunds
	asked  int                              // such questions
	listed int
}

func (k *told) between(c *Config) {
	c.wrapScheme = func(s scheme.Scheme) scheme.Scheme { k.Scheme = s; return k }
}

// Movements implements scheme.Scheme.
func (k *told) Movements(ctx context.Context, since pix.Millis, after string, most int) (scheme.MovementPage, error) {
	k.mu.Lock()
	k.listed++
	if !slices.Contains(k.since, since) {
		k.since = append(k.since, since)
	}
	if most > 1 { // it is not only asked whether it can list
		k.after = append(k.after, after)
	}
	k.mu.Unlock()
	p, err := k.Scheme.Movements(ctx, since, after, most)
	if err == nil && k.list != nil {
		err = k.list(&p)
	}
	return p, err
}

// Book implements scheme.Scheme.
func (k *told) Book(ctx context.Context) (scheme.Book, error) {
	if k.book != nil {
		if b, err := k.book(); b != nil || err != nil {
			return *b, err
		}
	}
	if err := ctx.Err(); err != nil {
		return scheme.Book{}, err
	}
	return k.Scheme.Book(ctx)
}

// Ask implements scheme.Scheme.
func (k *told) Ask(ctx context.Context, tx pix.TxID, endToEnd string) (scheme.State, error) {
	k.mu.Lock()
	k.asked++
	k.mu.Unlock()
	if k.ask != nil {
		return scheme.State{}, k.ask
	}
	return k.Scheme.Ask(ctx, tx, endToEnd)
}

// raised reports whether an alert of the kind was raised.
func (w *harness) raised(kind string) bool {
	w.t.Helper()
	_, got := w.operate("GET", "/admin/alerts", "")
	return strings.Contains(got, `"`+kind+`"`)
}

// TestCatchUpBesideCustomers has customers pay while the engine catches up: that makes no difference, and
// nothing older is read.
func TestCatchUpBesideCustomers(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs)
	file := w.snap()
	w.receives(5_000, "")
	settled(t, w.Store)
	w.stop()
	restoredAt(t, fs, file, "new")
	k := &told{}
	paid := 0
	k.book = func() (*scheme.Book, error) {
		paid++
		_, _, err := k.Scheme.(*sim.Sim).Pay(t.Context(), sim.Payment{Key: w.EVP, Amount: 100})
		return nil, err
	}
	again := w.at(serveHarness(t, fs, backTo("new"), k.between))
	if len(k.since) != 2 || paid != 2 || again.raised(alertDiffers) {
		t.Errorf("asked since %v, %d paid meanwhile, differs: %v", k.since, paid, again.raised(alertDiffers))
	}
	k.book = nil
	again.becomes("all booked", soon, func() bool { return strings.HasPrefix(again.moneyNow(), "balance 1005200 ") })
}

// TestCatchUpWithoutBook catches up with a scheme that keeps no book.
func TestCatchUpWithoutBook(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs)
	w.receives(5_000, "")
	settled(t, w.Store)
	file := w.snap()
	w.receives(6_000, "")
	w.stop()
	restoredAt(t, fs, file, "new")
	k := &told{book: func() (*scheme.Book, error) { return &scheme.Book{}, nil }}
	again := w.at(serveHarness(t, fs, backTo("new"), k.between))
	if got := again.moneyNow(); again.raised(alertDiffers) || !strings.HasPrefix(got, "balance 1011000 ") {
		t.Error(got)
	}
}

// TestCatchUpReadsFarther sets the clock of the snapshot wrongly. By less than the margin it does no harm; by
// more, what is missing is found because the books differ. Where the snapshot alone is late, as that of a node which was
// behind, what is missing began at the journal's end.
func TestCatchUpReadsFarther(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ahead pix.Millis
		late  bool         // the snapshot, and not the engine's clock
		since []pix.Millis // before the journal's end
	}{
		"five minutes": {5 * 60_000, false, []pix.Millis{0, catchup.Margin}},
		"an hour":      {60 * 60_000, false, []pix.Millis{0, catchup.Margin, catchup.Margin + farther[0]}},
		"two days":     {48 * 60 * 60_000, false, []pix.Millis{0, catchup.Margin, catchup.Margin + farther[0], farther[1]}},
		"late":         {48 * 60 * 60_000, true, []pix.Millis{0, catchup.Margin}},
	} {
		fs := vfs.NewMem()
		w := newHarness(t, fs)
		file := w.snap()
		w.receives(5_000, "")
		settled(t, w.Store)
		w.stop()
		m := restoredAt(t, fs, file, "new").Mark
		m.Taken += c.ahead
		if !c.late {
			m.Newest = m.Taken
		}
		rewriteMark(t, fs, "new", m)
		k := &told{}
		again := w.at(serveHarness(t, fs, backTo("new"), k.between))
		var want []pix.Millis
		for _, before := range c.since {
			want = append(want, max(1, m.Newest-before))
		}
		if got := again.moneyNow(); !slices.Equal(k.since, want) || !strings.HasPrefix(got, "balance 1005000 ") {
			t.Errorf("%s: asked since %v, want %v; %s", name, k.since, want, got)
		}
	}
}

func rewriteMark(t *testing.T, fs *vfs.MemFS, dir string, m *restored.Mark) {
	t.Helper()
	store, err := wal.Open(wal.Options{Dir: dir + "/journal", FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	op, err := m.Op()
	if err := errors.Join(err, store.WriteRows(wal.Shared, op), store.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestCatchUpFailsForGood breaks the list behind its first page: the folder is refused, and served where
// the gap is accepted; a later start catches up, from where the list broke.
func TestCatchUpFailsForGood(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs)
	file := w.snap()
	w.receives(5_000, "")
	w.stop()
	restoredAt(t, fs, file, "new")
	k := &told{list: func(p *scheme.MovementPage) error {
		if len(p.Movements) > 0 && p.Next == "" {
			p.Next = "p"
		}
		return nil
	}}
	config := crashConfig(fs)
	backTo("new")(&config)
	k.between(&config)
	config.SchemeTimeout = 50 * time.Millisecond
	if _, err := Open(config); err == nil || !strings.Contains(err.Error(), "new: it was restored from a snapshot of") {
		t.Fatalf("a list that breaks: %v", err)
	}
	again := w.at(serveHarness(t, fs, backTo("new"), k.between, func(c *Config) { c.SchemeTimeout, c.AcceptRestoredGap = 50*time.Millisecond, true }))
	if m, err := restored.Uncaught(again.Store); m == nil || err != nil {
		t.Errorf("it has not caught up: %v %v", m, err)
	}
	if at := again.terms.RestoredAt; at == 0 || at > again.Clock.Now() {
		t.Errorf("restored at %v, and it is %v", at, again.Clock.Now())
	}
	if epoch, end, err := restored.Gap(again.Store); epoch != 2 || end == 0 || err != nil {
		t.Errorf("epoch %d until %v: %v", epoch, end, err)
	}
	again.stop()
	still := w.at(serveHarness(t, fs, backTo("new"), k.between, func(c *Config) { c.SchemeTimeout = 50 * time.Millisecond }))
	if !still.terms.GapOpen {
		t.Error("what waits is let go on, although it has not caught up")
	}
	still.stop()
	whole := &told{}
	again = w.at(serveHarness(t, fs, backTo("new"), whole.between))
	if len(whole.after) == 0 || whole.after[0] == "" {
		t.Errorf("it reads pages from %q on, and has read the first already", whole.after)
	}
	if again.terms.GapOpen {
		t.Error("what waits is held, although it has caught up")
	}
	if got := again.moneyNow(); !strings.HasPrefix(got, "balance 1005000 ") {
		t.Error(got)
	}
}

// reportedInGap makes a snapshot of a payment received, which its payer reports afterwards.
func reportedInGap(t *testing.T, fs *vfs.MemFS) (w *harness, file string) {
	w = newHarness(t, fs)
	p := w.receives(90_000, "")
	settled(t, w.Store)
	file = w.snap()
	w.reports(p, 20_000)
	settled(t, w.Store)
	w.stop()
	return w, file
}

// TestCutWhileCatchingUp cuts a folder that was catching up: the copy begins anew, since the earlier instant.
func TestCutWhileCatchingUp(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w, file := reportedInGap(t, fs)
	m := restoredAt(t, fs, file, "new").Mark
	time.Sleep(5 * time.Millisecond)
	until := pix.Millis(time.Now().UnixMilli())
	time.Sleep(5 * time.Millisecond)
	config := crashConfig(fs)
	backTo("new")(&config)
	k := &told{}
	k.between(&config)
	config.SchemeTimeout = 20 * time.Millisecond
	k.book = func() (*scheme.Book, error) {
		if k.listed > 1 {
			return &scheme.Book{}, errors.New("the scheme is gone")
		}
		return nil, nil
	}
	if _, err := Open(config); err == nil {
		t.Fatal("caught up")
	}
	if _, err := journal.CutFolder(journal.CutOptions{DataDir: "new", To: "newer", Until: until, FS: fs, Now: time.Now(), TempDir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	k = &told{}
	again := w.at(serveHarness(t, fs, backTo("newer"), k.between))
	if n := len(again.cases()); n != 1 || k.since[0] != m.From() {
		t.Errorf("%d cases, asked since %v, the snapshot has everything until %v", n, k.since, m.From())
	}
}

// TestTwoGaps restores a snapshot of a journal whose gap was accepted: both gaps are made up for. The epoch
// is larger than that of a snapshot in the folder.
func TestTwoGaps(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w, file := reportedInGap(t, fs)
	first := restoredAt(t, fs, file, "new").Mark
	first.Taken -= catchup.Margin // long ago
	rewriteMark(t, fs, "new", first)
	without := w.at(serveHarness(t, fs, from("new")))
	file = without.snap()
	without.stop()
	restoredAt(t, fs, file, "newer")
	k := &told{}
	elsewhere := func(c *Config) { c.SnapshotDir = "new/snapshots" }
	again := w.at(serveHarness(t, fs, backTo("newer"), k.between, elsewhere))
	if n := len(again.cases()); n != 1 || k.since[0] != first.Taken {
		t.Errorf("%d cases, asked since %v, the first snapshot is of %v", n, k.since, first.Taken)
	}
	if m, err := restored.Uncaught(again.Store); m != nil || err != nil {
		t.Errorf("it still has to catch up: %v %v", m, err)
	}
	if n, err := restored.Epoch(again.Store); n != 2 || err != nil {
		t.Errorf("epoch %d: %v", n, err)
	}
	again.stop()
	restoredAt(t, fs, "new/snapshots/"+last(t, fs, "new/snapshots"), "newest")
	again = w.at(serveHarness(t, fs, backTo("newest"), elsewhere))
	if n, err := restored.Epoch(again.Store); n != 2 || err != nil {
		t.Errorf("beside a snapshot of epoch 1: epoch %d, %v", n, err)
	}
	if at := again.terms.RestoredAt; at <= first.Restored || at > again.Clock.Now() {
		t.Errorf("restored three times, at last at %v, and it is %v", at, again.Clock.Now())
	}
}

func last(t *testing.T, fs *vfs.MemFS, dir string) (name string) {
	t.Helper()
	all, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		if strings.HasSuffix(one, ".snap") {
			name = max(name, one)
		}
	}
	return name
}

// TestCatchUpAsks lists nothing of a payout that was in flight in the snapshot: the engine asks about it.
func TestCatchUpAsks(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	slow := func(c *Config) { c.SettleDelay = 4 * time.Second } // long enough for the snapshot
	w := newHarness(t, fs, slow)
	p := w.paidOut(`{"amount":21,"pix_key":"a@pix.test"}`)
	bad := w.paidOut(`{"amount":22,"pix_key":"reject-ac03@pix.test"}`)
	file := w.snap()
	w.becoming(p.TransactionID, "settled")
	w.becoming(bad.TransactionID, "rejected")
	settled(t, w.Store)
	w.stop()
	restoredAt(t, fs, file, "new")
	k := &told{list: func(p *scheme.MovementPage) error { p.Movements = nil; return nil }}
	again := w.at(serveHarness(t, fs, backTo("new"), k.between))
	if one, other := again.found(p.TransactionID), again.found(bad.TransactionID); one.Status != "settled" || other.Status != "rejected" || k.asked != 2 {
		t.Errorf("%s, %s, asked %d times", one.Status, other.Status, k.asked)
	}
}

// TestCatchUpReadsLongBook checks that the scheme's book may have so many pages that reading it takes longer than a question.
func TestCatchUpReadsLongBook(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs)
	file := w.snap()
	w.receives(5_000, "")
	w.stop()
	restoredAt(t, fs, file, "new")
	const question = 3 * time.Second // each page of the movements has as long, on a busy machine, too
	k := &told{book: func() (*scheme.Book, error) { time.Sleep(question + 200*time.Millisecond); return nil, nil }}
	again := w.at(serveHarness(t, fs, backTo("new"), k.between, func(c *Config) { c.SchemeTimeout = question }))
	if got := again.moneyNow(); !strings.HasPrefix(got, "balance 1005000 ") {
		t.Error(got)
	}
}

// TestCatchUpAsksInVain checks that a catch-up ends soon where the scheme answers no question about what is in flight, of
// which there may be hundreds of thousands.
func TestCatchUpAsksInVain(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs, func(c *Config) { c.SettleDelay = time.Hour })
	for n := range 3 * askedAtOnce {
		w.paidOut(fmt.Sprintf(`{"amount":1,"pix_key":"a+%d@pix.test"}`, n))
	}
	file := w.snap()
	w.stop()
	restoredAt(t, fs, file, "new")
	k := &told{ask: errors.New("no answer")}
	config := crashConfig(fs)
	backTo("new")(&config)
	k.between(&config)
	config.SchemeTimeout = time.Second
	if _, err := Open(config); err == nil || !strings.Contains(err.Error(), "catch up: no answer") {
		t.Errorf("it opens: %v", err)
	}
	if k.asked == 0 || k.asked > 6*askedAtOnce {
		t.Errorf("it was asked %d times about %d payouts", k.asked, 3*askedAtOnce)
	}
}

// TestAsideHasOnePayee keeps a payment aside whose key another account has by now: a notice of it, which names
// no account, credits nobody, and the account that it was paid to is credited once it is made again. Its
// events have sequences behind those that it has given out.
func TestAsideHasOnePayee(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs)
	file := w.snap()
	lost := w.another()
	const key = `{"key_type":"email","key":"shop@pix.test"}`
	if status, got := w.operate("POST", "/admin/accounts/"+lost.ID+"/pix-keys", key); status != 201 {
		t.Fatal(status, got)
	}
	if status, got := w.operate("POST", "/sim/payments", `{"pix_key":"shop@pix.test","amount":5000}`); status != 201 {
		t.Fatal(status, got)
	}
	settled(t, w.Store)
	id, _ := pix.ParseAccountID(lost.ID)
	before, err := w.Accounts.Do(id, ledger.ReadAccount{})
	if err != nil {
		t.Fatal(err)
	}
	w.stop()
	restoredAt(t, fs, file, "new")
	again := w.at(serveHarness(t, fs, backTo("new")))
	if again.raised(alertDiffers) {
		t.Error("what is kept aside counts as a difference")
	}
	page, err := again.scheme.Movements(t.Context(), 1, "", 1000)
	if err != nil || len(page.Movements) != 1 {
		t.Fatal(page, err)
	}
	other := again.another()
	if status, got := again.operate("POST", "/admin/accounts/"+other.ID+"/pix-keys", key); status != 201 {
		t.Fatal(status, got)
	}
	tell := func() {
		n := page.Movements[0].Notice
		n.Account = 0
		done := make(chan error, 1)
		if again.feed.Take(n, func(err error) { done <- err }); <-done != nil {
			t.Error("the notice of what is kept aside is refused")
		}
	}
	tell()
	made := fmt.Sprintf(`{"name":"Loja","document":"12345678909","account_id":%q}`, lost.ID)
	if status, got := again.operate("POST", "/admin/accounts", made); status != 201 {
		t.Fatal(status, got)
	}
	again.becomes("booked", soon, func() bool { return again.catchup.Aside.Count() == 0 })
	tell()
	if a, b := other.moneyNow(), lost.at(again).moneyNow(); a != "balance 1000000 pending 0 med 0" || b != "balance 5000 pending 0 med 0" {
		t.Errorf("other %s, lost %s", a, b)
	}
	after, err := again.Accounts.Do(id, ledger.ReadAccount{})
	if err != nil || after.Head.Totals.Events <= before.Head.Totals.Events+1_000_000 {
		t.Errorf("%+v events, before the loss %d: %v", after.Head.Totals.Events, before.Head.Totals.Events, err)
	}
	again.stop()
	again = w.at(serveHarness(t, fs, backTo("new")))
	if n := again.catchup.Aside.Count(); n != 0 {
		t.Errorf("%d kept aside after a restart", n)
	}
}

// TestCatchUpWrongAccount lists a payment that the journal has under another account: nobody is credited.
func TestCatchUpWrongAccount(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs)
	other := w.another()
	w.receives(5_000, "")
	settled(t, w.Store)
	file := w.snap()
	w.stop()
	restoredAt(t, fs, file, "new")
	wrong, _ := pix.ParseAccountID(other.ID)
	k := &told{list: func(p *scheme.MovementPage) error {
		for i := range p.Movements {
			p.Movements[i].Notice.Account = wrong
		}
		return nil
	}}
	again := w.at(serveHarness(t, fs, backTo("new"), k.between))
	if a, b := again.moneyNow(), other.at(again).moneyNow(); a != "balance 1005000 pending 0 med 0" || b != "balance 1000000 pending 0 med 0" {
		t.Errorf("its own %s, other %s", a, b)
	}
	again.hears(catchup.AlertAside)
}

// TestNoticesWhileCatchingUp checks that the listener for notices answers 503 while the engine catches up, and
// the merchants' listener not at all.
func TestNoticesWhileCatchingUp(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs)
	file := w.snap()
	w.stop()
	restoredAt(t, fs, file, "new")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	meanwhile := func() (status int) {
		r, err := http.Post("http://"+address+"/scheme/v1/notices", "application/json", strings.NewReader("{}")) //nolint:noctx // it is on this machine
		if err != nil {
			t.Error(err)
			return 0
		}
		_ = r.Body.Close()
		return r.StatusCode
	}
	during := 0
	k := &told{Scheme: scheme.Unassigned{}}
	serveHarness(t, fs, backTo("new"), func(c *Config) {
		c.Scheme, c.SchemeSecret, c.SchemeListen = "http://127.0.0.1:1", strings.Repeat("s", 32), address
		c.wrapScheme = func(scheme.Scheme) scheme.Scheme { return &listing{k, func() { during = meanwhile() }} }
	})
	if after := meanwhile(); during != 503 || after != 401 {
		t.Errorf("%d while it catches up, %d afterwards", during, after)
	}
}

// listing is a scheme that has no movement and no book.
type listing struct {
	*told
	while func()
}

// Movements implements scheme.Scheme.
func (l *listing) Movements(context.Context, pix.Millis, string, int) (scheme.MovementPage, error) {
	l.while()
	return scheme.MovementPage{}, nil
}

// Book implements scheme.Scheme.
func (l *listing) Book(context.Context) (scheme.Book, error) { return scheme.Book{}, nil }
