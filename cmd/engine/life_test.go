package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/httpapi/admin"
)

// life is the answer about what happened to a transaction.
type life struct {
	Transaction json.RawMessage
	Data        []admin.LifeEntry
	Complete    bool
}

// lifeOf reads what happened to a transaction, and checks that its item is the one that the
// transaction's own path shows, that its entries are in the order of their times, and that it has
// no secret.
func (w *harness) lifeOf(id string) (l life) {
	w.t.Helper()
	status, got := w.operate("GET", "/admin/transactions/"+id+"/history", "")
	if status != 200 || json.Unmarshal([]byte(got), &l) != nil || !l.Complete {
		w.t.Fatalf("%d %s", status, got)
	}
	if _, item := w.operate("GET", "/admin/transactions/"+id, ""); string(l.Transaction) != item {
		w.t.Errorf("the item is %s\nwant %s", l.Transaction, item)
	}
	if !slices.IsSortedFunc(l.Data, func(a, b admin.LifeEntry) int { return strings.Compare(a.At, b.At) }) {
		w.t.Errorf("not in order: %s", got)
	}
	for _, word := range []string{"secret", "whsec_", w.Sec, "127.0.0.1:"} {
		if strings.Contains(got, word) {
			w.t.Errorf("it has %q: %s", word, got)
		}
	}
	return l
}

// line is an entry in one line, without its time and ids.
func line(e *admin.LifeEntry) string {
	words := []string{e.Kind}
	if e.Amount != nil {
		words = append(words, fmt.Sprint(int64(*e.Amount)))
	}
	for _, word := range []string{e.Status, e.Reason, e.Operator, e.Type, e.Err} {
		if word != "" {
			words = append(words, word)
		}
	}
	if e.Code != 0 {
		words = append(words, fmt.Sprint(e.Code))
	}
	return strings.Join(words, " ")
}

// lines are those of the entries whose kinds begin with one of the given texts, each in one line.
func (l *life) lines(kinds ...string) (all []string) {
	for i := range l.Data {
		if e := &l.Data[i]; slices.ContainsFunc(kinds, func(kind string) bool { return strings.HasPrefix(e.Kind, kind) }) {
			all = append(all, line(e))
		}
	}
	return all
}

// sameLines compares lines.
func sameLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestLifeOfPayouts checks what is shown of a payout that an operator approved, of one that an
// operator declined, and of one that the scheme rejected, with a delivery that failed once.
func TestLifeOfPayouts(t *testing.T) {
	t.Parallel()
	r, c := newReceiver(t), newClocks()
	r.clock = c
	fs := vfs.NewMem()
	w := newHarness(t, fs, insecure, func(o *Config) { o.Clocks = c.sources() })
	w.receives(1_000_000, "")
	h := w.hooks(r.URL+"/a", `"pix.payout.confirmed"`)
	if status, got := w.operate("PATCH", "/admin/accounts/"+w.ID, `{"approval_threshold":100000}`); status != 200 {
		t.Fatal(got)
	}
	approved := w.paidOut(`{"amount":2000,"pix_key":"a@pix.test"}`)
	declined := w.paidOut(`{"amount":3000,"pix_key":"b@pix.test"}`)
	r.status.Store(503)
	for id, word := range map[string]string{approved.TransactionID: "approve", declined.TransactionID: "decline"} {
		if status, got := w.operate("POST", "/admin/payouts/"+id+"/"+word, `{"operator":"ana"}`); status != 200 {
			t.Fatal(got)
		}
	}
	w.becoming(approved.TransactionID, "settled")
	w.becomes("tried", soon, func() bool { all := w.deliveries(h.ID, ""); return len(all) == 1 && len(all[0].Attempts) == 1 })
	r.status.Store(200)
	c.pass(10 * time.Second)
	w.becomes("delivered", soon, func() bool { return len(w.deliveries(h.ID, "?status=delivered")) == 1 })
	l := w.lifeOf(approved.TransactionID)
	all := slices.DeleteFunc(l.lines("payout"), func(one string) bool { return one == "payout_sent 200000 accepted" }) // the notice may overtake it
	sameLines(t, all, "payout_held 200000 held", "payout_pending 200000 pending_approval", "payout_approved 200000 sending ana", "payout_settled 200000 settled")
	sameLines(t, l.lines("event", "delivery"),
		"event pix.payout.confirmed", "delivery delivered pix.payout.confirmed", "event pix.completed", "delivery_attempt pix.payout.confirmed 503", "delivery_attempt pix.payout.confirmed 200",
	)
	for i, e := range l.Data {
		if known := strings.HasPrefix(e.ID, "evt_") || strings.HasPrefix(e.ID, "dlv_"); known != (e.Kind == "event" || strings.HasPrefix(e.Kind, "delivery")) || e.Record == nil || i > 0 && *e.Record < *l.Data[i-1].Record {
			t.Errorf("%+v", e)
		}
	}
	l = w.lifeOf(declined.TransactionID)
	sameLines(t, l.lines(""),
		"payout_held 300000 held", "payout_pending 300000 pending_approval", "payout_failed 300000 failed approval_declined ana", "event pix.payout.failed")
	rejected := w.paidOut(`{"amount":500,"pix_key":"reject-ac03@pix.test"}`)
	w.becoming(rejected.TransactionID, "rejected")
	l = w.lifeOf(rejected.EndToEnd)
	sameLines(t, l.lines(""), "payout_held 50000 held", "payout_accepted 50000 accepted", "payout_rejected 50000 rejected AC03", "event pix.payout.rejected")
	back := w.paidOut(`{"amount":700,"pix_key":"c@pix.test"}`)
	w.becoming(back.TransactionID, "settled")
	if status, got := w.operate("POST", "/sim/returns", fmt.Sprintf(`{"end_to_end_id":%q,"amount":30000}`, back.EndToEnd)); status != 201 {
		t.Fatal(got)
	}
	w.becomes("returned", soon, func() bool { i := w.found(back.TransactionID); return i.Returned != nil && *i.Returned == 30_000 })
	l = w.lifeOf(back.TransactionID)
	sameLines(t, l.lines("payout", "return", "event"), "payout_held 70000 held", "payout_accepted 70000 accepted", "payout_settled 70000 settled", "event pix.payout.confirmed", "event pix.completed",
		"return_received 30000 completed MD06", "payout_returned 30000 settled", "event pix.payout.returned")
	i := slices.IndexFunc(l.Data, func(e admin.LifeEntry) bool { return e.Kind == "return_received" })
	l = w.lifeOf(l.Data[i].ID)
	sameLines(t, l.lines(""), "original 70000 settled", "return_received 30000 completed MD06", "event pix.return.received")
	if l.Data[0].ID != back.TransactionID || l.Data[0].Record != nil {
		t.Errorf("%+v", l.Data[0])
	}
}

// TestLifeOfPayment checks what is shown of a received payment with two refunds and a case, of one of its
// refunds, and that of another payment nothing of it is shown; and that no account enters memory for it.
func TestLifeOfPayment(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs)
	other := w.receives(50_000, "")
	p := w.receives(100_000, "")
	w.receives(30_000, "")
	first := w.taken(`"amount":100,`, p.ID)
	w.ends(first.TransactionID, "settled")
	elsewhere := w.taken(`"amount":50,`, other.ID)
	w.ends(elsewhere.TransactionID, "settled")
	_, k := w.reports(p, 60_000)
	if status, got := w.analysed(k.ID, "AGREED"); status != 200 {
		t.Fatal(got)
	}
	w.caseIs(k.ID, "closed AGREED 60000 held 0 covered 0 refunded 60000")
	w.stop()
	w = w.at(serveHarness(t, fs))
	inMemory := w.Accounts.InMemory()
	l := w.lifeOf(p.TransactionID)
	sameLines(t, l.lines("payment", "case"), "payment_received 100000 completed", "case_opened 60000 open", "case_closed 60000 closed AGREED", "case_refunding 0 closed", "case_refunded 0 closed")
	sameLines(t, l.lines("refund"),
		"refund_held 10000 held", "refund_accepted 10000 accepted", "refund_settled 10000 settled", "refund_held 60000 held", "refund_accepted 60000 accepted", "refund_settled 60000 settled")
	sameLines(t, l.lines("event"), "event pix.received", "event pix.completed", "event pix.refund.requested", "event pix.med.closed")
	refunds := map[string]int{}
	own := ""
	for _, e := range l.Data {
		switch {
		case strings.HasPrefix(e.Kind, "refund"):
			refunds[e.ID]++
			own = e.ID
		case strings.HasPrefix(e.Kind, "case") && e.ID != k.ID, e.Kind == "payment_received" && e.ID != "":
			t.Errorf("%+v", e)
		}
	}
	if len(refunds) != 2 || refunds[first.TransactionID] != 3 || refunds[own] != 3 {
		t.Errorf("%v", refunds)
	}
	l = w.lifeOf(own)
	sameLines(t, l.lines("original", "refund", "case_opened", "case_refunded"), "original 100000 completed", "case_opened 60000 open", "refund_held 60000 held", "refund_accepted 60000 accepted", "refund_settled 60000 settled", "case_refunded 0 closed")
	if l.Data[0].Kind != "original" || l.Data[0].ID != p.TransactionID {
		t.Errorf("%+v", l.Data[0])
	}
	l = w.lifeOf(first.TransactionID)
	sameLines(t, l.lines("original", "refund", "case"), "original 100000 completed", "refund_held 10000 held", "refund_accepted 10000 accepted", "refund_settled 10000 settled")
	l = w.lifeOf(other.TransactionID)
	sameLines(t, l.lines("payment", "refund", "case"), "payment_received 50000 completed", "refund_held 5000 held", "refund_accepted 5000 accepted", "refund_settled 5000 settled")
	if n := w.Accounts.InMemory(); n != inMemory {
		t.Errorf("%d accounts in memory, %d before", n, inMemory)
	}
	if err := verifyAtRest(w, fs); err != nil {
		t.Error(err)
	}
}
