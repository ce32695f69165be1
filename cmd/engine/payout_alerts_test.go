package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/valyala/fasthttp"

	"pixd/actors/due"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// alerted waits until exactly one alert of the kind is listed and counted, about the
// merchant's payout, and returns its message.
func (w *harness) alerted(kind, transaction string) (message string) {
	w.t.Helper()
	type alert struct {
		Kind        string
		Account     string `json:"account_id"`
		Transaction string `json:"transaction_id"`
		Message     string
	}
	w.becomes(kind, soon, func() bool {
		var l struct{ Data []alert }
		status, got := w.operate("GET", "/admin/alerts", "")
		if status != 200 || json.Unmarshal([]byte(got), &l) != nil {
			w.t.Fatalf("%d %s", status, got)
		}
		n := 0
		for _, a := range l.Data {
			if a.Kind != kind {
				continue
			}
			if n++; a.Account != w.ID || a.Transaction != transaction {
				w.t.Errorf("%+v, want it about %s of %s", a, transaction, w.ID)
			}
			w.leadsTo(a.Kind, a.Transaction)
			message = a.Message
		}
		if n > 1 {
			w.t.Errorf("%s: told %d times", kind, n)
		}
		return n > 0
	})
	if _, got := w.operate("GET", "/metrics", ""); !strings.Contains(got, fmt.Sprintf("pixd_alerts_total{kind=%q} 1\n", kind)) {
		w.t.Errorf("%s is not counted: %s", kind, got)
	}
	return message
}

// leadsTo checks that a look-up finds the transaction that an alert names.
func (w *harness) leadsTo(kind, transaction string) {
	w.t.Helper()
	if transaction == "" {
		return
	}
	if status, got := w.operate("GET", "/admin/transactions/"+transaction, ""); status != 200 {
		w.t.Errorf("the alert %s names %s, and a look-up answers %d %s", kind, transaction, status, got)
	}
}

// tell hands a notice to the engine and waits until it is acknowledged.
func (w *harness) tell(n scheme.Notice) {
	w.t.Helper()
	done := make(chan error, 1)
	w.feed.Take(n, func(err error) { done <- err })
	if err := <-done; err != nil {
		w.t.Fatal(err)
	}
}

// TestPayoutAlerts checks that an alert names account and payout when the scheme reports a
// settlement too late, contradicts a final status, or cannot be reached.
func TestPayoutAlerts(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem(), func(c *Config) { c.SettleDelay, c.OrphanAfter = time.Hour, time.Millisecond })
	id, _ := pix.ParseAccountID(w.ID)
	key, _ := pix.ParseKey(pix.KeyEmail, "a@pix.test")
	a, err := w.Accounts.Do(id, ledger.RequestPayout{Amount: 500, Key: key})
	if err != nil || a.Refusal != nil {
		t.Fatalf("%+v %v", a, err)
	}
	w.becomes("voided", 10*time.Second, func() bool {
		_, got := w.operate("GET", "/admin/transactions/"+a.Tx.Public(), "")
		return strings.Contains(got, ledger.ReasonVoided)
	})
	settled := scheme.Notice{Kind: scheme.PaymentSettled, Tx: a.Tx.ID, EndToEnd: a.Tx.EndToEnd}
	w.tell(settled)
	w.tell(settled)
	if m := w.alerted("late_settlement", a.Tx.Public()); !strings.Contains(m, "after it had been voided") {
		t.Error(m)
	}
	w.tell(scheme.Notice{Kind: scheme.PaymentRejected, Tx: a.Tx.ID, EndToEnd: a.Tx.EndToEnd, Reason: "AC03"})
	if m := w.alerted("contradicting_notice", a.Tx.Public()); !strings.Contains(m, "AC03") {
		t.Error(m)
	}
	b, err := w.Accounts.Do(id, ledger.RequestPayout{Amount: 600, Key: key})
	if err != nil || b.Refusal != nil {
		t.Fatalf("%+v %v", b, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() {
		defer close(ended)
		s := due.NewScanner(due.New(1000, 1<<60, due.DefaultBounds()), onlyDue{w.Store, id, b.Tx.ID}, w.Clock.Read, w.Config.alerts, w.Config.Log)
		s.Run(ctx, unheard{s, b.Tx.Public()})
	}()
	w.alerted("scheme_unreachable", b.Tx.Public())
	cancel()
	<-ended
}

// unheard answers each due task as an account does whose scheme cannot be reached.
type unheard struct {
	scanner *due.Scanner
	public  string
}

// Due implements due.Accounts.
func (u unheard) Due(t due.Task) { u.scanner.Done(t, due.Result{Unheard: true, Public: u.public}) }

// onlyDue are rows in which one payout is always due, and nothing else is.
type onlyDue struct {
	layout.Rows
	account pix.AccountID
	id      pix.TxID
}

// Scan implements layout.Rows.
func (o onlyDue) Scan(lo, hi []byte, fn func(k, v []byte) (bool, error)) error {
	k := layout.DueKey(layout.DueDoubt, 1, o.account, layout.EntityID(o.id))
	if string(k) < string(lo) || string(k) >= string(hi) {
		return nil
	}
	_, err := fn(k, []byte{0, 0, 0, 0, 0, 0, 0, 1})
	return err
}

// TestUnreachableNamesRefund checks that the alert about a scheme that cannot be reached
// names a refund under an id that look-ups find, when it was a refund that was asked about.
func TestUnreachableNamesRefund(t *testing.T) {
	t.Parallel()
	o := newOtherSide(t)
	w := newHarness(t, vfs.NewMem(), o.beside, func(c *Config) { c.OrphanAfter = time.Second })
	const payment = "E6070119020260301120000000000009"
	o.notify(w, scheme.Notice{Kind: scheme.PaymentArrived, EndToEnd: payment, Arrived: ledger.ReceivePayment{EndToEnd: payment, Amount: 700, Key: w.EVP, PayerISPB: "60701190"}}, nil)
	silent := fasthttp.RequestHandler(func(ctx *fasthttp.RequestCtx) { ctx.Error("gone", 502) })
	o.instead.Store(&silent)
	id, _ := pix.ParseAccountID(w.ID)
	a, err := w.Accounts.Do(id, ledger.RequestRefund{Original: payment, Amount: 700})
	if err != nil || a.Refusal != nil {
		t.Fatalf("%+v %v", a, err)
	}
	if !strings.HasPrefix(a.Tx.Public(), "PIXRET") {
		t.Fatal(a.Tx.Public())
	}
	w.becomes("scheme_unreachable", 20*time.Second, func() bool { n, others := w.alerts("scheme_unreachable", a.Tx.Public()); return n == 1 && others == 0 })
}
