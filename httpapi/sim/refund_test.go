package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/scheme/provider"
)

// refund submits a refund of the payment that has the end-to-end id e2e.
func (w *harness) refund(code string, amount pix.Amount) scheme.Refund {
	w.Helper()
	payouts++
	r := scheme.Refund{
		Tx: pix.NewTxID(w.at, [10]byte{9: byte(payouts)}), Account: 7, Amount: amount, Original: e2e, Reason: code,
		EndToEnd: "D" + pix.EndToEnd("99999004", w.at, fmt.Sprintf("%011d", payouts))[1:],
	}
	if _, err := w.sim.Return(w.Context(), r); err != nil {
		w.Fatal(err)
	}
	return r
}

// TestRefundsInTheBook checks what the endpoints show of refunds: under a refund's D id, under
// the end-to-end id of the payment, in the sums, and among the movements.
func TestRefundsInTheBook(t *testing.T) {
	w := newHarness(t)
	w.expect("POST", "/sim/payments", `{"pix_key":"`+evp+`","amount":50,"end_to_end_id":"`+e2e+`","payer":{"ispb":"60701190"}}`, 201, "")
	first := w.refund("MD06", 20)
	ids := func(r scheme.Refund) string {
		return `"kind":"refund","id":"` + r.Tx.String() + `","transaction_id":"` + r.Tx.Public(pix.TxRefund) + `","end_to_end_id":"` + e2e +
			`","return_id":"` + r.EndToEnd + `","account_id":"acc_aaaaaaaaaaaao",`
	}
	w.expect("GET", "/sim/book/"+first.EndToEnd, "", 200, `{`+ids(first)+`"pix_key":null,"amount":20,"status":"pending","reason":null,`+
		`"return_code":"MD06","created_at":"2026-09-21T14:13:20.000Z","final_at":null,"returned_amount":0,"returns":[]}`)
	w.at++
	second, bad := w.refund("RR04", 5), w.refund("", 7)
	payment := func(returned int, returns string) {
		t.Helper()
		w.expect("GET", "/sim/book/"+e2e, "", 200, `{"kind":"payment","id":null,"transaction_id":null,"end_to_end_id":"`+e2e+
			`","return_id":null,"account_id":"acc_aaaaaaaaaaaao","pix_key":"`+evp+`","amount":50,"status":"settled","reason":null,"return_code":null,`+
			`"created_at":"2026-09-21T14:13:20.000Z","final_at":"2026-09-21T14:13:20.000Z","returned_amount":`+fmt.Sprint(returned)+`,"returns":[`+returns+`]}`)
	}
	payment(0, "")
	w.at += 999
	one := `{"return_id":"` + first.EndToEnd + `","amount":20,"reason":"MD06","at":"2026-09-21T14:13:21.000Z"}`
	payment(20, one)
	w.at++
	payment(25, one+`,{"return_id":"`+second.EndToEnd+`","amount":5,"reason":"RR04","at":"2026-09-21T14:13:21.001Z"}`)
	w.expect("GET", "/sim/book/"+bad.EndToEnd, "", 200, `{`+ids(bad)+`"pix_key":null,"amount":7,"status":"rejected","reason":"CH16",`+
		`"return_code":null,"created_at":"2026-09-21T14:13:20.001Z","final_at":"2026-09-21T14:13:21.001Z","returned_amount":0,"returns":[]}`)
	w.expect("GET", "/sim/book", "", 200, `{"at":"2026-09-21T14:13:21.001Z","oldest_open":"2026-09-21T14:13:20.000Z","participants":[`+
		`{"ispb":"60701190","sent":50,"received":0,"returned_by":0,"returned_to":25,"messages":3},`+
		`{"ispb":"99999004","sent":0,"received":50,"returned_by":25,"returned_to":0,"messages":3}],`+
		`"accounts":[{"account_id":"acc_aaaaaaaaaaaao","sent":0,"received":50,"returned_by":25,"returned_to":0}]}`)
	w.expect("GET", "/sim/book/movements?since=2026-09-21T14:13:21Z", "", 200, `{"data":[`+
		`{"at":"2026-09-21T14:13:21.000Z",`+ids(first)+`"amount":20,"counterparty_ispb":"60701190"},`+
		`{"at":"2026-09-21T14:13:21.001Z",`+ids(second)+`"amount":5,"counterparty_ispb":"60701190"}],"next_cursor":null}`)
	w.expect("POST", "/sim/returns", `{"end_to_end_id":"`+first.EndToEnd+`"}`, 404, "no such payment") // a refund is no payout
	w.expect("POST", "/sim/infractions", `{"end_to_end_id":"`+first.EndToEnd+`"}`, 404, "no such payment")
}

// TestPaidAtDatesTheRefund checks that the 90 days of MD06 count from paid_at.
func TestPaidAtDatesTheRefund(t *testing.T) {
	for paid, want := range map[string]string{
		"2026-06-23T14:13:20Z":     "settled", // 90 days before the harness's time
		"2026-06-23T14:13:19.999Z": "rejected",
	} {
		w := newHarness(t)
		w.expect("POST", "/sim/payments", `{"pix_key":"`+evp+`","amount":50,"end_to_end_id":"`+e2e+`","paid_at":"`+paid+`"}`, 201, "")
		r := w.refund("MD06", 20)
		w.at += 1000
		var got Payment
		if err := json.Unmarshal([]byte(w.expect("GET", "/sim/book/"+r.EndToEnd, "", 200, "{")), &got); err != nil ||
			got.Status != want || want == "rejected" && *got.Reason != "DT05" {
			t.Errorf("%s: %+v %v", paid, got, err)
		}
	}
}

// refusing is a scheme that refuses refunds and keeps the last one.
type refusing struct {
	scheme.Unassigned
	got scheme.Refund
}

func (s *refusing) Return(_ context.Context, r scheme.Refund) (scheme.State, error) {
	s.got = r
	return scheme.State{}, &scheme.Refused{Code: ledger.RefuseProvider}
}

// TestReturnOverHTTP checks that a refund reaches the scheme with all its fields, that the
// scheme's explicit refusal reaches the engine, and that a malformed refund is answered with
// 400 and does not reach the scheme.
func TestReturnOverHTTP(t *testing.T) {
	var s refusing
	r := router.New()
	Provide(r, &s, provider.NewGuard(testSecret(t), provider.ToScheme, realNow, nil), slog.New(slog.DiscardHandler))
	p, err := provider.New(options(t, serve(t, r.Handler)))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	sent := scheme.Refund{
		Tx: pix.NewTxID(testNow, [10]byte{1}), Account: 7, EndToEnd: "D" + e2e[1:], Original: e2e, Amount: 3, Reason: "FR01", Description: "ção",
	}
	var refused *scheme.Refused
	if _, err := p.Return(t.Context(), sent); !errors.As(err, &refused) || refused.Code != ledger.RefuseProvider || s.got != sent {
		t.Errorf("%+v %v", s.got, err)
	}
	s.got = scheme.Refund{}
	bad := sent
	bad.Amount = 0
	if _, err := p.Return(t.Context(), bad); err == nil || !strings.Contains(err.Error(), "answer 400") || s.got != (scheme.Refund{}) {
		t.Errorf("%+v %v", s.got, err)
	}
	var ctx fasthttp.RequestCtx
	ctx.Request.Header.SetMethod("POST")
	ctx.Request.SetRequestURI(provider.PathReturn)
	ctx.Request.SetBodyString(`{}`)
	if r.Handler(&ctx); ctx.Response.StatusCode() != 401 {
		t.Errorf("unsigned: %d", ctx.Response.StatusCode())
	}
}
