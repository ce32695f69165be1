package engine

import (
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/clock"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/cmd/machine"
	"pixd/wal"
)

// clocks are the two clocks of a machine. Each goes on with real time and can be moved by
// the test.
type clocks struct {
	start         time.Time
	wall, elapsed atomic.Int64 // ms by which the test has moved each clock
}

func newClocks() *clocks { return &clocks{start: time.Now()} }

func (c *clocks) sources() *clock.Sources {
	at := func(extra *atomic.Int64, from int64) func() pix.Millis {
		return func() pix.Millis { return pix.Millis(from + time.Since(c.start).Milliseconds() + extra.Load()) }
	}
	return &clock.Sources{Wall: at(&c.wall, c.start.UnixMilli()), Elapsed: at(&c.elapsed, 0)}
}

// now returns the time of the wall clock.
func (c *clocks) now() time.Time {
	return time.Now().Add(time.Duration(c.wall.Load()) * time.Millisecond)
}

// pass moves both clocks forward by d.
func (c *clocks) pass(d time.Duration) {
	c.wall.Add(d.Milliseconds())
	c.elapsed.Add(d.Milliseconds())
}

// TestElapsed checks that this machine's elapsed clock goes as fast as its wall clock.
func TestElapsed(t *testing.T) {
	s := machine.Clocks()
	wall, elapsed := s.Wall(), s.Elapsed()
	time.Sleep(50 * time.Millisecond)
	w, e := s.Wall()-wall, s.Elapsed()-elapsed
	if e < 50 || e > w+20 || w > e+20 {
		t.Errorf("in 50 ms the wall clock went %d, what elapsed is %d", w, e)
	}
}

func (w *harness) payout(key string, amount pix.Amount) *ledger.Transaction {
	w.t.Helper()
	id, _ := pix.ParseAccountID(w.ID)
	k, ok := pix.ParseKey(pix.KeyEmail, key)
	if !ok {
		w.t.Fatal(key)
	}
	a, err := w.Accounts.Do(id, ledger.RequestPayout{Amount: amount, Key: k})
	if err != nil || a.Refusal != nil {
		w.t.Fatalf("%+v %v", a, err)
	}
	return a.Tx
}

// hears waits until an alert of the given kind has been raised.
func (w *harness) hears(kind string) {
	w.t.Helper()
	w.becomes("alert "+kind, soon, func() bool {
		_, got := w.operate("GET", "/admin/alerts", "")
		return strings.Contains(got, `"kind":"`+kind+`"`)
	})
}

// status returns the status of a payout as lookups show it.
func (w *harness) status(t *ledger.Transaction) pix.TxStatus {
	w.t.Helper()
	id, _ := pix.ParseAccountID(w.ID)
	got, err := w.History.Transaction(id, t.ID.String())
	if err != nil || got == nil {
		w.t.Fatalf("%v: %+v %v", t.ID, got, err)
	}
	return got.Status
}

// TestClockWrongForAMoment checks that payouts are voided after thirty minutes and not
// earlier, although the wall clock goes four hours ahead and back, and then a day ahead.
func TestClockWrongForAMoment(t *testing.T) {
	c := newClocks()
	w := newHarness(t, vfs.NewMem(), func(o *Config) { o.Clocks = c.sources() })
	before := w.payout("silent+1@pix.test", 500)
	c.wall.Add(4 * 3_600_000)
	time.Sleep(2500 * time.Millisecond)
	meanwhile := w.payout("silent+2@pix.test", 600)
	c.wall.Add(-4 * 3_600_000)
	time.Sleep(2 * time.Second)
	c.wall.Add(24 * 3_600_000)
	time.Sleep(1500 * time.Millisecond)
	for _, p := range []*ledger.Transaction{before, meanwhile} {
		if s := w.status(p); s != pix.StatusAccepted {
			t.Errorf("%v is %v before its time", p.ID, s)
		}
		if age := w.Clock.Now() - p.CreatedAt; age < 0 || age > 30_000 {
			t.Errorf("%v is %d ms old", p.ID, age)
		}
	}
	again := w.payout("silent+1@pix.test", 500)
	if !again.Payout.Repeat || again.EndToEnd != before.EndToEnd {
		t.Errorf("an equal payout a day later by the wall clock is another: %+v", again)
	}
	w.hears("clock")
	c.pass(29 * time.Minute)
	time.Sleep(time.Second)
	if s := w.status(before); s != pix.StatusAccepted {
		t.Errorf("after 29 minutes it is %v", s)
	}
	c.pass(61 * time.Second)
	w.becomes("voided", 15*time.Second, func() bool {
		return w.status(before) == pix.StatusFailed && w.status(meanwhile) == pix.StatusFailed
	})
}

// TestStartBehindTheJournal checks a start with the right time after a process whose clock
// was four hours ahead: engine time is doubted and nothing is voided until an operator
// accepts the clock. Then both what this process and what the earlier one has sent is voided.
func TestStartBehindTheJournal(t *testing.T) {
	fs := vfs.NewMem()
	ahead := newClocks()
	ahead.wall.Add(4 * 3_600_000)
	w := newHarness(t, fs, func(o *Config) { o.Clocks = ahead.sources() })
	old := w.payout("silent+1@pix.test", 500)
	w.stop()

	c := newClocks()
	first := w.ID
	w = serveHarness(t, fs, func(o *Config) { o.Clocks = c.sources() })
	w.ID = first
	if !w.Clock.Doubted() {
		t.Error("a clock behind the journal is not doubted")
	}
	w.hears("clock")
	p := w.payout("silent+2@pix.test", 600)
	if p.CreatedAt < old.CreatedAt {
		t.Errorf("stamped %v, after %v", p.CreatedAt, old.CreatedAt)
	}
	if minute := ledger.ExpiryOf(p.EndToEnd) - 12*3_600_000; w.Clock.Now()-minute > 61_000 || minute > w.Clock.Now() {
		t.Errorf("the minute of %s is not engine time's, %v", p.EndToEnd, w.Clock.Now())
	}
	c.pass(31 * time.Minute)
	time.Sleep(1500 * time.Millisecond)
	if s := w.status(p); s != pix.StatusAccepted {
		t.Errorf("while the clock is doubted it is %v", s)
	}
	if status, got := w.operate("POST", "/admin/clock", `{"operator":"ana"}`); status != http.StatusOK || w.Clock.Doubted() {
		t.Errorf("accepted: %d %s", status, got)
	}
	for _, waited := range []*ledger.Transaction{p, old} { // old was accepted four hours ahead
		w.becomes("voided", 75*time.Second, func() bool { return w.status(waited) == pix.StatusFailed })
	}
}

var clockForm = regexp.MustCompile(`^{"now":"[^"]+Z","doubted":false,"behind_journal_ms":0,"wall_difference_ms":-?[0-9]+,"scheme_difference_ms":-?[0-9]+}`)

// TestClockAPI checks which requests about the clock the operator API accepts, and what it
// answers.
func TestClockAPI(t *testing.T) {
	w := newHarness(t, vfs.NewMem())
	for body, want := range map[string]int{
		`{"operator":"ana"}`: 200, `{}`: 400, `{"operator":""}`: 400, `{"operator":1}`: 400, `{"operator":"a","at":1}`: 400, ``: 400,
	} {
		if status, got := w.operate("POST", "/admin/clock", body); status != want {
			t.Errorf("%s: %d %s", body, status, got)
		}
	}
	if status, got := w.operate("GET", "/admin/clock", ""); status != 200 || !clockForm.MatchString(got) {
		t.Errorf("%d %s", status, got)
	}
}

// TestSchemesClockIsTold checks that operators hear of a scheme whose clock differs from the engine's: nothing expires meanwhile.
func TestSchemesClockIsTold(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem())
	w.stated(w.Clock.Now())
	if w.raised(AlertClock) {
		t.Error("an alert about a clock that agrees")
	}
	w.stated(w.Clock.Now() + 5*60_000)
	w.becomes("told", soon, func() bool { return w.raised(AlertClock) })
}

// TestSecretIsShared checks that the secret from which end-to-end ids are computed takes a position in the journal: the next
// owner of nodes' journal must compute the same ones.
func TestSecretIsShared(t *testing.T) {
	s, err := wal.Open(wal.Options{Dir: "journal", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	before, _, _ := s.Head()
	one, err := endToEndSecret(s)
	made, _, _ := s.Head()
	two, err2 := endToEndSecret(s)
	if again, _, _ := s.Head(); err != nil || err2 != nil || len(one) != 32 || string(one) != string(two) || made != before+1 || again != made {
		t.Errorf("positions %d, %d, %d; %v, %v", before, made, again, err, err2)
	}
}
