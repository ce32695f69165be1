package httpapi

import "testing"

// TestBusy checks that, while too many requests are in hand, a POST of an account with less than
// its share is let in, in either form of the credentials, and every other POST is refused before
// any check; reads are not refused at all; and that no account is let in where the engine takes
// no new work.
func TestBusy(t *testing.T) {
	f := newFixture(t)
	f.busy, f.modest = "too many requests in hand", merchant
	const refused = `{"error":{"status":503,"message":"too many requests in hand"}}`
	charge := sent{path: "/api/external/pix/cash-in", body: `{"amount":"x"}`}
	basic := charge
	basic.headers = []string{"Authorization", "Basic Y2xpX2FsbDo="} // cli_all without a secret: the checks refuse it
	for name, c := range map[string]struct {
		sent sent
		let  bool
	}{
		"modest":         {charge, true},
		"another":        {sent{path: charge.path, body: charge.body, client: "cli_dormant"}, false},
		"unknown":        {sent{path: charge.path, body: charge.body, client: "cli_nobody"}, false},
		"no credentials": {sent{path: charge.path, body: charge.body, headers: []string{"Authorization", "-"}}, false},
		"no secret":      {basic, false},
		"a read":         {sent{method: "GET", path: "/api/external/balance", client: "cli_dormant"}, true},
	} {
		g := f.send(c.sent)
		if (g.status != 503) != c.let || !c.let && (g.body != refused || g.header("Retry-After") != "1") {
			t.Errorf("%s: %d %s", name, g.status, g.body)
		}
	}
	if f.turned != 4 {
		t.Errorf("%d counted as refused", f.turned)
	}
	f.closed = "storage is nearly full"
	f.expect(charge, 503, `{"error":{"status":503,"message":"storage is nearly full"}}`)
	f.closed, f.busy = "", ""
	f.expect(sent{path: charge.path, body: charge.body, client: "cli_nobody"}, 401, "…")
}
