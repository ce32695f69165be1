package engine

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
)

// holding is a scheme that holds what is submitted of one amount until it is let go, and refuses it then. It
// counts what is submitted of each amount.
type holding struct {
	scheme.Scheme
	amount pix.Amount
	came   chan struct{} // closed once it came
	goOn   chan struct{}
	mu     sync.Mutex
	sent   map[pix.Amount]int
}

func newHolding(amount pix.Amount) *holding {
	return &holding{amount: amount, came: make(chan struct{}), goOn: make(chan struct{}), sent: map[pix.Amount]int{}}
}

func (h *holding) between(c *Config) {
	c.wrapScheme = func(s scheme.Scheme) scheme.Scheme { h.Scheme = s; return h }
}

func (h *holding) submitted(amount pix.Amount) error {
	h.mu.Lock()
	h.sent[amount]++
	h.mu.Unlock()
	if amount != h.amount {
		return nil
	}
	close(h.came)
	<-h.goOn
	return &scheme.Refused{Code: ledger.RefuseProvider}
}

// Submit implements scheme.Scheme.
func (h *holding) Submit(ctx context.Context, p scheme.Payment) (scheme.State, error) {
	if err := h.submitted(p.Amount); err != nil {
		return scheme.State{}, err
	}
	return h.Scheme.Submit(ctx, p)
}

// Return implements scheme.Scheme.
func (h *holding) Return(ctx context.Context, r scheme.Refund) (scheme.State, error) {
	if err := h.submitted(r.Amount); err != nil {
		return scheme.State{}, err
	}
	return h.Scheme.Return(ctx, r)
}

// TestNotSentAgain makes a snapshot while a payout, and then a refund, is on its way. The scheme refuses it in the
// gap, and the merchant requests another one. After the restore the first is not sent again: its merchant, who repeats
// it under the old Idempotency-Key, finds it failed.
func TestNotSentAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, path, first, second, reason string }{
		{"payout", "/pix/cash-out", `{"amount":31,"pix_key":"a@pix.test"}`, `{"amount":32,"pix_key":"a@pix.test"}`, "orphan_force_voided"},
		{"refund", "/pix/refund", `{"amount":31,ORIGINAL}`, `{"amount":32,ORIGINAL}`, "refund_not_resent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fs := vfs.NewMem()
			h := newHolding(31 * pix.UnitsPerCentavo)
			w := newHarness(t, fs, h.between)
			original := `"transaction_id":"` + w.receives(500_000, "").TransactionID + `"`
			body := func(of string) string { return strings.Replace(of, "ORIGINAL", original, 1) }
			answered := make(chan int, 1)
			go func() {
				status, _, _ := w.post(c.path, body(c.first), "Idempotency-Key", "first")
				answered <- status
			}()
			<-h.came
			file := w.snap()
			close(h.goOn)
			if status := <-answered; status < 400 && c.name == "payout" {
				t.Errorf("a refused payout is answered %d", status)
			}
			status, got, _ := w.post(c.path, body(c.second))
			second, _ := accepted(status, got)
			w.becoming(second.TransactionID, "settled")
			settled(t, w.Store)
			balance := w.money()
			w.stop()

			restoredAt(t, fs, file, "new")
			h.came = make(chan struct{})
			again := w.at(serveHarness(t, fs, backTo("new"), h.between))
			status, got, _ = again.post(c.path, body(c.first), "Idempotency-Key", "first")
			first, _ := accepted(status, got)
			again.becoming(first.TransactionID, "failed")
			if _, one := again.get("/transactions/" + first.TransactionID); !strings.Contains(one, `"`+c.reason+`"`) {
				t.Errorf("the first %s: %s", c.name, one)
			}
			if again.found(second.TransactionID).Status != "settled" || again.money() != balance {
				t.Errorf("%s, was %s", again.money(), balance)
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.sent[31*pix.UnitsPerCentavo] != 1 || h.sent[32*pix.UnitsPerCentavo] != 1 {
				t.Errorf("submitted %v times", h.sent)
			}
		})
	}
}

// TestWaitedInSnapshot makes a snapshot while payouts wait. One is declined in the gap, and its merchant requests it
// again: after the restore the first has failed, and only the other one is paid. One whose merchant chose the end-to-end id waits until
// an operator lets it go on; one with an id of the engine's goes on by itself.
func TestWaitedInSnapshot(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs)
	operate := func(w *harness, method, path, body string) {
		t.Helper()
		if status, got := w.operate(method, path, body); status != 200 {
			t.Fatal(status, got)
		}
	}
	w.receives(500_000, "")
	operate(w, "PATCH", "/admin/accounts/"+w.ID, `{"approval_threshold":10000}`)
	declined := w.paidOut(`{"amount":100,"pix_key":"a@pix.test"}`)
	w.capacity("client_limited")
	queued := w.paidOut(`{"amount":17,"pix_key":"b@pix.test"}`)
	own := w.paidOut(`{"amount":18,"pix_key":"c@pix.test","end_to_end_id":"` + pix.EndToEnd("99999004", w.Clock.Now(), "ownownown12") + `"}`)
	w.becoming(queued.TransactionID, "pending")
	w.becoming(own.TransactionID, "pending")
	file := w.snap()

	w.capacity("available")
	operate(w, "POST", "/admin/payouts/"+declined.TransactionID+"/decline", `{"operator":"ana"}`)
	instead := w.paidOut(`{"amount":100,"pix_key":"a@pix.test"}`)
	operate(w, "POST", "/admin/payouts/"+instead.TransactionID+"/approve", `{"operator":"ana"}`)
	w.becoming(instead.TransactionID, "settled")
	settled(t, w.Store)
	w.capacity("client_limited")
	w.stop()

	restoredAt(t, fs, file, "new")
	sent := newHolding(0)
	var log bytes.Buffer
	starting, started := context.WithCancel(t.Context())
	logs := func(c *Config) { c.Log, c.Starting = slog.New(slog.NewTextHandler(&log, nil)), starting }
	again := w.at(serveHarness(t, fs, backTo("new"), sent.between, logs))
	started()                           // as the program does once the engine is served
	again.tellHeld(again.Engine.ending) // which the engine does by itself, perhaps only now
	again.becoming(declined.TransactionID, "failed")
	again.becoming(instead.TransactionID, "settled")
	if status, got := again.operate("POST", "/admin/payouts/"+declined.TransactionID+"/approve", `{"operator":"ana"}`); status != 409 {
		t.Errorf("approved once more: %d %s", status, got)
	}
	again.capacity("available")
	again.becoming(queued.TransactionID, "settled")
	if got := again.found(own.TransactionID); got.Status != "pending" {
		t.Errorf("one whose merchant chose the id: %+v", got)
	}
	if _, got := again.operate("GET", "/admin/payouts?status=queued", ""); strings.Count(got, `"awaits_operator":true`) != 1 {
		t.Errorf("what is queued: %s", got)
	}
	operate(again, "POST", "/admin/payouts/"+own.TransactionID+"/approve", `{"operator":"ana"}`)
	again.becoming(own.TransactionID, "settled")
	again.agrees(again.refundedNow())
	again.stop()
	for amount, want := range map[pix.Amount]int{17: 1, 18: 1, 100: 0} {
		if got := sent.sent[amount*pix.UnitsPerCentavo]; got != want {
			t.Errorf("%v centavos were sent %d times, want %d", amount, got, want)
		}
	}
	if strings.Contains(log.String(), "not looked for") {
		t.Errorf("it ends with the start:\n%s", log.String())
	}
	for _, want := range []string{"transaction=" + own.TransactionID + " status=queued amount=1800", "pixd decline fails it\" payouts=1"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %s:\n%s", want, log.String())
		}
	}
}

// TestSendingIsAsked makes a snapshot while a payout that waited is on its way: after a restore the scheme is asked about
// it before anybody is served, although the first row of what is in flight leads to no record.
func TestSendingIsAsked(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	h := newHolding(17 * pix.UnitsPerCentavo)
	w := newHarness(t, fs, h.between)
	w.capacity("client_limited")
	p := w.paidOut(`{"amount":17,"pix_key":"a@pix.test"}`)
	w.becoming(p.TransactionID, "pending")
	w.capacity("available")
	<-h.came
	file := w.snap()
	row := wal.Op{Kind: wal.OpSet, Key: layout.OpenKey(0, pix.TxID{}), Value: layout.SeqRow(1)}
	if err := w.Store.WriteRows(wal.Local, row); err != nil {
		t.Fatal(err)
	}
	if all, err := w.inFlight(t.Context(), func(*ledger.Transaction) bool { return true }); len(all) != 1 || all[0].Tx.Public() != p.TransactionID || err != nil {
		t.Errorf("in flight beside one that cannot be read: %v %v", all, err)
	}
	close(h.goOn)
	w.becoming(p.TransactionID, "failed")
	w.stop()

	restoredAt(t, fs, file, "new")
	h.came = make(chan struct{})
	var log bytes.Buffer
	again := w.at(serveHarness(t, fs, backTo("new"), h.between, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) }))
	again.becoming(p.TransactionID, "failed")
	again.stop()
	if !strings.Contains(log.String(), `"asked the scheme about what is in flight" asked=1 `) {
		t.Errorf("the log does not say that it is asked about:\n%s", log.String())
	}
}
