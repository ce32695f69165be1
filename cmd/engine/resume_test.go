package engine

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/restored"
	"pixd/actors/scheme"
	"pixd/cmd/resumption"
)

// forgetting is a scheme that cannot say what was returned of one payment. It counts the questions and the
// returns.
type forgetting struct {
	scheme.Scheme
	mu       sync.Mutex
	payment  string // end-to-end id; empty: it knows all
	unheard  int
	returned int
}

func (f *forgetting) between(c *Config) {
	c.wrapScheme = func(s scheme.Scheme) scheme.Scheme { f.Scheme = s; return f }
	c.resumeEvery = 20 * time.Millisecond
}

// Returns implements scheme.Scheme.
func (f *forgetting) Returns(ctx context.Context, a pix.AccountID, endToEnd string) ([]ledger.Returned, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if endToEnd == f.payment {
		f.unheard++
		return nil, errors.New("no such payment")
	}
	return f.Scheme.Returns(ctx, a, endToEnd)
}

// Return implements scheme.Scheme.
func (f *forgetting) Return(ctx context.Context, r scheme.Refund) (scheme.State, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.returned++
	return f.Scheme.Return(ctx, r)
}

func (f *forgetting) counts() (unheard, returned int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.unheard, f.returned
}

// shortMED are deadlines of special-return cases that a test can wait for.
func shortMED(c *Config) { c.MEDDeadline, c.MEDAnalysis = 2*time.Second, 9*time.Second }

// heldCases makes a restored journal in the folder "new" whose gap was accepted. Two open cases wait in it for an operator: one
// was refunded in the gap, the other was not. Their time is over.
func heldCases(t *testing.T, fs *vfs.MemFS) (w *harness, payment, refunded, open string, unreported item) {
	t.Helper()
	w = newHarness(t, fs, shortMED)
	p, q := w.receives(50_000, ""), w.receives(60_000, "")
	unreported = w.receives(70_000, "")
	_, k := w.reports(p, 50_000)
	_, l := w.reports(q, 60_000)
	file := w.snap()
	w.analysed(k.ID, "AGREED")
	w.caseIs(k.ID, "closed AGREED 50000 held 0 covered 0 refunded 50000")
	settled(t, w.Store)
	w.stop()
	restoredAt(t, fs, file, "new")
	without := w.at(serveHarness(t, fs, shortMED, from("new")))
	without.becomes("their time is over", 10*time.Second, func() bool {
		_, got := without.operate("GET", "/admin/alerts", "")
		return strings.Count(got, `"med_undecided"`) == 2
	})
	without.stop()
	return w, p.EndToEnd, k.ID, l.ID, unreported
}

// TestCasesGoOn accepts a gap and catches up at a later start: the cases that waited for an operator go on by
// themselves, and each payment is refunded once. A case of whose payment the scheme cannot speak waits alone, and is tried again.
func TestCasesGoOn(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w, payment, refunded, open, unreported := heldCases(t, fs)
	f := &forgetting{payment: payment}
	again := w.at(serveHarness(t, fs, shortMED, backTo("new"), f.between))
	waits := func(id string) bool { _, awaits := again.operatorOf(id); return awaits }
	again.becomes("one goes on", soon, func() bool { return !waits(open) })
	if got := again.caseOf(open); got != "open - 60000 held 60000 covered 60000 refunded 0" {
		t.Errorf("its merchant has no time to defend it: %s", got)
	}
	again.becomes("the other is tried again", soon, func() bool { n, _ := f.counts(); return n > 2 })
	if got := again.caseOf(refunded); !waits(refunded) || got != "open - 50000 held 0 covered 0 refunded 50000" {
		t.Errorf("of its payment nothing is known: %s", got)
	}
	f.mu.Lock()
	f.payment = ""
	f.mu.Unlock()
	again.becomes("both go on", soon, func() bool { return !waits(refunded) })
	again.caseIs(open, "closed AGREED 60000 held 0 covered 0 refunded 60000")
	again.caseIs(refunded, "closed AGREED 50000 held 0 covered 0 refunded 50000")
	if _, n := f.counts(); n != 1 {
		t.Errorf("%d refunds were sent", n)
	}
	again.becomes("it is noted that none waits", soon, func() bool {
		known, until, err := restored.Known(again.Store)
		return known && err == nil && until > again.Clock.Now()-2*resumption.ReportedLate
	})
	_, late := again.reports(unreported, 70_000)
	again.becomes("one that is reported later goes on", soon, func() bool { return !waits(late.ID) })
	again.caseIs(late.ID, "closed AGREED 70000 held 0 covered 0 refunded 70000")
	again.agrees(again.refundedNow())
	again.stop()
	once := w.at(serveHarness(t, fs, shortMED, backTo("new"), f.between))
	once.agrees(once.refundedNow())
}

// TestCasesWaitOn catches up with a scheme that keeps no book, and with one that does not list what it has returned: nobody knows
// whether the journal lacks nothing, so the cases go on waiting for an operator.
func TestCasesWaitOn(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]*told{
		"no book": {book: func() (*scheme.Book, error) { return &scheme.Book{}, nil }},
		"another book": {list: func(p *scheme.MovementPage) error {
			p.Movements = nil
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fs := vfs.NewMem()
			w, _, refunded, open, _ := heldCases(t, fs)
			often := func(c *Config) { c.resumeEvery = 20 * time.Millisecond }
			again := w.at(serveHarness(t, fs, shortMED, backTo("new"), k.between, often))
			if known, _, err := restored.Known(again.Store); known || err != nil {
				t.Errorf("the gap is known: %v", err)
			}
			time.Sleep(300 * time.Millisecond)
			for _, id := range []string{refunded, open} {
				if _, awaits := again.operatorOf(id); !awaits {
					t.Errorf("%s goes on: %s", id, again.caseOf(id))
				}
			}
		})
	}
}
