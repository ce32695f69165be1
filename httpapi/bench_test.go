package httpapi

import (
	"net"
	"testing"

	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
)

// What the API itself costs, in front of an engine that answers at once.
func BenchmarkRequest(b *testing.B) {
	f := newFixture(b)
	tx := payout(ledger.StatusAccepted)
	charge := ledger.Transaction{ID: itemID, Kind: ledger.TxCharge, Amount: 1000, Key: testEVP, MerchantName: "Ana", MerchantCity: "Rio"}
	for name, v := range map[string]struct {
		method, path, body string
		answer             ledger.Answer
	}{
		"balance":  {"GET", balance, "", ledger.Answer{Head: head()}},
		"cash-out": {"POST", cashOut, payBody, ledger.Answer{Tx: &tx}},
		"cash-in":  {"POST", cashIn, someBody, ledger.Answer{Tx: &charge}},
	} {
		b.Run(name, func(b *testing.B) {
			f.engine.answer = v.answer
			var req fasthttp.Request
			req.SetRequestURI(v.path)
			req.Header.SetMethod(v.method)
			req.Header.Set("Authorization", "ApiKey cli_all:"+testSecret)
			if v.body != "" {
				mac, _ := Sign([]byte(testSecret), []byte(v.body), false)
				req.Header.SetContentType("application/json")
				req.Header.Set("hmac", mac)
				req.SetBodyString(v.body)
			}
			var ctx fasthttp.RequestCtx
			ctx.Init(&req, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, nil)
			b.ReportAllocs()
			for b.Loop() {
				ctx.Response.Reset()
				f.engine.all = nil
				f.handler(&ctx)
			}
			if code := ctx.Response.StatusCode(); code/100 != 2 {
				b.Fatal(code)
			}
		})
	}
}
