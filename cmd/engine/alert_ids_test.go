package engine

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/account"
	"pixd/actors/audit"
	"pixd/actors/catchup"
	"pixd/actors/due"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/webhook"
	"pixd/cmd/overload"
	"pixd/cmd/snapshots"
)

// moods is a scheme that refuses refunds for good, leaves them open, or gives no answer.
type moods struct {
	scheme.Scheme
	refuses, open, away atomic.Bool
	sent                atomic.Pointer[scheme.Payment] // the newest submission
}

// Submit implements scheme.Scheme.
func (m *moods) Submit(ctx context.Context, p scheme.Payment) (scheme.State, error) {
	m.sent.Store(&p)
	return m.Scheme.Submit(ctx, p)
}

// Return implements scheme.Scheme.
func (m *moods) Return(ctx context.Context, r scheme.Refund) (scheme.State, error) {
	switch {
	case m.refuses.Load():
		return scheme.State{}, &scheme.Refused{Code: ledger.RefuseProvider}
	case m.open.Load():
		return scheme.State{Progress: scheme.Pending}, nil
	}
	return m.Scheme.Return(ctx, r)
}

// Ask implements scheme.Scheme.
func (m *moods) Ask(ctx context.Context, tx pix.TxID, endToEnd string) (scheme.State, error) {
	switch {
	case m.away.Load():
		return scheme.State{}, errors.New("gone")
	case m.open.Load():
		return scheme.State{Progress: scheme.Pending}, nil
	}
	return m.Scheme.Ask(ctx, tx, endToEnd)
}

// alarmed is an engine in which a test makes an alert of every kind.
type alarmed struct {
	*harness
	moods  moods
	clocks *clocks
	disk   *vfs.MemFS
}

// alertMakers makes an alert of each kind.
var alertMakers = map[string]func(*alarmed){
	catchup.AlertAside: func(w *alarmed) {
		n := scheme.Notice{Kind: scheme.PaymentArrived, EndToEnd: pix.EndToEnd("99999003", w.Clock.Now(), "kkkkkkkkkkk"), Account: 99}
		n.Arrived = ledger.ReceivePayment{EndToEnd: n.EndToEnd, Amount: 1}
		r := *w.catchup
		r.Scheme = &told{Scheme: w.scheme, list: func(p *scheme.MovementPage) error {
			*p = scheme.MovementPage{Movements: []scheme.Movement{{At: w.Clock.Now(), Notice: n}}}
			return nil
		}}
		s, _ := catchup.Begin(w.Clock.Now())
		if err := r.Run(w.t.Context(), s); err != nil {
			w.t.Fatal(err)
		}
	},
	catchup.AlertLostKey: func(w *alarmed) {
		id, _ := pix.ParseAccountID(w.ID)
		w.catchup.LostKey(scheme.Notice{Account: id, EndToEnd: w.receives(5, "").EndToEnd})
	},
	alertDiffers: func(w *alarmed) {
		if err := w.caughtUp(&catchup.State{}, []audit.Difference{{Scheme: 1}}, true); err != nil {
			w.t.Fatal(err)
		}
	},
	ledger.AlertLate: func(w *alarmed) {
		p := w.payout("silent+1@pix.test", 500)
		w.clocks.pass(31 * time.Minute)
		w.becomes("voided", 75*time.Second, func() bool { return w.status(p) == pix.StatusFailed })
		w.tell(scheme.Notice{Kind: scheme.PaymentSettled, Tx: p.ID, EndToEnd: p.EndToEnd})
	},
	ledger.AlertContradiction: func(w *alarmed) {
		p := w.payout("settle-now@pix.test", 600)
		w.tell(scheme.Notice{Kind: scheme.PaymentRejected, Tx: p.ID, EndToEnd: p.EndToEnd, Reason: "AC03"})
		id, _ := pix.ParseAccountID(w.ID)
		key, _ := pix.ParseKey(pix.KeyEmail, "provider-rejected@pix.test")
		if a, err := w.Accounts.Do(id, ledger.RequestPayout{Amount: 600, Key: key}); err != nil || a.Refusal == nil {
			w.t.Fatalf("%+v %v", a, err)
		}
		refused := w.moods.sent.Load() // its merchant never sees it
		w.tell(scheme.Notice{Kind: scheme.PaymentSettled, Tx: refused.Tx, EndToEnd: refused.EndToEnd})
		if _, got := w.operate("GET", "/admin/alerts?limit=100", ""); !strings.Contains(got, "its end-to-end id is "+refused.EndToEnd) {
			w.t.Errorf("%s is not named: %s", refused.EndToEnd, got)
		}
	},
	ledger.AlertUnanswered: func(w *alarmed) {
		w.moods.open.Store(true)
		w.refunds(w.receives(1000, ""), 1000)
		w.clocks.pass(31 * time.Minute)
		w.hears(ledger.AlertUnanswered)
		w.moods.open.Store(false)
	},
	ledger.AlertUndecided: func(w *alarmed) {
		_, k := w.reports(w.receives(2000, ""), 2000)
		if status, got, _ := w.post("/med/"+k.ID+"/defense", `{"justification":"delivered"}`); status != 200 {
			w.t.Fatalf("%d %s", status, got)
		}
		w.clocks.pass(8 * 24 * time.Hour)
	},
	ledger.AlertCaseRefund: func(w *alarmed) {
		w.moods.refuses.Store(true)
		_, k := w.reports(w.receives(3000, ""), 3000)
		w.analysed(k.ID, "AGREED")
		w.hears(ledger.AlertCaseRefund)
		w.moods.refuses.Store(false)
	},
	ledger.AlertUnrefunded: func(w *alarmed) {
		w.moods.refuses.Store(true)
		_, k := w.reports(w.receives(4000, ""), 4000)
		w.analysed(k.ID, "AGREED")
		w.becomes("stopped", 10*time.Second, func() bool { failed, _ := w.operatorOf(k.ID); return failed })
		w.clocks.pass(91 * 24 * time.Hour)
		w.hears(ledger.AlertUnrefunded)
		w.moods.refuses.Store(false)
	},
	due.AlertUnreachable: func(w *alarmed) {
		w.moods.away.Store(true)
		w.payout("silent+2@pix.test", 700)
		w.clocks.pass(31 * time.Minute)
		w.hears(due.AlertUnreachable)
		w.moods.away.Store(false)
	},
	webhook.AlertDelayed: func(w *alarmed) {
		w.receives(5000, "")
		w.clocks.pass(2 * time.Hour)
		w.webhooks.Watch()
	},
	webhook.AlertDead: func(w *alarmed) {
		w.receives(5000, "")
		w.clocks.pass(80 * time.Hour)
		w.becomes("dead", 10*time.Second, func() bool {
			w.webhooks.Watch()
			_, got := w.operate("GET", "/admin/alerts?limit=100", "")
			return strings.Contains(got, webhook.AlertDead)
		})
	},
	account.AlertRefused: func(w *alarmed) {
		const id = "E6070119020260301120000000000099"
		n := scheme.Notice{Kind: scheme.PaymentArrived, EndToEnd: id, Arrived: ledger.ReceivePayment{EndToEnd: id, Amount: 700, Key: "12345678901"}}
		done := make(chan error, 1)
		w.feed.Take(n, func(err error) { done <- err })
		if err := <-done; !errors.Is(err, scheme.ErrNoPayee) {
			w.t.Error(err)
		}
	},
	account.AlertQuarantine: func(w *alarmed) { w.ofAccount(account.AlertQuarantine) },
	account.AlertDamage:     func(w *alarmed) { w.ofAccount(account.AlertDamage) },
	snapshots.AlertFailed:   func(w *alarmed) { w.Config.alerts.RaiseGeneral(snapshots.AlertFailed, "for the test") },
	AlertNodeGone:           func(w *alarmed) { w.Config.alerts.RaiseGeneral(AlertNodeGone, "for the test") },
	AlertNodeBehind:         func(w *alarmed) { w.Config.alerts.RaiseGeneral(AlertNodeBehind, "for the test") },
	AlertTookOver:           func(w *alarmed) { w.Config.alerts.RaiseGeneral(AlertTookOver, "for the test") },
	AlertLogMismatch:        func(w *alarmed) { w.Config.alerts.RaiseGeneral(AlertLogMismatch, "for the test") },
	AlertLogFull:            func(w *alarmed) { w.Config.alerts.RaiseGeneral(AlertLogFull, "for the test") },
	AlertClock:              func(w *alarmed) { w.clocks.wall.Add(-3_600_000) },
	overload.AlertLowDisk:   func(w *alarmed) { w.disk.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1<<30 - 1}) },
}

// ofAccount raises an alert that names an account alone.
func (w *alarmed) ofAccount(kind string) {
	id, _ := pix.ParseAccountID(w.ID)
	w.Config.alerts.Raise(id, ledger.Alert{Kind: kind, Message: "for the test"})
}

// refunds has the merchant refund a payment.
func (w *alarmed) refunds(p item, amount pix.Amount) {
	w.t.Helper()
	id, _ := pix.ParseAccountID(w.ID)
	if a, err := w.Accounts.Do(id, ledger.RequestRefund{Original: p.EndToEnd, Amount: amount, Reason: "MD06"}); err != nil || a.Refusal != nil {
		w.t.Fatalf("%+v %v", a, err)
	}
}

// idsNamed finds the ids in an alert's message that can be looked up.
var idsNamed = regexp.MustCompile(`\b(?:med|whk|acc)_[a-z2-7]+|\bPIX(?:IN|OUT|RET)[A-Z0-9]+|\b[ED][0-9A-Z]{8}[0-9]{12}[0-9A-Za-z]{11}\b`)

// lookedUp checks that a look-up of operators finds an id.
func (w *alarmed) lookedUp(kind, id string) {
	w.t.Helper()
	path := "/admin/transactions/"
	if kind == catchup.AlertAside {
		return // nobody here has that account, and the alert says so
	}
	switch {
	case strings.HasPrefix(id, "med_"):
		path = "/admin/med/"
	case strings.HasPrefix(id, "acc_"):
		path = "/admin/accounts/"
	case strings.HasPrefix(id, "whk_"):
		if _, got := w.operate("GET", "/admin/webhooks", ""); !strings.Contains(got, id) {
			w.t.Errorf("%s names %s, and there is no such webhook: %s", kind, id, got)
		}
		return
	case kind == account.AlertRefused:
		return // nobody here has that payment, and the alert says so
	}
	if status, got := w.operate("GET", path+id, ""); status != 200 {
		w.t.Errorf("%s names %s, and a look-up answers %d %s", kind, id, status, got)
	}
}

// TestAlertsNameWhatIsFound makes an alert of every kind and checks that an operator can look up
// every account, transaction, case and webhook that one names, in its fields or its text; and that
// alerts about money name the transaction.
func TestAlertsNameWhatIsFound(t *testing.T) {
	t.Parallel()
	r := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }))
	defer r.Close()
	w := &alarmed{clocks: newClocks(), disk: vfs.NewMem()}
	w.disk.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 2 << 30})
	w.harness = newHarness(t, w.disk, insecure, func(c *Config) {
		c.Clocks = w.clocks.sources()
		c.wrapScheme = func(s scheme.Scheme) scheme.Scheme { w.moods.Scheme = s; return &w.moods }
	})
	w.hooks(r.URL+"/a", `"pix.received"`)
	last := []string{AlertClock, overload.AlertLowDisk} // after these the engine refuses work
	for _, kind := range append(slices.DeleteFunc(slices.Sorted(maps.Keys(alertMakers)), func(k string) bool { return slices.Contains(last, k) }), last...) {
		alertMakers[kind](w)
		w.hears(kind)
	}
	var l struct {
		Data []struct {
			Kind        string
			Account     string `json:"account_id"`
			Transaction string `json:"transaction_id"`
			Message     string
		}
	}
	if status, got := w.operate("GET", "/admin/alerts?limit=100", ""); status != 200 || json.Unmarshal([]byte(got), &l) != nil {
		t.Fatalf("%d %s", status, got)
	}
	for _, a := range l.Data {
		if money := slices.Contains(ledger.AlertKinds(), a.Kind) || a.Kind == due.AlertUnreachable; money != (a.Transaction != "") && !strings.Contains(a.Message, "its end-to-end id is ") {
			t.Errorf("%s is about %q", a.Kind, a.Transaction)
		}
		for _, id := range append(idsNamed.FindAllString(a.Message, -1), a.Account, a.Transaction) {
			if id != "" {
				w.lookedUp(a.Kind, id)
			}
		}
	}
}

// kindOfAlert finds the constants that are kinds of alerts.
var kindOfAlert = regexp.MustCompile(`(?m)^(?:const)?\s+[Aa]lert[A-Z]\w*\s*= "(\w+)"`)

// TestAlertKindsAreMade checks that TestAlertsNameWhatIsFound makes every kind of alert that there is.
func TestAlertKindsAreMade(t *testing.T) {
	kinds := map[string]bool{}
	for _, pattern := range []string{"../../actors/*/*.go", "../../actors/*/*/*.go", "../../cmd/*/*.go", "../../httpapi/*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range kindOfAlert.FindAllSubmatch(text, -1) {
				kinds[string(found[1])] = true
			}
		}
	}
	if got, want := slices.Sorted(maps.Keys(alertMakers)), slices.Sorted(maps.Keys(kinds)); !slices.Equal(got, want) {
		t.Errorf("made %q, there are %q", got, want)
	}
}
