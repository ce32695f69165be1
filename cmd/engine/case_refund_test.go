package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// refusing is a scheme that refuses refunds with a code for as long as there is one.
type refusing struct {
	scheme.Scheme
	code  atomic.Uint32 // a ledger.RefusalCode; 0: refunds go through
	tries atomic.Int32
	mute  atomic.Bool // what was returned of a payment cannot be asked
}

func (r *refusing) Return(ctx context.Context, p scheme.Refund) (scheme.State, error) {
	r.tries.Add(1)
	if code := ledger.RefusalCode(r.code.Load()); code != ledger.RefuseNothing {
		return scheme.State{}, &scheme.Refused{Code: code}
	}
	return r.Scheme.Return(ctx, p)
}

func (r *refusing) Returns(ctx context.Context, a pix.AccountID, endToEnd string) ([]ledger.Returned, error) {
	if r.mute.Load() {
		return nil, context.DeadlineExceeded
	}
	return r.Scheme.Returns(ctx, a, endToEnd)
}

// Movements implements scheme.Scheme.
func (r *refusing) Movements(context.Context, pix.Millis, string, int) (scheme.MovementPage, error) {
	return scheme.MovementPage{}, errUnlisted
}

// between puts a refusing scheme between the engine and its own.
func between(r *refusing) func(*Config) {
	return func(c *Config) { c.wrapScheme = func(s scheme.Scheme) scheme.Scheme { r.Scheme = s; return r } }
}

// operatorOf reads what operators see of a case beyond what its merchant sees.
func (w *harness) operatorOf(id string) (failed, awaits bool) {
	w.t.Helper()
	var k struct {
		Failed bool `json:"refund_failed"`
		Awaits bool `json:"awaits_resume"`
	}
	if status, got := w.operate("GET", "/admin/med/"+id, ""); status != 200 || json.Unmarshal([]byte(got), &k) != nil {
		w.t.Fatalf("%d %s", status, got)
	}
	return k.Failed, k.Awaits
}

// TestCaseRefusedForNow checks that a refund for a case which the scheme only refuses for now
// is tried again under the same ids until it goes through, and that nobody is alerted.
func TestCaseRefusedForNow(t *testing.T) {
	t.Parallel()
	var r refusing
	w := newHarness(t, vfs.NewMem(), between(&r))
	p := w.receives(100_000, "")
	_, k := w.reports(p, 60_000)
	r.code.Store(uint32(ledger.RefuseRateLimited))
	if status, got := w.analysed(k.ID, "AGREED"); status != 200 {
		t.Fatalf("%d %s", status, got)
	}
	w.becomes("refused twice", 10*time.Second, func() bool { return r.tries.Load() >= 2 })
	w.caseIs(k.ID, "closed AGREED 60000 held 0 covered 0 refunded 0")
	if failed, _ := w.operatorOf(k.ID); failed {
		t.Error("a refusal for now counts as a failure")
	}
	r.code.Store(0)
	w.becomes("refunded", 15*time.Second, func() bool { return w.cases()[0].Refunded == 60_000 })
	if _, got := w.operate("GET", "/admin/alerts", ""); strings.Contains(got, "med_") || strings.Contains(got, "refund_") {
		t.Errorf("alerts %s", got)
	}
	if n := w.refundsOf(p.TransactionID); n != 1 {
		t.Errorf("%d refunds of the payment", n)
	}
}

// refundsOf counts the merchant's transactions that refund a payment.
func (w *harness) refundsOf(payment string) int {
	w.t.Helper()
	status, got := w.get("/transactions?per_page=100")
	if status != 200 {
		w.t.Fatalf("%d %s", status, got)
	}
	return strings.Count(got, fmt.Sprintf(`"original_transaction_id":%q`, payment))
}

// TestCaseTriedAgain checks a case of which a refund was refused for good: an operator has it
// tried again under a new id, and the merchant may refund the payment, too.
func TestCaseTriedAgain(t *testing.T) {
	t.Parallel()
	var r refusing
	w := newHarness(t, vfs.NewMem(), between(&r))
	p := w.receives(100_000, "")
	_, k := w.reports(p, 60_000)
	ana := `{"operator":"ana"}`
	if status, got := w.operate("POST", "/admin/med/"+k.ID+"/refund", ana); status != 409 || !strings.Contains(got, "no refund for the case has failed for good") {
		t.Errorf("%d %s", status, got)
	}
	r.code.Store(uint32(ledger.RefuseProvider))
	w.analysed(k.ID, "AGREED")
	w.becomes("stopped", soon, func() bool { failed, _ := w.operatorOf(k.ID); return failed })
	w.caseIs(k.ID, "closed AGREED 60000 held 60000 covered 60000 refunded 0")
	if _, got := w.operate("GET", "/admin/alerts", ""); strings.Count(got, `"med_refund_failed"`) != 1 {
		t.Errorf("alerts %s", got)
	}
	if status, got := w.operate("POST", "/admin/med/"+k.ID+"/refund", `{}`); status != 400 || !strings.Contains(got, "operator is required") {
		t.Errorf("%d %s", status, got)
	}
	status, got := w.operate("POST", "/admin/med/"+k.ID+"/refund", ana)
	if status != 202 || !strings.Contains(got, `"id":"`+k.ID+`"`) || !strings.Contains(got, `"held_amount":0`) {
		t.Errorf("%d %s", status, got)
	}
	w.becomes("stopped again", soon, func() bool { failed, _ := w.operatorOf(k.ID); return failed && r.tries.Load() == 2 })
	r.code.Store(0)
	back := w.taken(`"amount":500,`, p.ID)
	w.ends(back.TransactionID, "settled")
	w.caseIs(k.ID, "closed AGREED 60000 held 10000 covered 10000 refunded 50000")
	if status, got := w.operate("POST", "/admin/med/"+k.ID+"/refund", ana); status != 202 {
		t.Errorf("%d %s", status, got)
	}
	w.caseIs(k.ID, "closed AGREED 60000 held 0 covered 0 refunded 60000")
	w.moneyIs(1_040_000, 1_040_000, 0)
}

// TestRestoredCaseIsNotRefundedTwice takes a snapshot of an open case, lets its silence end it
// and the refund settle, and restores: the restored engine does nothing by itself, and once an
// operator lets the case go on it counts what the scheme has returned.
func TestRestoredCaseIsNotRefundedTwice(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	short := func(c *Config) { c.MEDDeadline, c.MEDAnalysis = 2*time.Second, 9*time.Second }
	w := newHarness(t, fs, short)
	p := w.receives(50_000, "")
	_, k := w.reports(p, 50_000)
	file := w.snap()
	w.caseIs(k.ID, "closed AGREED 50000 held 0 covered 0 refunded 50000")
	w.stop()
	restoredAt(t, fs, file, "new")
	var r refusing
	again := w.at(serveHarness(t, fs, short, from("new"), between(&r)))
	again.becomes("its time is over", 10*time.Second, func() bool {
		_, got := again.operate("GET", "/admin/alerts", "")
		return strings.Contains(got, `"med_undecided"`)
	})
	again.caseIs(k.ID, "open - 50000 held 50000 covered 50000 refunded 0")
	if _, awaits := again.operatorOf(k.ID); !awaits {
		t.Error("it does not wait for an operator")
	}
	ana := `{"operator":"ana"}`
	r.mute.Store(true)
	if status, got := again.operate("POST", "/admin/med/"+k.ID+"/resume", ana); status != 503 || !strings.Contains(got, "could not say what was returned") {
		t.Errorf("%d %s", status, got)
	}
	r.mute.Store(false)
	status, got := again.operate("POST", "/admin/med/"+k.ID+"/resume", ana)
	if status != 202 || !strings.Contains(got, `"awaits_resume":false`) || !strings.Contains(got, `"refunded_amount":50000`) {
		t.Errorf("%d %s", status, got)
	}
	again.caseIs(k.ID, "closed AGREED 50000 held 0 covered 0 refunded 50000")
	if status, got := again.operate("POST", "/admin/med/"+k.ID+"/resume", ana); status != 409 || !strings.Contains(got, "does not wait for an operator") {
		t.Errorf("%d %s", status, got)
	}
	if r.tries.Load() != 0 {
		t.Errorf("%d refunds were sent", r.tries.Load())
	}
	var book struct {
		Accounts []struct {
			Received   pix.Amount
			ReturnedBy pix.Amount `json:"returned_by"`
		}
	}
	if _, got := again.operate("GET", "/sim/book", ""); json.Unmarshal([]byte(got), &book) != nil || len(book.Accounts) != 1 || book.Accounts[0].Received != 50_000 || book.Accounts[0].ReturnedBy != 50_000 {
		t.Errorf("the scheme's book: %s", got)
	}
	if status, got := again.operate("GET", "/admin/audit", ""); status != 200 || !strings.Contains(got, `"differences":[]`) {
		t.Errorf("%d %s", status, got)
	}
}

// TestRestoredRefundIsNotSentAgain takes a snapshot while a refund for a case is refused for now,
// and restores: the scheme does not know the refund and would take it now, but it may have gone
// back in the gap under another id. So it fails, and waits for an operator.
func TestRestoredRefundIsNotSentAgain(t *testing.T) {
	t.Parallel()
	var r, well refusing
	fs := vfs.NewMem()
	w := newHarness(t, fs, between(&r))
	p := w.receives(50_000, "")
	_, k := w.reports(p, 50_000)
	r.code.Store(uint32(ledger.RefuseRateLimited))
	w.analysed(k.ID, "AGREED")
	w.becomes("on its way", soon, func() bool { return w.refundsOf(p.TransactionID) == 1 })
	file := w.snap()
	w.stop()
	restoredAt(t, fs, file, "new")
	again := w.at(serveHarness(t, fs, from("new"), between(&well)))
	again.becomes("it has failed", 15*time.Second, func() bool { failed, awaits := again.operatorOf(k.ID); return failed && awaits })
	again.caseIs(k.ID, "closed AGREED 50000 held 50000 covered 50000 refunded 0")
	if _, got := again.operate("GET", "/admin/alerts", ""); strings.Count(got, `"med_refund_failed"`) != 1 || !strings.Contains(got, "refund_not_resent") {
		t.Errorf("alerts %s", got)
	}
	ana := `{"operator":"ana"}`
	for _, c := range []struct {
		path, says string
		status     int
	}{
		{"/refund", "must let it go on first", 409},
		{"/resume", `"awaits_resume":false`, 202},
		{"/refund", "may still settle until", 409},
	} {
		if status, got := again.operate("POST", "/admin/med/"+k.ID+c.path, ana); status != c.status || !strings.Contains(got, c.says) {
			t.Errorf("%s: %d %s", c.path, status, got)
		}
	}
	if n := well.tries.Load(); n != 0 {
		t.Errorf("the restored engine sent %d refunds", n)
	}
}
