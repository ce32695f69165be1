package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/scheme/sim"
)

// harness is a simulator with its routes and a clock that the test sets.
type harness struct {
	*testing.T
	fs    *vfs.MemFS
	at    pix.Millis
	sim   *sim.Sim
	serve fasthttp.RequestHandler
}

func newHarness(t *testing.T) *harness {
	w := &harness{T: t, fs: vfs.NewMem(), at: testNow}
	w.open()
	t.Cleanup(func() { w.close() })
	if err := w.sim.RegisterKey(t.Context(), pix.Key{Type: pix.KeyEVP, Value: evp}, 7); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *harness) open() {
	w.Helper()
	now, log := func() pix.Millis { return w.at }, slog.New(slog.DiscardHandler)
	s, err := sim.Open(sim.Options{Dir: "sim", FS: w.fs, SettleDelay: time.Second, Now: now, Entropy: draw, Log: log})
	if err != nil {
		w.Fatal(err)
	}
	r := router.New()
	Routes(r, s, now, log)
	w.sim, w.serve = s, r.Handler
}

func (w *harness) close() {
	if err := w.sim.Close(); err != nil {
		w.Error(err)
	}
}

func (w *harness) ask(method, uri, body string) (int, string) {
	var req fasthttp.Request
	req.Header.SetMethod(method)
	req.SetRequestURI(uri)
	req.SetBodyString(body)
	var ctx fasthttp.RequestCtx
	ctx.Init(&req, nil, nil)
	w.serve(&ctx)
	hold(w, uri, &ctx)
	return ctx.Response.StatusCode(), string(ctx.Response.Body())
}

// expect sends a request and checks the answer: the body must begin with says if the status
// is 2xx, and contain says otherwise.
func (w *harness) expect(method, uri, body string, status int, says string) string {
	w.Helper()
	got, answer := w.ask(method, uri, body)
	if status/100 != 2 {
		if !strings.HasPrefix(answer, fmt.Sprintf(`{"error":{"status":%d,"message":"`, status)) || !strings.Contains(answer, says) {
			w.Errorf("%s %s %s: %d %s, want %d with %s", method, uri, body, got, answer, status, says)
		}
	} else if got != status || !strings.HasPrefix(answer, says) {
		w.Errorf("%s %s %s: %d %s, want %d %s", method, uri, body, got, answer, status, says)
	}
	return answer
}

var payouts int

// payout submits a payout of the engine to a key that chooses the payout's outcome.
func (w *harness) payout(key string, amount pix.Amount) scheme.Payment {
	w.Helper()
	payouts++
	p := scheme.Payment{
		Tx: pix.NewTxID(w.at, [10]byte{9: byte(payouts)}), Account: 7, Amount: amount,
		EndToEnd: pix.EndToEnd("99999004", w.at, fmt.Sprintf("%011d", payouts)), Key: pix.Key{Type: pix.KeyEmail, Value: key},
	}
	if _, err := w.sim.Submit(w.Context(), p); err != nil {
		w.Fatal(err)
	}
	return p
}

// TestReturns checks that a payout can be returned in parts up to its amount, and that a
// payout cannot be returned before it has settled.
func TestReturns(t *testing.T) {
	w := newHarness(t)
	paid, rejected, silent := w.payout("ana@example.com", 100), w.payout("reject-ac03@pix.test", 100), w.payout("silent@pix.test", 100)
	dupl := paid
	dupl.Tx = pix.TxID{1}
	if _, err := w.sim.Submit(t.Context(), dupl); err != nil {
		t.Fatal(err)
	}
	back := func(e2e, more string, status int, says string) string {
		t.Helper()
		return w.expect("POST", "/sim/returns", `{"end_to_end_id":"`+e2e+`"`+more+`}`, status, says)
	}
	back(paid.EndToEnd, "", 422, "not settled")
	w.at += 1000
	for e2e, status := range map[string]int{rejected.EndToEnd: 422, silent.EndToEnd: 422, e2e: 404, "nonsense": 404, "": 404} {
		back(e2e, "", status, "")
	}
	for more, says := range map[string]string{
		`,"amount":0`: "amount", `,"amount":-1`: "amount", `,"amount":99999999999901`: "amount", `,"amount":null`: "amount",
		`,"amount":1.5`: "amount", `,"reason":"md06"`: "reason", `,"reason":"MD0"`: "reason", `,"reason":"MD066"`: "reason",
		`,"reason":""`: "reason", `,"reason":7`: "reason", `,"reason":"MD-6"`: "reason", `,"note":"x"`: "note",
	} {
		back(paid.EndToEnd, more, 400, says)
	}
	w.expect("POST", "/sim/returns", `{"amount":1}`, 400, "end_to_end_id")
	w.expect("POST", "/sim/returns", `{"end_to_end_id":7}`, 400, "end_to_end_id")
	back(paid.EndToEnd, `,"amount":101`, 422, "amount")
	first := back(paid.EndToEnd, `,"amount":30,"reason":"AM09"`, 201, `{"return_id":"D99999005`)
	back(paid.EndToEnd, `,"amount":71`, 422, "amount")
	w.at++
	second := back(paid.EndToEnd, "", 201, `{"return_id":"D99999005`)
	back(paid.EndToEnd, "", 422, "in full")
	back(paid.EndToEnd, `,"amount":1`, 422, "in full")
	var got Payment
	if err := json.Unmarshal([]byte(w.expect("GET", "/sim/book/"+paid.EndToEnd, "", 200, `{"kind":"payout","id":"`+paid.Tx.String())), &got); err != nil {
		t.Fatal(err)
	}
	if got.ReturnedAmount != 100 || len(got.Returns) != 2 || got.Returns[0].Amount != 30 || got.Returns[0].Reason != "AM09" ||
		got.Returns[1].Amount != 70 || got.Returns[1].Reason != "MD06" || got.Returns[1].At != w.at.String() ||
		`{"return_id":"`+got.Returns[0].ID+`"}` != first || `{"return_id":"`+got.Returns[1].ID+`"}` != second || first == second {
		t.Errorf("%+v, returned %s %s", got, first, second)
	}
}

// TestReturnsOfReceived checks that a customer's payment cannot be returned through
// /sim/returns, because it is not a payout.
func TestReturnsOfReceived(t *testing.T) {
	w := newHarness(t)
	w.expect("POST", "/sim/payments", `{"pix_key":"`+evp+`","amount":5,"end_to_end_id":"`+e2e+`"}`, 201, `{"end_to_end_id":"`+e2e)
	w.expect("POST", "/sim/returns", `{"end_to_end_id":"`+e2e+`"}`, 404, "no such payment")
}

// TestInfractions checks that a payer's report of a received payment can be opened and
// withdrawn, and that a notice is sent each time.
func TestInfractions(t *testing.T) {
	w := newHarness(t)
	w.expect("POST", "/sim/payments", `{"pix_key":"`+evp+`","amount":50,"end_to_end_id":"`+e2e+`"}`, 201, "")
	out := w.payout("settle-now@pix.test", 10)
	open := func(more string, status int, says string) string {
		t.Helper()
		return w.expect("POST", "/sim/infractions", `{"end_to_end_id":"`+e2e+`"`+more+`}`, status, says)
	}
	for more, c := range map[string]struct {
		status int
		says   string
	}{
		`,"amount":51`: {422, "amount"}, `,"amount":0`: {400, "amount"}, `,"amount":"1"`: {400, "amount"},
		`,"situation":"scam"`: {400, "SCAM, ACCOUNT_TAKEOVER"}, `,"situation":""`: {400, "situation"}, `,"x":1`: {400, "x"},
	} {
		open(more, c.status, c.says)
	}
	w.expect("POST", "/sim/infractions", `{}`, 400, "end_to_end_id")
	w.expect("POST", "/sim/infractions", `{"end_to_end_id":"`+out.EndToEnd+`"}`, 404, "payment")
	var opened [2]struct {
		ID string `json:"infraction_id"`
	}
	for n, more := range []string{"", `,"amount":20,"situation":"COERCION"`} {
		if err := json.Unmarshal([]byte(open(more, 201, `{"infraction_id":"`)), &opened[n]); err != nil || opened[n].ID == "" {
			t.Fatal(err)
		}
	}
	for range 2 {
		w.expect("POST", "/sim/infractions/"+opened[0].ID+"/cancel", "", 200, `{"infraction_id":"`+opened[0].ID+`","status":"cancelled"}`)
	}
	w.expect("POST", "/sim/infractions/"+opened[0].ID+"/cancel", "{}", 200, "")
	w.expect("POST", "/sim/infractions/"+opened[0].ID+"/cancel", `{"why":1}`, 400, "why")
	w.expect("POST", "/sim/infractions/nobody/cancel", "", 404, "infraction")
	var reported []scheme.Notice
	for n, done, ok := w.sim.Due(); ok; n, done, ok = w.sim.Due() {
		reported = append(reported, n)
		done(nil)
	}
	want := []scheme.Notice{
		{Kind: scheme.InfractionOpened, EndToEnd: e2e, Account: 7, Infraction: opened[0].ID, Amount: 50, Situation: "SCAM"},
		{Kind: scheme.InfractionOpened, EndToEnd: e2e, Account: 7, Infraction: opened[1].ID, Amount: 20, Situation: "COERCION"},
		{Kind: scheme.InfractionCancelled, EndToEnd: e2e, Account: 7, Infraction: opened[0].ID},
	}
	if len(reported) != 4 || reported[0].Kind != scheme.PaymentArrived || fmt.Sprint(reported[1:]) != fmt.Sprint(want) {
		t.Errorf("told %+v", reported)
	}
}

// TestCapacity checks that the directory's capacity applies to every look-up, before the
// outcome that the key chooses, and that it survives a restart.
func TestCapacity(t *testing.T) {
	w := newHarness(t)
	look := func(key string) string {
		_, err := w.sim.Lookup(context.Background(), scheme.Query{Tx: pix.TxID{3}, Key: pix.Key{Type: pix.KeyEmail, Value: key}})
		return fmt.Sprint(err)
	}
	for _, c := range []struct{ lookups, ana, nobody string }{
		{"client_limited", "scheme: refused: dict_rate_limited", "scheme: refused: dict_rate_limited"},
		{"bucket_exhausted", "scheme: refused: dict_bucket_exhausted", "scheme: refused: dict_bucket_exhausted"},
		{"available", "<nil>", "scheme: refused: dict_key_not_found"},
	} {
		w.expect("PUT", "/sim/capacity", `{"lookups":"`+c.lookups+`"}`, 200, `{"lookups":"`+c.lookups+`"}`)
		for range 2 {
			if ana, nobody := look("ana@example.com"), look("not-found@pix.test"); ana != c.ana || nobody != c.nobody {
				t.Errorf("%s: %s, %s", c.lookups, ana, nobody)
			}
			w.close()
			w.open()
		}
	}
	for body, says := range map[string]string{
		`{}`: "lookups is required", `{"lookups":"none"}`: "lookups must be available, client_limited or bucket_exhausted", `{"lookups":null}`: "lookups", `{"lookups":1}`: "lookups",
		`{"lookups":"available","x":1}`: "x", ``: "JSON object",
	} {
		w.expect("PUT", "/sim/capacity", body, 400, says)
	}
}
