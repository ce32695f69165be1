package console

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
)

// TestMerchantKeysAreRevoked checks that no credential of a session outlives its logout, however many accounts it was for.
func TestMerchantKeysAreRevoked(t *testing.T) {
	v := sandboxed(t, "mark-1", nil)
	valid, made, most := map[string]bool{}, 0, 0
	v.API = func(ctx *fasthttp.RequestCtx) {
		if ctx.IsDelete() {
			delete(valid, strings.TrimPrefix(string(ctx.Path()), "/admin/api-keys/"))
			return
		}
		made++
		id := fmt.Sprint("cli_", made)
		valid[id] = true
		most = max(most, len(valid))
		ctx.SetBodyString(`{"client_id":"` + id + `","client_secret":"s"}`)
	}
	for n := range 2*mostMerchantKeys + 1 {
		if _, err := v.merchantKeyOf(fmt.Sprint("acc_", n)); err != nil {
			t.Fatal(err)
		}
	}
	if v.dropMerchantKeys(); most != mostMerchantKeys || len(valid) > 0 || v.key != "mark-1" {
		t.Errorf("%d at once, %v outlive the logout, the form's key is %s", most, valid, v.key)
	}
}

// TestKeptPayoutOnce checks that the merchant API gets a form of the sandbox under the form's key, also where an earlier
// session has sent it: it pays out once.
func TestKeptPayoutOnce(t *testing.T) {
	for _, session := range []string{"mark", "later"} {
		v := sandboxed(t, "mark-1", url.Values{"account": {"acc_a"}, "amount": {"1.00"}, "outcome": {"own"}, "pix_key": {"a@x.com"}})
		v.one.mark, v.one.sandbox.keys = session, map[string]merchantKey{"acc_a": {"a", "b"}}
		var got []string
		v.Merchant = func(ctx *fasthttp.RequestCtx) {
			got = append(got, string(ctx.Request.Header.Peek("Idempotency-Key"))+" "+string(ctx.PostBody()))
			ctx.SetBodyString(`{}`)
		}
		makePayout(v)
		if want := []string{`mark-1 {"amount":100,"external_id":"mark-1","pix_key":"a@x.com"}`}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestPaymentAgainIsTheSame checks that a form which pays makes the same end-to-end ids whenever it is sent.
func TestPaymentAgainIsTheSame(t *testing.T) {
	const made pix.Millis = 1_790_000_000_000
	var first []string
	for _, now := range []pix.Millis{made, made + 1, made + 3_600_000} {
		v := sandboxed(t, "mark-1", url.Values{"made": {made.String()}, "amount": {"1.00"}, "pix_key": {"a@x.com"}, "same": {"yes"}, "other": {"yes"}})
		v.Now = now
		v.API = func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString(`{}`) }
		o := payKey(v)
		var ids []string
		for _, s := range v.one.sandbox.newest("sandbox", "mark-1").Steps {
			ids = append(ids, s.EndToEnd)
		}
		if first == nil {
			first = ids
		}
		if o.Problem != "" || len(ids) != 3 || ids[0] != ids[1] || ids[0] == ids[2] || !slices.Equal(ids, first) {
			t.Errorf("%+v at %v: %q, and at first %q", o, now, ids, first)
		}
	}
}
