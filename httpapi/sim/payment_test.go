package sim

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/actors/scheme/brcode"
	"pixd/actors/scheme/sim"
)

const testNow = pix.Millis(1_790_000_000_000)

// fakeSimulator knows some PIX keys and keeps the last payment that it was given.
type fakeSimulator struct {
	Simulator
	keys map[string]bool
	err  error
	paid *sim.Payment
}

func (f *fakeSimulator) Pay(_ context.Context, p sim.Payment) (string, pix.Amount, error) {
	if f.err != nil {
		return "", 0, f.err
	}
	if !f.keys[p.Key] {
		return "", 0, fmt.Errorf("%s: %w", p.Key, sim.ErrUnknownKey)
	}
	f.paid = &p
	return "E-made-up", p.Amount, nil
}

const (
	evp = "0b6e4c1e-8f7a-4d3b-9c2a-1f2e3d4c5b6a"
	e2e = "E9999900320260921132000000000001"
)

func code(t *testing.T, centavos int64) string {
	t.Helper()
	text, err := brcode.Static{Key: evp, Description: "pao", Name: "Ana", City: "Rio", TxID: "PIXIN5", AmountCentavos: centavos}.Text()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func field(id, value string) string { return fmt.Sprintf("%s%02d%s", id, len(value), value) }

var dynamic = "000201" + field("26", field("00", "br.gov.bcb.pix")+field("25", "pix.example.com/qr/v2/9d36b84f")) +
	"5204000053039865802BR5903Ana6003Rio62070503***6304"

func sealed(text string) string { return text + fmt.Sprintf("%04X", brcode.CRC(text)) }

func send(t testing.TB, f *fakeSimulator, body string) (int, string) {
	r := router.New()
	Routes(r, f, func() pix.Millis { return testNow }, slog.New(slog.DiscardHandler))
	var req fasthttp.Request
	req.Header.SetMethod("POST")
	req.SetRequestURI("/sim/payments")
	req.SetBodyString(body)
	var ctx fasthttp.RequestCtx
	ctx.Init(&req, nil, nil)
	r.Handler(&ctx)
	hold(t, "/sim/payments", &ctx)
	return ctx.Response.StatusCode(), string(ctx.Response.Body())
}

func known() *fakeSimulator {
	return &fakeSimulator{keys: map[string]bool{evp: true, "12345678909": true, "+5511987654321": true, "a@b.com": true}}
}

func TestPay(t *testing.T) {
	full := sim.Payment{
		Key: evp, Amount: 5000, TxID: "PIXIN5", EndToEnd: e2e, At: testNow - 1000,
		PayerName: "Zé", PayerDocument: "any-thing", PayerISPB: "60701190",
	}
	for body, want := range map[string]sim.Payment{
		`{"qr_code":"` + code(t, 1234) + `"}`:                                   {Key: evp, Amount: 123400, TxID: "PIXIN5", Description: "pao"},
		`{"qr_code":"` + code(t, 1234) + `","amount":77}`:                       {Key: evp, Amount: 77, TxID: "PIXIN5", Description: "pao"},
		`{"qr_code":"` + code(t, 0) + `","amount":77}`:                          {Key: evp, Amount: 77, TxID: "PIXIN5", Description: "pao"},
		`{"pix_key":"` + strings.ToUpper(evp) + `","amount":5}`:                 {Key: evp, Amount: 5},
		`{"pix_key":"A@B.com","amount":5}`:                                      {Key: "a@b.com", Amount: 5},
		`{"pix_key":"12345678909","amount":5}`:                                  {Key: "12345678909", Amount: 5},
		`{"pix_key":"11987654321","amount":5}`:                                  {Key: "+5511987654321", Amount: 5},
		`{"pix_key":"+5511987654321","amount":99999999999900}`:                  {Key: "+5511987654321", Amount: pix.MaxAmount},
		`{"pix_key":"` + evp + `","amount":5,"payer":{"ispb":"1A2B3C4D"}}`:      {Key: evp, Amount: 5, PayerISPB: "1A2B3C4D"},
		`{"pix_key":"` + evp + `","amount":5,"payer":{}}`:                       {Key: evp, Amount: 5},
		`{"pix_key":"` + evp + `","amount":5,"paid_at":"2020-01-01T00:00:00Z"}`: {Key: evp, Amount: 5, At: 1_577_836_800_000},
		`{"pix_key":"` + evp + `","amount":5000,"txid":"PIXIN5","end_to_end_id":"` + e2e + `","paid_at":"2026-09-21T14:13:19Z","payer":{"name":"Zé","document":"any-thing","ispb":"60701190"}}`: full,
	} {
		f := known()
		status, answer := send(t, f, body)
		if status != 201 || answer != fmt.Sprintf(`{"end_to_end_id":"E-made-up","amount":%d}`, want.Amount) {
			t.Errorf("%s: %d %s", body, status, answer)
		}
		if f.paid == nil || *f.paid != want {
			t.Errorf("%s: paid %+v", body, f.paid)
		}
	}
}

func TestPayRefuses(t *testing.T) {
	good := code(t, 1234)
	for body, want := range map[string]struct {
		status int
		says   string
	}{
		`{}`: {400, "qr_code or pix_key"},
		`{"qr_code":"` + good + `","pix_key":"` + evp + `"}`:                         {400, "qr_code or pix_key"},
		`{"qr_code":"` + good[:len(good)-4] + `0000"}`:                               {400, "wrong CRC"},
		`{"qr_code":"hello"}`:                                                        {400, "malformed BR Code"},
		`{"qr_code":"` + sealed("0102036304") + `"}`:                                 {400, "malformed BR Code"},
		`{"qr_code":""}`:                                                             {400, "malformed BR Code"},
		`{"qr_code":7}`:                                                              {400, "qr_code"},
		`{"qr_code":"` + sealed(dynamic) + `"}`:                                      {422, "dynamic"},
		`{"qr_code":"` + code(t, 0) + `"}`:                                           {400, "amount is required"},
		`{"qr_code":"` + good + `","txid":"x"}`:                                      {400, "txid"},
		`{"pix_key":"` + evp + `"}`:                                                  {400, "amount is required"},
		`{"pix_key":"` + evp + `","amount":0}`:                                       {400, "amount"},
		`{"pix_key":"` + evp + `","amount":-1}`:                                      {400, "amount"},
		`{"pix_key":"` + evp + `","amount":1.0}`:                                     {400, "amount"},
		`{"pix_key":"` + evp + `","amount":99999999999901}`:                          {400, "amount"},
		`{"pix_key":"` + evp + `","amount":null}`:                                    {400, "amount"},
		`{"pix_key":5,"amount":1}`:                                                   {400, "pix_key"},
		`{"pix_key":"nobody","amount":1}`:                                            {404, "PIX key"},
		`{"pix_key":"x@y.com","amount":1}`:                                           {404, "PIX key"},
		`{"pix_key":"98765432100","amount":1}`:                                       {404, "PIX key"},
		`{"pix_key":"` + evp + `","amount":1,"txid":"a-b"}`:                          {400, "txid"},
		`{"pix_key":"` + evp + `","amount":1,"end_to_end_id":"E1"}`:                  {400, "end_to_end_id"},
		`{"pix_key":"` + evp + `","amount":1,"paid_at":"yesterday"}`:                 {400, "paid_at"},
		`{"pix_key":"` + evp + `","amount":1,"paid_at":"2026-09-21T14:13:20.001Z"}`:  {400, "paid_at"},
		`{"pix_key":"` + evp + `","amount":1,"payer":"Zé"}`:                          {400, "payer"},
		`{"pix_key":"` + evp + `","amount":1,"payer":{"ispb":"1"}}`:                  {400, "payer.ispb"},
		`{"pix_key":"` + evp + `","amount":1,"payer":{"ispb":"1a2b3c4d"}}`:           {400, "payer.ispb must be 8 digits or capital letters"},
		`{"pix_key":"` + evp + `","amount":1,"payer":{"cpf":"1"}}`:                   {400, "payer.cpf"},
		`{"pix_key":"` + evp + `","amount":1,"payer":{"name":1}}`:                    {400, "payer.name"},
		`{"pix_key":"` + evp + `","amount":1,"note":"x"}`:                            {400, "note"},
		`{"pix_key":"` + evp + `","amount":1}]`:                                      {400, "JSON object"},
		`{"pix_key":"` + evp + `","amount":1,"payer":{"document":"` + long() + `"}}`: {400, "payer.document"},
	} {
		f := known()
		status, answer := send(t, f, body)
		if status != want.status || !strings.HasPrefix(answer, fmt.Sprintf(`{"error":{"status":%d,"message":"`, status)) || !strings.Contains(answer, want.says) {
			t.Errorf("%s: %d %s; want %d with %s", body, status, answer, want.status, want.says)
		}
		if f.paid != nil {
			t.Errorf("%s was paid", body)
		}
	}
}

func long() string { return strings.Repeat("x", 141) }

func TestSimulatorFails(t *testing.T) {
	for err, want := range map[error]int{
		fmt.Errorf("x: %w", sim.ErrEndToEnd): 409,
		context.DeadlineExceeded:             500,
	} {
		f := known()
		f.err = err
		if status, answer := send(t, f, `{"pix_key":"`+evp+`","amount":1}`); status != want || strings.Contains(answer, err.Error()) {
			t.Errorf("%v: %d %s", err, status, answer)
		}
	}
}
