package console

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/httpapi/admin"
	"pixd/httpapi/control"
)

// TestDocumentShown checks that a document is whole only where that subject's was asked for, and that a key which is a CNPJ with
// letters is masked too.
func TestDocumentShown(t *testing.T) {
	for _, c := range []struct{ shown, subject, want string }{
		{"", "", "***.456.789-**"}, {"", "acc_a", "***.456.789-**"}, {"acc_b", "acc_a", "***.456.789-**"}, {"acc_a", "acc_a", "12345678909"},
	} {
		v := &visit{Shown: c.shown}
		if got := document(v, c.subject, "12345678909"); got != c.want {
			t.Errorf("shown %q, of %q: %s", c.shown, c.subject, got)
		}
	}
	for key, want := range map[string]string{
		"12ABC34501DE35": "12.ABC.345/****-**", "11222333000181": "11.222.333/****-**", "12345678909": "***.456.789-**",
		"+5511987654321": "+5511987654321", "ana@example.co": "ana@example.co",
	} {
		if got := maskedKey(&visit{}, "acc_a", key); got != want {
			t.Errorf("%s: %s", key, got)
		}
	}
}

// TestRetryable checks which deliveries can be put back in line: dead ones, and those that a restore holds back.
func TestRetryable(t *testing.T) {
	for status, held := range map[string]bool{"dead": false, "pending": true} {
		d := delivery{}
		if d.Status, d.Held = status, held; !d.Retryable() {
			t.Errorf("%s, held %v: not retryable", status, held)
		}
	}
	for _, status := range []string{"pending", "delivered"} {
		d := delivery{}
		if d.Status = status; d.Retryable() {
			t.Errorf("%s: retryable", status)
		}
	}
}

// TestLargestMoney checks that an amount has at most 13 digits before the comma.
func TestLargestMoney(t *testing.T) {
	for text, want := range map[string]pix.Amount{"1234567890123": 12345678901230000, "12345678901234": 0} {
		if n, ok := portuguese.parseMoney(text); n != want || ok != (want != 0) {
			t.Errorf("%s: %d %v", text, n, ok)
		}
	}
}

// TestReceives checks how long a webhook of a session may be, that its headers are cut, how many are kept, and that none comes to
// a session that has ended.
func TestReceives(t *testing.T) {
	f := newFixture(t)
	c := f.console()
	one, _ := c.sessions.begin(rootToken)
	one.sandbox.hook = &receiver{random: "r"}
	bring := func(n int) int {
		ctx := &fasthttp.RequestCtx{}
		ctx.SetUserValue("random", "r")
		ctx.Request.Header.SetMethod("POST")
		ctx.Request.Header.Set("webhook-id", strings.Repeat("i", 513))
		ctx.Request.SetBodyString(strings.Repeat("x", n))
		c.receive(ctx)
		return ctx.Response.StatusCode()
	}
	if small, large := bring(64<<10), bring(64<<10+1); small != 204 || large != 413 {
		t.Errorf("64 KiB: %d, more: %d", small, large)
	}
	for range 50 {
		bring(1)
	}
	events := one.sandbox.hook.events
	if len(events) != 50 || events[0].N != 2 || events[49].N != 51 || len(events[0].ID) != 512 {
		t.Errorf("%d kept, from %d, an id of %d bytes", len(events), events[0].N, len(events[0].ID))
	}
	f.now = one.until
	if status := bring(1); status != 404 {
		t.Errorf("%d for a session that has ended", status)
	}
}

// TestBooksAgree checks that the books of an account agree only where all four sums are the same, and that an account which moved
// nothing needs no line in the scheme's book.
func TestBooksAgree(t *testing.T) {
	same := sums{"acc_a", 1, 2, 3, 4}
	for i, other := range []sums{{"acc_a", 0, 2, 3, 4}, {"acc_a", 1, 0, 3, 4}, {"acc_a", 1, 2, 0, 4}, {"acc_a", 1, 2, 3, 0}} {
		if all := beside([]sums{same}, []sums{other}, ""); len(all) != 1 || all[0].Agrees() {
			t.Errorf("%d: %+v", i, all)
		}
	}
	all := beside([]sums{same}, []sums{same, {Account: "acc_b"}}, "")
	if len(all) != 2 || !all[0].Agrees() || !all[1].Agrees() {
		t.Errorf("%+v", all)
	}
}

// TestNewestSnapshot checks that a snapshot which cannot be used is not the newest one.
func TestNewestSnapshot(t *testing.T) {
	l := snapshotList{}
	l.Data = []admin.Snapshot{{Path: "/a/broken", Err: new("damaged")}, {Path: "/a/good"}}
	if n := l.Newest(); n == nil || n.Path != "/a/good" {
		t.Errorf("%+v", n)
	}
}

// TestRecordMasksLetters checks that a CNPJ with letters is masked in the path of a recorded request.
func TestRecordMasksLetters(t *testing.T) {
	if got := withoutDocuments("/admin/accounts/acc_a/pix-keys/12ABC34501DE35"); strings.Contains(got, "34501DE35") {
		t.Error(got)
	}
}

// TestRights checks what pages let each role do.
func TestRights(t *testing.T) {
	c := newFixture(t).console()
	for role, want := range map[registry.Role][2]bool{registry.Viewer: {}, registry.Writer: {true, false}, registry.Admin: {true, true}} {
		v := &visit{console: c, one: &session{}}
		if v.known(control.Operator{Name: "ana", Role: role}); [2]bool{v.Writable, v.Admin} != want {
			t.Errorf("%v: writes %v, an admin %v", role, v.Writable, v.Admin)
		}
	}
}

// TestPicture checks that only a picture of base64 becomes a part of a page.
func TestPicture(t *testing.T) {
	for image, shown := range map[string]bool{
		pictureURI + "iVBOR+/=": true, pictureURI + `a" onload="x`: false, "javascript:x": false, "": false, "http://example.com/x.png": false,
	} {
		if got := (charge{Image: image}).Picture(); (got != "") != shown {
			t.Errorf("%q: %q", image, got)
		}
	}
}

// TestTriedBound checks that a session remembers its 50 newest answers.
func TestTriedBound(t *testing.T) {
	var s sandbox
	for n := range 51 {
		s.remember(tried{Key: fmt.Sprint(n)})
	}
	if len(s.tried) != 50 || s.tried[0].Key != "1" {
		t.Errorf("%d, from %s", len(s.tried), s.tried[0].Key)
	}
}

// TestOldBacklog checks that a backlog of more than five minutes is marked.
func TestOldBacklog(t *testing.T) {
	for age, bad := range map[float64]bool{300: false, 301: true} {
		for _, one := range tilesOf(Figures{Backlog: age}, english) {
			if one.Name == "backlog" && one.Bad != bad {
				t.Errorf("%v s: marked %v", age, one.Bad)
			}
		}
	}
}

// TestLineOfTimeLinks checks where the entries of a transaction's line of time lead.
func TestLineOfTimeLinks(t *testing.T) {
	for kind, want := range map[string]string{
		"case_opened": "/med/x", "refund_settled": "/transactions?id=x", "return_received": "/transactions?id=x", "payout_settled": "",
	} {
		e := lifeEntry{}
		if e.Kind, e.ID = kind, "x"; e.Linked() != want {
			t.Errorf("%s: %q", kind, e.Linked())
		}
	}
}

// sandboxed is the visit of a form of the sandbox.
func sandboxed(t *testing.T, key string, fields url.Values) *visit {
	t.Helper()
	ctx := &fasthttp.RequestCtx{}
	ctx.Init(&fasthttp.Request{}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, nil)
	ctx.Request.Header.SetMethod("POST")
	ctx.Request.Header.SetContentType("application/x-www-form-urlencoded")
	ctx.Request.SetBodyString(fields.Encode())
	return &visit{console: newFixture(t).console(), ctx: ctx, one: &session{mark: "mark"}, Lang: english, key: key}
}

// TestFormOfEarlierSession checks that the sandbox does not carry out a form of an earlier session, whose outcome nobody knows.
func TestFormOfEarlierSession(t *testing.T) {
	for name, do := range map[string]func(*visit) outcome{"returns": returnPayout, "infractions": reportPayment, "webhook": subscribeOwn} {
		v := sandboxed(t, "earlier-1", url.Values{"account": {"acc_a"}, "end_to_end_id": {"E1"}})
		v.API = func(*fasthttp.RequestCtx) { t.Errorf("%s: carried out", name) }
		if o := do(v); o.Problem != v.Lang.say("sandbox_unsure") {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// TestEqualPayouts checks that an outcome's key is the same in two forms only where that is wanted.
func TestEqualPayouts(t *testing.T) {
	for equal, same := range map[string]bool{"yes": true, "": false} {
		fields := url.Values{"outcome": {"settle_now"}, "equal": {equal}}
		a, _ := sandboxed(t, "mark-1", fields).scripted()
		b, _ := sandboxed(t, "mark-2", fields).scripted()
		if (a == b) != same || !strings.HasSuffix(a, "@pix.test") {
			t.Errorf("equal %q: %s and %s", equal, a, b)
		}
	}
}

// TestPaidAtInBrasilia checks that the time at which a customer pays is read as Brasília's.
func TestPaidAtInBrasilia(t *testing.T) {
	body := map[string]any{}
	if o := sandboxed(t, "mark-1", url.Values{"amount": {"1"}, "paid_at": {"2026-01-02T23:30"}}).paidWith(body, false); o != nil {
		t.Fatal(o)
	}
	if body["paid_at"] != "2026-01-03T02:30:00.000Z" {
		t.Error(body)
	}
}

// TestUnrecordedDisclosure checks that no document is shown where the record of its being asked for cannot be written.
func TestUnrecordedDisclosure(t *testing.T) {
	v := sandboxed(t, "mark-1", url.Values{"subject": {"acc_a"}})
	v.API = func(ctx *fasthttp.RequestCtx) {
		ctx.SetStatusCode(503)
		ctx.SetBodyString(`{"error":{"message":"busy"}}`)
	}
	if o := disclose(v); o.Shown != "" || o.Problem == "" {
		t.Errorf("%+v", o)
	}
}

// TestWrongLoginsByNetwork checks that the addresses of an IPv6 /64 try wrong tokens as one.
func TestWrongLoginsByNetwork(t *testing.T) {
	f := newFixture(t)
	for n := range 6 {
		f.address = &net.TCPAddr{IP: net.ParseIP(fmt.Sprintf("2001:db8::%d", n+1)), Port: 1}
		want := map[bool]int{true: 401, false: 429}[n < 5]
		if p := f.send("POST", "/console/login", "", "token=wrong"); p.status != want {
			t.Errorf("wrong token %d: %d", n+1, p.status)
		}
	}
}

// TestLogOutRevokes checks that the credentials of merchants which a session has made are revoked at its logout.
func TestLogOutRevokes(t *testing.T) {
	v := sandboxed(t, "", url.Values{"csrf": {"c"}})
	revoked := ""
	v.API = func(ctx *fasthttp.RequestCtx) { revoked += string(ctx.Method()) + " " + string(ctx.Path()) }
	one, cookie := v.sessions.begin(rootToken)
	one.csrf, one.sandbox.keys = "c", map[string]merchantKey{"acc_a": {"cli_a", "s"}}
	v.ctx.Request.Header.SetCookie(v.sessions.cookie, cookie)
	if v.logOut(v.ctx); revoked != "DELETE /admin/api-keys/cli_a" || v.sessions.has(one) {
		t.Errorf("%q, the session lasts: %v", revoked, v.sessions.has(one))
	}
}

// TestMerchantKeyExpires checks that a session's credential of a merchant is valid no longer than the session.
func TestMerchantKeyExpires(t *testing.T) {
	v := sandboxed(t, "mark-1", nil)
	v.one.until = 1_790_000_000_000
	body := ""
	v.API = func(ctx *fasthttp.RequestCtx) {
		body = string(ctx.PostBody())
		ctx.SetBodyString(`{"client_id":"a","client_secret":"b"}`)
	}
	if k, err := v.merchantKeyOf("acc_a"); err != nil || k != (merchantKey{"a", "b"}) || !strings.Contains(body, v.one.until.String()) {
		t.Errorf("%+v %v: %s", k, err, body)
	}
}

// TestUnsubscribe checks that the session's own webhook ends with its own subscription alone, also where that is gone already.
func TestUnsubscribe(t *testing.T) {
	for _, c := range []struct {
		id     string
		status int
		ends   bool
	}{{"wh_own", 200, true}, {"wh_own", 404, true}, {"wh_own", 500, false}, {"wh_other", 200, false}} {
		v := sandboxed(t, "mark-1", url.Values{"account": {"acc_a"}, "webhook": {c.id}})
		v.one.sandbox.keys = map[string]merchantKey{"acc_a": {"a", "b"}}
		v.one.sandbox.hook = &receiver{id: "wh_own"}
		v.Merchant = func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(c.status); ctx.SetBodyString(`{}`) }
		if unsubscribeOwn(v); (v.one.sandbox.hook == nil) != c.ends {
			t.Errorf("%+v: the webhook is %+v", c, v.one.sandbox.hook)
		}
	}
}

// TestAlertSpan checks that alerts of another span than the page offers are not asked for.
func TestAlertSpan(t *testing.T) {
	for text, want := range map[string]string{"1": "1h", "168": "168h", "2": "24h", "-5": "24h", "x": "24h"} {
		v := sandboxed(t, "", nil)
		v.ctx.Request.SetRequestURI("/console/alerts?hours=" + text)
		v.Now = 1_790_000_000_000
		v.API = func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString(`{"data":[]}`) }
		if err := alerts(v); err != nil || fmt.Sprint(v.Data.(map[string]any)["Hours"])+"h" != want {
			t.Errorf("%s: %v %v", text, v.Data, err)
		}
	}
}

// TestDamagedIsSaid checks that each page says how many entries its lists leave out, and says nothing where there are none.
func TestDamagedIsSaid(t *testing.T) {
	f := newFixture(t)
	damaged := ""
	f.api = func(_, path string, _ []byte) (int, string) {
		if strings.HasPrefix(path, "/admin/webhooks") || strings.HasPrefix(path, "/admin/med") {
			return 200, `{"data":[]` + damaged + `}`
		}
		return shopAPI("GET", path, nil)
	}
	cookie := f.login(veraToken)
	for path, want := range map[string]string{
		"webhooks": "registros estão danificados: 3.", "med": "registros estão danificados: 6.", // of two statuses
		"accounts/acc_shop": "registros estão danificados: 6.", // of both lists
	} {
		damaged = ""
		if p := f.send("GET", "/console/"+path, cookie, ""); p.status != 200 || strings.Contains(p.body, "danificados") {
			t.Errorf("%s: %d %s", path, p.status, p.body)
		}
		damaged = `,"damaged":3`
		f.says(f.send("GET", "/console/"+path, cookie, ""), 200, want)
	}
}

// TestLongKey checks that a form whose key is longer than those of pages is refused.
func TestLongKey(t *testing.T) {
	f := newFixture(t)
	f.api = func(string, string, []byte) (int, string) { return 200, `{"data":[]}` }
	cookie := f.login(rootToken)
	form := f.fill("/console/accounts", cookie, "search", "x")
	for n, want := range map[int]int{64: 303, 65: 400} {
		form.Set("key", strings.Repeat("k", n))
		if p := f.send("POST", "/console/accounts/search", cookie, form.Encode()); p.status != want {
			t.Errorf("%d: %d", n, p.status)
		}
	}
}
