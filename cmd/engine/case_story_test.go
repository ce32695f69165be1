package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// specialReturn holds those fields of a special-return case that these tests need.
type specialReturn struct {
	ID          string
	Transaction string `json:"transaction_id"`
	EndToEnd    string `json:"end_to_end_id"`
	Amount      pix.Amount
	Held        pix.Amount `json:"held_amount"`
	Covered     pix.Amount `json:"covered_amount"`
	Refunded    pix.Amount `json:"refunded_amount"`
	Situation   string
	Status      string
	Result      *string `json:"analysis_result"`
	Defense     *struct{ Justification, Result string }
	ClosedAt    *string `json:"closed_at"`
}

// sums is the state of a case in one line.
func (k *specialReturn) sums() string {
	result := "-"
	if k.Result != nil {
		result = *k.Result
	}
	return fmt.Sprintf("%s %s %d held %d covered %d refunded %d", k.Status, result, k.Amount, k.Held, k.Covered, k.Refunded)
}

// cases lists the merchant's cases, the newest first.
func (w *harness) cases() []specialReturn {
	w.t.Helper()
	var l struct{ Data []specialReturn }
	status, got := w.get("/med?per_page=100")
	if status != 200 || json.Unmarshal([]byte(got), &l) != nil {
		w.t.Fatalf("%d %s", status, got)
	}
	return l.Data
}

// reports has the payer report a payment, and returns the report's id and the case that it
// opens.
func (w *harness) reports(p item, amount pix.Amount) (infraction string, k specialReturn) {
	w.t.Helper()
	before := len(w.cases())
	var made struct {
		ID string `json:"infraction_id"`
	}
	status, got := w.operate("POST", "/sim/infractions", fmt.Sprintf(`{"end_to_end_id":%q,"amount":%d,"situation":"SCAM"}`, p.EndToEnd, amount))
	if status != 201 || json.Unmarshal([]byte(got), &made) != nil {
		w.t.Fatalf("%d %s", status, got)
	}
	w.becomes("opened", soon, func() bool { return len(w.cases()) == before+1 })
	return made.ID, w.cases()[0]
}

// caseIs waits until a case is in the given state.
func (w *harness) caseIs(id, want string) {
	w.t.Helper()
	var k specialReturn
	defer func() {
		if w.t.Failed() {
			w.t.Logf("%s is %s, want %s", id, k.sums(), want)
		}
	}()
	w.becomes(want, soon, func() bool {
		status, got := w.get("/med/" + id)
		if status != 200 || json.Unmarshal([]byte(got), &k) != nil {
			w.t.Fatalf("%d %s", status, got)
		}
		return k.sums() == want
	})
}

// analysed closes a case as the institution's analyst.
func (w *harness) analysed(id, result string) (int, string) {
	w.t.Helper()
	return w.operate("POST", "/admin/med/"+id+"/analysis", `{"result":"`+result+`"}`)
}

// spends pays an amount out and waits until it has settled.
func (w *harness) spends(centavos int) {
	w.t.Helper()
	p := w.paidOut(fmt.Sprintf(`{"amount":%d,"pix_key":"a@pix.test"}`, centavos))
	w.becoming(p.TransactionID, "settled")
}

// TestCaseDefended checks a report from its hold to the decision for the merchant: what a case
// holds can be neither paid out nor refunded, and is there again in the end.
func TestCaseDefended(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs)
	stranger := w.another()
	p := w.receives(100_000, "")
	_, k := w.reports(p, 60_000)
	if k.sums() != "open - 60000 held 60000 covered 60000 refunded 0" || k.Transaction != p.TransactionID || k.EndToEnd != p.EndToEnd || k.Situation != "SCAM" {
		t.Errorf("%+v", k)
	}
	w.moneyIs(1_100_000, 1_040_000, 0)
	for centavos, code := range map[int]string{10_401: "funds_under_med_hold", 11_000: "funds_under_med_hold", 11_001: "insufficient_balance"} {
		if status, got := w.cashOut(fmt.Sprintf(`{"amount":%d,"pix_key":"a@pix.test"}`, centavos)); status != 422 || !strings.Contains(got, `"code":"`+code+`"`) {
			t.Errorf("%d: %d %s", centavos, status, got)
		}
	}
	if status, got := w.refunds(`"amount":401,`, p.ID); status != 422 || !strings.Contains(got, "exceed the original amount") {
		t.Errorf("%d %s", status, got)
	}
	r := w.taken(`"amount":400,`, p.ID)
	w.ends(r.TransactionID, "settled")
	w.moneyIs(1_060_000, 1_000_000, 0)
	_, second := w.reports(p, 100_000) // what the first case holds of the payment, and what was refunded, is no longer there
	if second.sums() != "open - 100000 held 0 covered 0 refunded 0" {
		t.Errorf("%+v", second)
	}

	if status, got := stranger.get("/med/" + k.ID); status != 404 || got != `{"errors":{"not_found":"case not found"}}` || len(stranger.cases()) != 0 {
		t.Errorf("a stranger: %d %s", status, got)
	}
	defense := `{"contact":"ana@loja.br","justification":"delivered"}`
	if status, got, _ := stranger.post("/med/"+k.ID+"/defense", defense); status != 404 || got != `{"worked":false,"errors":{"not_found":"case not found"}}` {
		t.Errorf("a stranger: %d %s", status, got)
	}
	status, first, _ := w.post("/med/"+k.ID+"/defense", defense, "Idempotency-Key", "d")
	if status != 200 || !strings.Contains(first, `"status":"defended","analysis_result":null,"defense":{"justification":"delivered","result":"DISAGREED","contact":"ana@loja.br",`) {
		t.Errorf("%d %s", status, first)
	}
	over := func(why string) {
		t.Helper()
		if status, got, _ := w.post("/med/"+k.ID+"/defense", defense); status != 422 || got != `{"worked":false,"errors":{"unprocessable_entity":"`+why+`"}}` {
			t.Errorf("%d %s", status, got)
		}
	}
	over("the case was defended already")
	w.stop()
	w = w.at(serveHarness(t, fs))
	if status, got, header := w.post("/med/"+k.ID+"/defense", defense, "Idempotency-Key", "d"); status != 200 || got != first || header.Get("X-Idempotent-Replay") != "true" {
		t.Errorf("%d %s %v", status, got, header)
	}
	w.moneyIs(1_060_000, 1_000_000, 0)
	for range 2 {
		if status, got := w.analysed(k.ID, "DISAGREED"); status != 200 || !strings.Contains(got, `"status":"closed","analysis_result":"DISAGREED"`) {
			t.Errorf("%d %s", status, got)
		}
	}
	if status, got := w.analysed(k.ID, "AGREED"); status != 409 || !strings.Contains(got, "DISAGREED") {
		t.Errorf("%d %s", status, got)
	}
	over("the case is closed")
	w.caseIs(k.ID, "closed DISAGREED 60000 held 0 covered 0 refunded 0")
	w.caseIs(second.ID, "open - 100000 held 60000 covered 60000 refunded 0") // what the first one has given up
	w.moneyIs(1_060_000, 1_000_000, 0)
	if status, got := w.analysed(second.ID, "DISAGREED"); status != 200 {
		t.Errorf("%d %s", status, got)
	}
	w.moneyIs(1_060_000, 1_060_000, 0)
	rest := w.taken(`"amount":600,`, p.EndToEnd)
	w.ends(rest.TransactionID, "settled")
	w.agrees(100_000)
	if err := verifyAtRest(w, fs); err != nil {
		t.Error(err)
	}
}

// TestCaseAgreed checks the refunds of agreed cases: of all that is held at once, and of a part
// where there is too little money, with the rest from later credits, also after a restart.
func TestCaseAgreed(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs)
	p, q := w.receives(50_000, ""), w.receives(90_000, "")
	_, full := w.reports(p, 50_000)
	if status, got := w.analysed(full.ID, "AGREED"); status != 200 || !strings.Contains(got, `"held_amount":0,"covered_amount":0,`) {
		t.Errorf("%d %s", status, got)
	}
	w.caseIs(full.ID, "closed AGREED 50000 held 0 covered 0 refunded 50000")
	w.moneyIs(1_090_000, 1_090_000, 0)
	w.agrees(50_000)

	w.spends(10_700)
	w.moneyIs(20_000, 20_000, 0)
	_, part := w.reports(q, 90_000)
	if part.sums() != "open - 90000 held 90000 covered 20000 refunded 0" {
		t.Errorf("%+v", part)
	}
	w.moneyIs(20_000, 0, 0)
	if status, got := w.analysed(part.ID, "AGREED"); status != 200 {
		t.Errorf("%d %s", status, got)
	}
	w.caseIs(part.ID, "closed AGREED 90000 held 70000 covered 0 refunded 20000")
	w.moneyIs(0, 0, 0)
	if status, got := w.refunds(`"amount":1,`, q.ID); status != 422 || !strings.Contains(got, "exceed the original amount") {
		t.Errorf("%d %s", status, got)
	}
	w.made("/admin/accounts/"+w.ID+"/credits", `{"amount":30000,"type":"ted"}`)
	w.caseIs(part.ID, "closed AGREED 90000 held 40000 covered 0 refunded 50000")
	w.stop()
	w = w.at(serveHarness(t, fs))
	w.receives(45_000, "")
	w.caseIs(part.ID, "closed AGREED 90000 held 0 covered 0 refunded 90000")
	w.moneyIs(5000, 5000, 0)
	w.agrees(140_000)
	if err := verifyAtRest(w, fs); err != nil {
		t.Error(err)
	}
}

// TestCaseCancelled checks that a withdrawn report releases its hold, and that nobody can close
// or defend its case.
func TestCaseCancelled(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem())
	p := w.receives(50_000, "")
	infraction, k := w.reports(p, 50_000)
	w.moneyIs(1_050_000, 1_000_000, 0)
	for range 2 {
		if status, got := w.operate("POST", "/sim/infractions/"+infraction+"/cancel", ""); status != 200 {
			t.Errorf("%d %s", status, got)
		}
		w.caseIs(k.ID, "cancelled - 50000 held 0 covered 0 refunded 0")
	}
	w.moneyIs(1_050_000, 1_050_000, 0)
	if status, got := w.analysed(k.ID, "AGREED"); status != 409 {
		t.Errorf("%d %s", status, got)
	}
	if status, got, _ := w.post("/med/"+k.ID+"/defense", `{"justification":"x"}`); status != 422 || !strings.Contains(got, "the case is cancelled") {
		t.Errorf("%d %s", status, got)
	}
}

// TestReportedTwice checks that a report opens one case, however often and however close
// together its notice comes, and that a report of a payment which never came is not
// acknowledged.
func TestReportedTwice(t *testing.T) {
	t.Parallel()
	o := newOtherSide(t)
	w := newHarness(t, vfs.NewMem(), o.beside)
	const endToEnd = "E60701190202603011200abcdefghijk"
	o.notify(w, scheme.Notice{
		Kind: scheme.PaymentArrived, EndToEnd: endToEnd, Arrived: ledger.ReceivePayment{EndToEnd: endToEnd, Amount: 50_000, Key: w.EVP},
	}, nil)
	report := scheme.Notice{Kind: scheme.InfractionOpened, EndToEnd: endToEnd, Infraction: "inf-1", Amount: 30_000, Situation: "OTHER"}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for o.tell(w, report, nil) != nil { // another notice of the same report is being worked on: it is sent again
				time.Sleep(time.Millisecond)
			}
		})
	}
	all.Wait()
	o.notify(w, report, nil)
	if got := w.cases(); len(got) != 1 || got[0].sums() != "open - 30000 held 30000 covered 30000 refunded 0" {
		t.Errorf("%+v", got)
	}
	w.moneyIs(1_050_000, 1_020_000, 0)
	for _, kind := range []scheme.NoticeKind{scheme.InfractionOpened, scheme.InfractionCancelled} {
		unknown := report
		unknown.Kind, unknown.EndToEnd, unknown.Infraction = kind, endToEnd[:31]+"z", "inf-2"
		if err := o.tell(w, unknown, nil); err == nil {
			t.Errorf("%v of a payment that never came is acknowledged", kind)
		}
	}
	withdrawn := report
	withdrawn.Kind, withdrawn.Amount, withdrawn.Situation = scheme.InfractionCancelled, 0, ""
	o.notify(w, withdrawn, nil)
	o.notify(w, withdrawn, nil)
	o.notify(w, report, nil) // told again after its withdrawal: it stays withdrawn
	if got := w.cases(); len(got) != 1 || got[0].sums() != "cancelled - 30000 held 0 covered 0 refunded 0" {
		t.Errorf("%+v", got)
	}
	w.moneyIs(1_050_000, 1_050_000, 0)
}

// TestCaseDeadlines checks what time does to a case: an undefended one is closed as agreed, or
// waits where the settings say so; an undecided one raises an alert.
func TestCaseDeadlines(t *testing.T) {
	t.Parallel()
	short := func(silence string) func(*Config) {
		return func(c *Config) {
			c.MEDSilence, c.MEDDeadline, c.MEDAnalysis = silence, 300*time.Millisecond, 900*time.Millisecond
		}
	}
	agrees := newHarness(t, vfs.NewMem(), short(silenceAgrees))
	_, k := agrees.reports(agrees.receives(50_000, ""), 50_000)
	agrees.caseIs(k.ID, "closed AGREED 50000 held 0 covered 0 refunded 50000")
	agrees.moneyIs(1_000_000, 1_000_000, 0)

	waits := newHarness(t, vfs.NewMem(), short(silenceWaits))
	p := waits.receives(50_000, "")
	_, k = waits.reports(p, 50_000)
	waits.becomes("alert", 10*time.Second, func() bool { n, _ := waits.alerts("med_undecided", p.TransactionID); return n == 1 })
	waits.caseIs(k.ID, "open - 50000 held 50000 covered 50000 refunded 0")
	if status, got, _ := waits.post("/med/"+k.ID+"/defense", `{"justification":"late"}`); status != 422 || !strings.Contains(got, "the deadline for a defense has passed") {
		t.Errorf("%d %s", status, got)
	}
	waits.moneyIs(1_050_000, 1_000_000, 0)
	if status, got := waits.analysed(k.ID, "DISAGREED"); status != 200 {
		t.Errorf("%d %s", status, got)
	}
	waits.moneyIs(1_050_000, 1_050_000, 0)

	defended := newHarness(t, vfs.NewMem(), short(silenceAgrees), func(c *Config) { c.MEDDeadline = time.Hour })
	p = defended.receives(50_000, "")
	_, k = defended.reports(p, 50_000)
	if status, got, _ := defended.post("/med/"+k.ID+"/defense", `{"justification":"delivered"}`); status != 200 {
		t.Errorf("%d %s", status, got)
	}
	defended.becomes("alert", 10*time.Second, func() bool { n, _ := defended.alerts("med_undecided", p.TransactionID); return n == 1 })
	defended.caseIs(k.ID, "defended - 50000 held 50000 covered 50000 refunded 0")
}
