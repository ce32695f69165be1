package admin

import (
	"testing"

	"github.com/valyala/fasthttp"
)

// TestActionOfUnknownOutcome checks that an action whose connection was cut is listed without a status.
func TestActionOfUnknownOutcome(t *testing.T) {
	f := newFixture(t)
	path := "/admin/accounts/" + f.account()
	f.options.Engine = lostEngine{}
	f.handler = New(f.options)
	var req fasthttp.Request
	req.Header.SetMethod("PATCH")
	req.SetRequestURI(path)
	req.Header.Set("Authorization", "Bearer operator")
	req.SetBodyString(`{"approval_threshold":5}`)
	var ctx fasthttp.RequestCtx
	ctx.Init(&req, nil, nil)
	f.handler(&ctx)
	if a := f.did("root")[0]; !ctx.Hijacked() || a.Path != path || a.Status != nil {
		t.Errorf("%v %+v", ctx.Hijacked(), a)
	}
}
