package engine

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/audit"
	"pixd/actors/pix"
	"pixd/httpapi"
)

// refunded holds those fields of a refund, as its answer or its item shows it, that these
// tests need.
type refunded struct {
	item
	Amount           pix.Amount
	Direction        string
	OriginalID       string  `json:"original_transaction_id"`
	OriginalEndToEnd string  `json:"original_end_to_end_id"`
	CompletedAt      *string `json:"completed_at"`
}

// post posts a signed body as the merchant.
func (w *harness) post(path, body string, headers ...string) (int, string, http.Header) {
	w.t.Helper()
	mac, err := httpapi.Sign([]byte(w.Sec), []byte(body), false)
	if err != nil {
		w.t.Fatal(err)
	}
	headers = append([]string{"Authorization", "ApiKey " + w.Key + ":" + w.Sec, "hmac", mac, "Content-Type", "application/json"}, headers...)
	return w.send("POST", "http://"+w.MerchantAddr.String()+"/api/external"+path, body, headers...)
}

// get reads a path as the merchant.
func (w *harness) get(path string) (int, string) {
	w.t.Helper()
	status, got, _ := w.send("GET", "http://"+w.MerchantAddr.String()+"/api/external"+path, "", "Authorization", "ApiKey "+w.Key+":"+w.Sec)
	return status, got
}

// receives has a customer pay an amount in base units, and returns the received payment. more
// are further members of the simulator's request.
func (w *harness) receives(amount pix.Amount, more string) (i item) {
	w.t.Helper()
	status, got := w.operate("POST", "/sim/payments", fmt.Sprintf(`{"pix_key":%q,"amount":%d%s}`, w.EVP, amount, more))
	if status != 201 || json.Unmarshal([]byte(got), &i) != nil {
		w.t.Fatalf("%d %s", status, got)
	}
	w.becomes("credited", soon, func() bool {
		status, got = w.operate("GET", "/admin/transactions/"+i.EndToEnd, "")
		return status == 200
	})
	if err := json.Unmarshal([]byte(got), &i); err != nil {
		w.t.Fatalf("%s %v", got, err)
	}
	return i
}

// refunds posts a refund of the payment with that name, and returns its status and answer.
// more are further members of the body, which come before the name.
func (w *harness) refunds(more, original string, headers ...string) (int, string) {
	w.t.Helper()
	status, got, _ := w.post("/pix/refund", `{`+more+`"original_transaction_id":"`+original+`"}`, headers...)
	return status, got
}

// taken posts a refund that must be accepted, and returns its answer.
func (w *harness) taken(more, original string) refunded {
	w.t.Helper()
	status, got := w.refunds(more, original)
	r, ok := accepted(status, got)
	if !ok {
		w.t.Fatalf("a refund of %s: %d %s", original, status, got)
	}
	return r
}

// accepted reads the answer to a refund; false for a refusal. A refund that settled before its
// request was answered is answered 200.
func accepted(status int, got string) (r refunded, ok bool) {
	want := map[int]string{200: "settled", 202: "accepted"}[status]
	ok = want != "" && json.Unmarshal([]byte(got), &r) == nil && r.Status == want
	return r, ok
}

// ends waits until a refund has the given status, and returns its item.
func (w *harness) ends(id, status string) (r refunded) {
	w.t.Helper()
	w.becoming(id, status)
	code, got := w.get("/transactions/" + id)
	if code != 200 || json.Unmarshal([]byte(got), &r) != nil {
		w.t.Fatalf("%d %s", code, got)
	}
	return r
}

// moneyIs compares the merchant's balance.
func (w *harness) moneyIs(balance, available, pending pix.Amount) {
	w.t.Helper()
	want := fmt.Sprintf(`{"worked":true,"balance":%d,"available":%d,"pending":%d,"currency":"BRL"}`, balance, available, pending)
	if got := w.money(); got != want {
		w.t.Errorf("money %s, want %s", got, want)
	}
}

// agrees checks that an audit finds no difference between the records, the rows and the scheme's
// book, and how much the account has refunded.
func (w *harness) agrees(refunds pix.Amount) {
	w.t.Helper()
	r := w.audits()
	if r.Book != audit.Compared || len(r.Differences) > 0 {
		w.t.Errorf("%+v", r)
	}
	for _, row := range r.Rows {
		if row.ID == w.ID && row.ReturnedBy != refunds {
			w.t.Errorf("refunded %d, want %d", row.ReturnedBy, refunds)
		}
	}
}

// TestRefunds checks refunds over HTTP, from the request to the scheme's book: partial ones by
// each of the payment's names, a full one, those that the scheme rejects, and refusals.
func TestRefunds(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs)
	stranger := w.another()
	p := w.receives(100_000, `,"payer":{"name":"Ana","document":"12345678909","ispb":"60701190"}`)
	for n, name := range []string{p.ID, p.TransactionID, p.EndToEnd} {
		for _, unknown := range []string{name, "PIXINAAAAAAAAAAAAAAAAAAAA", "nobody"} {
			status, got := stranger.refunds("", unknown)
			if status != 404 || got != `{"worked":false,"errors":{"not_found":"transaction not found"}}` {
				t.Errorf("a stranger refunds %s: %d %s", unknown, status, got)
			}
		}
		r := w.taken(`"amount":30,`, name)
		if r.Amount != 3000 || r.EndToEnd[0] != 'D' || !strings.HasPrefix(r.TransactionID, "PIXRET") {
			t.Errorf("%+v", r)
		}
		got := w.ends(r.TransactionID, "settled")
		if got.EndToEnd != r.EndToEnd || got.OriginalID != p.TransactionID || got.OriginalEndToEnd != p.EndToEnd || got.Amount != 3000 || got.Direction != "outbound" || got.CompletedAt == nil {
			t.Errorf("refund %d: %+v", n, got)
		}
	}
	w.moneyIs(1_091_000, 1_091_000, 0)
	w.agrees(9000)
	const over = `{"worked":false,"errors":{"unprocessable_entity":"the refunds would exceed the original amount"}}`
	for _, more := range []string{"", `"amount":911,`, `"amount":1000,`, `"amount":999999999999,`} {
		if status, got := w.refunds(more, p.ID); status != 422 || got != over {
			t.Errorf("%s: %d %s", more, status, got)
		}
	}
	key := []string{"Idempotency-Key", "rest"}
	status, first := w.refunds(`"amount":910,`, p.EndToEnd, key...)
	if _, ok := accepted(status, first); !ok {
		t.Fatalf("%d %s", status, first)
	}
	code := status
	replayed := func() {
		t.Helper()
		for _, more := range []string{`"amount":910,`, `"amount":1,`, `"amount":0,`} {
			status, got, header := w.post("/pix/refund", `{`+more+`"original_transaction_id":"`+p.EndToEnd+`"}`, key...)
			if status != code || got != first || header.Get("X-Idempotent-Replay") != "true" || (header.Get("X-Idempotent-Body-Mismatch") == "true") != (more != `"amount":910,`) {
				t.Errorf("%s: %d %s %v", more, status, got, header)
			}
		}
	}
	replayed()
	w.becomes("debited", soon, func() bool { return strings.Contains(w.money(), `"balance":1000000,`) })
	w.stop()
	w = w.at(serveHarness(t, fs))
	replayed()
	for _, more := range []string{"", `"amount":1,`} {
		if status, got := w.refunds(more, p.ID); status != 422 || got != over {
			t.Errorf("after the restart %s: %d %s", more, status, got)
		}
	}
	w.moneyIs(1_000_000, 1_000_000, 0)
	w.agrees(100_000)
	if err := verifyAtRest(w, fs); err != nil {
		t.Error(err)
	}
}

// verifyAtRest ends the engine and verifies its journal.
func verifyAtRest(w *harness, fs *vfs.MemFS) error {
	w.t.Helper()
	w.stop()
	return verifyOn(fs)
}

// TestRejectedRefunds checks refunds that the scheme rejects: their part of the payment can be
// refunded again.
func TestRejectedRefunds(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs)
	p := w.receives(50_000, "")
	old := w.receives(7000, fmt.Sprintf(`,"paid_at":%q`, time.Now().Add(-91*24*time.Hour).UTC().Format(time.RFC3339)))
	for range 2 {
		for reason, of := range map[string]item{"CH16": p, "DT05": old} {
			more := ""
			if reason == "CH16" {
				more = `"reason":"XX99",`
			}
			r := w.taken(more, of.ID)
			got := w.ends(r.TransactionID, "failed")
			if got.Reason == nil || *got.Reason != reason || got.CompletedAt != nil {
				t.Errorf("%+v, want %s", got, reason)
			}
			w.moneyIs(1_057_000, 1_057_000, 0)
		}
	}
	w.agrees(0)
	r := w.taken(`"description":"late","return_code":"SL02",`, old.ID) // the limit of 90 days is MD06's alone
	w.ends(r.TransactionID, "settled")
	w.moneyIs(1_050_000, 1_050_000, 0)
	w.agrees(7000)
	if err := verifyAtRest(w, fs); err != nil {
		t.Error(err)
	}
}

// TestRefundSettlesInTheCall checks the answer 200, and what may not be refunded.
func TestRefundSettlesInTheCall(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem(), func(c *Config) { c.SettleDelay = 0 })
	p := w.receives(50_000, "")
	r := w.taken("", p.TransactionID)
	if r.Status != "settled" || r.Amount != 50_000 {
		t.Errorf("%+v", r)
	}
	w.moneyIs(1_000_000, 1_000_000, 0)
	w.agrees(50_000)
	sent := w.paidOut(`{"amount":500,"pix_key":"a@pix.test"}`)
	_, charged, _ := w.charge()
	var open item
	if err := json.Unmarshal([]byte(charged), &open); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{sent.ID, sent.TransactionID, sent.EndToEnd, open.TransactionID, r.TransactionID, r.EndToEnd} {
		if status, got := w.refunds("", name); status != 404 || got != `{"worked":false,"errors":{"not_found":"transaction not found"}}` {
			t.Errorf("%s: %d %s", name, status, got)
		}
	}
	poor := w.receives(2_000_000, "")
	w.paidOut(`{"amount":25000,"pix_key":"a@pix.test"}`)
	if status, got := w.refunds("", poor.ID); status != 422 || got != `{"worked":false,"errors":{"unprocessable_entity":"insufficient balance"}}` {
		t.Errorf("%d %s", status, got)
	}
}

// TestRefundsAtOnce checks that 64 refunds of one payment at once, of which about a third fit,
// never come to more than the payment, and that each that was accepted is in the scheme's
// book.
func TestRefundsAtOnce(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs)
	const each, fit = 4700, 21
	p := w.receives(each*fit+each-1, "")
	var taken sync.Map
	var all sync.WaitGroup
	for n := range 64 {
		all.Go(func() {
			name := [...]string{p.ID, p.TransactionID, p.EndToEnd}[n%3]
			status, got := w.refunds(`"amount":47,`, name)
			if r, ok := accepted(status, got); ok {
				taken.Store(r.EndToEnd, r.TransactionID)
			} else if status != 422 || !strings.Contains(got, "exceed the original amount") {
				t.Errorf("%d %s", status, got)
			}
		})
	}
	all.Wait()
	n := 0
	taken.Range(func(_, id any) bool { n++; w.ends(id.(string), "settled"); return true })
	if n != fit {
		t.Errorf("%d accepted, want %d", n, fit)
	}
	w.moneyIs(1_000_000+each-1, 1_000_000+each-1, 0)
	w.agrees(each * fit)
	taken.Range(func(id, _ any) bool {
		if status, got := w.operate("GET", "/sim/book/"+id.(string), ""); status != 200 || !strings.Contains(got, `"kind":"refund"`) {
			t.Errorf("%v: %d %s", id, status, got)
		}
		return true
	})
	if err := verifyAtRest(w, fs); err != nil {
		t.Error(err)
	}
}
