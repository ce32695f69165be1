package console

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"
)

// TestSentBeforeIsSaid checks that each form which an earlier process has carried out leads to a page that says so, with
// documents masked.
func TestSentBeforeIsSaid(t *testing.T) {
	f := newFixture(t)
	o, r := f.options(), router.New()
	o.Merchant = func(*fasthttp.RequestCtx) {}
	Routes(r, o)
	f.handler = r.Handler
	key := ""
	f.api = func(_, path string, _ []byte) (int, string) {
		if strings.HasPrefix(path, "/admin/actions") {
			return 200, `{"data":[{"operator":"root","method":"POST","path":"/admin/x/pix-keys/52998224725","status":201,"request_id":"` + key + `"}],"next_cursor":null}`
		}
		return shopAPI("GET", path, nil)
	}
	cookie := f.login(rootToken)
	csrf := f.fill("/console/audit", cookie).Get("csrf")
	for i, form := range slices.Concat(allForms, sandboxForms) {
		key = fmt.Sprint("earlier-", i)
		p := f.send("POST", Path+strings.Replace(form.path, "{id}", "acc_x", 1), cookie, url.Values{"csrf": {csrf}, "key": {key}}.Encode())
		if again := f.send("GET", p.to, cookie, ""); p.status != 303 || again.status != 200 || !strings.Contains(again.body, "já foi enviado antes: root, POST /admin/x/pix-keys/***.982.247-**: 201.") {
			t.Errorf("%s: %d, leads to %s: %d\n%s", form.path, p.status, p.to, again.status, again.body)
		}
	}
	if len(f.asked) > 0 {
		t.Errorf("done again: %q", f.asked)
	}
}
