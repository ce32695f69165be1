package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
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
