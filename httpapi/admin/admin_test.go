package admin

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/valyala/fasthttp"

	"pixd/actors/account"
	"pixd/actors/history"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/actors/scheme"
	"pixd/actors/scheme/sim"
	"pixd/httpapi"
	"pixd/httpapi/control"
	"pixd/wal"
)

const testNow = pix.Millis(1_790_000_000_000)

var terms = ledger.Terms{Secret: []byte("s"), OwnISPB: "99999004", OrphanAfter: 1_800_000, QueueTTL: 7_200_000, ApprovalTTL: 604_800_000}

type rows struct{ *wal.Store }

func (r rows) Record(a pix.AccountID, seq uint64) (*ledger.Record, error) {
	return history.Record(r.Store, a, seq)
}

// fixture is the operator API over real accounts. Its scheme accepts PIX keys while takes is
// true.
type fixture struct {
	t       testing.TB
	keys    *registry.Registry
	takes   bool
	ready   bool
	drawn   byte
	now     pix.Millis // engine time
	options Options
	handler fasthttp.RequestHandler
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	f := &fixture{t: t, takes: true, now: testNow}
	store, err := openStore(t), error(nil)
	now := func() pix.Millis { return f.now }
	if f.keys, err = registry.Open(store, now); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	d := account.NewHost(account.Options{
		Config:  account.Config{Renderer: httpapi.Renderer{}, HeadEvery: 256, Terms: terms},
		Journal: store, Rows: rows{store}, Tail: store, Scheme: scheme.Unassigned{},
		Opening: func(id pix.AccountID) (ledger.Settings, bool) {
			a, ok := f.keys.Account(id)
			if !ok {
				return ledger.Settings{}, false
			}
			return *a.Opening, true
		},
		Active: func(id pix.AccountID) bool { a, ok := f.keys.Account(id); return ok && a.Active },
		Now:    func() pix.Reading { return pix.At(now()) }, Entropy: func() (b [10]byte) { copy(b[:], f.draw(10)); b[3] = b[9]; return b }, Log: log,
	})
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	f.options = Options{
		Engine: d, Registry: f.keys, History: history.New(store),
		Settings:     func(id pix.AccountID) (*ledger.Settings, int, error) { return account.SettingsOf(id, store) },
		NewAccountID: func() pix.AccountID { return pix.AccountID(binary.BigEndian.Uint64(f.draw(8))) },
		NewEVP:       func() string { return fmt.Sprintf("00000000-0000-4000-8000-0000000000%02x", f.draw(1)) },
		NewSecret:    f.draw,
		Lost:         func(id pix.AccountID) bool { return id == 77 },
		TellScheme: func(key string) bool {
			if k, ok := f.keys.PixKey(key); ok {
				return f.takes && f.keys.RegisteredPixKey(k) == nil
			}
			k, _ := f.keys.Removal(key)
			return f.takes && f.keys.UnlistedPixKey(k) == nil
		},
		Ready:   func() bool { return f.ready },
		Version: "v1", Commit: "abc", Token: "operator", Operators: operatorsOn(t, store), Now: now, Log: log, Sim: openSim(t, now),
	}
	f.handler = New(f.options)
	return f
}

func openSim(t testing.TB, now func() pix.Millis) *sim.Sim {
	t.Helper()
	s, err := sim.Open(sim.Options{Dir: "sim", FS: vfs.NewMem(), Now: now, Entropy: func() [10]byte { return [10]byte{} }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// draw returns n bytes that no other call has returned.
func (f *fixture) draw(n int) []byte {
	f.drawn++
	b := make([]byte, n)
	b[n-1] = f.drawn
	return b
}

func (f *fixture) send(method, path, body string, headers ...string) (int, string) {
	f.t.Helper()
	var req fasthttp.Request
	req.Header.SetMethod(method)
	req.SetRequestURI(path)
	req.Header.Set("Authorization", "Bearer operator")
	req.SetBodyString(body)
	if body != "" {
		req.Header.SetContentType("application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	var ctx fasthttp.RequestCtx
	ctx.Init(&req, nil, nil)
	f.handler(&ctx)
	hold(f.t, path, &ctx.Request, &ctx.Response)
	want := "application/json"
	if strings.HasSuffix(path, "/receipt") && ctx.Response.StatusCode() == 200 {
		want = "application/pdf"
	}
	if kind := string(ctx.Response.Header.ContentType()); kind != want {
		f.t.Errorf("%s %s: Content-Type %q", method, path, kind)
	}
	return ctx.Response.StatusCode(), string(ctx.Response.Body())
}

// expect sends a request and compares status and body; a want that ends in … is a prefix of
// the body.
func (f *fixture) expect(method, path, body string, status int, want string) string {
	f.t.Helper()
	s, b := f.send(method, path, body)
	prefix, open := strings.CutSuffix(want, "…")
	if s != status || b != want && (!open || !strings.HasPrefix(b, prefix)) {
		f.t.Errorf("%s %s %s:\n got %d %s\nwant %d %s", method, path, body, s, b, status, want)
	}
	return b
}

func problem(status int, message string) string {
	return fmt.Sprintf(`{"error":{"status":%d,"message":"%s"}}`, status, message)
}

func member(t testing.TB, body, name string) string {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal([]byte(body), &fields); err != nil {
		t.Fatal(body, err)
	}
	s, _ := fields[name].(string)
	return s
}

// create makes an account and returns its path.
func (f *fixture) create() string {
	f.t.Helper()
	b := f.expect("POST", "/admin/accounts", `{"name":"Ana","document":"123.456.789-09"}`, 201, `{"account_id":"acc_…`)
	return "/admin/accounts/" + member(f.t, b, "account_id")
}

func TestGuard(t *testing.T) {
	f := newFixture(t)
	for _, path := range []string{"/admin/accounts", "/admin", "/admin/nothing", "/sim/payments", "/sim/x"} {
		for _, auth := range []string{"", "Bearer", "Bearer other", "Basic operator", "operator", "Bearer operators"} {
			f.now += 60_000 // a new minute, because after five wrong tokens in a minute the status is no longer 401
			if status, body := f.send("GET", path, "", "Authorization", auth); status != 401 || !strings.HasPrefix(body, `{"error":{"status":401,"message":"`) {
				t.Errorf("%s with %q: %d %s", path, auth, status, body)
			}
		}
	}
	f.now += 60_000
	for n := range 7 {
		if status, body := f.send("GET", "/admin/accounts", "", "Authorization", ""); status != map[bool]int{true: 401, false: 429}[n < 5] {
			t.Errorf("wrong token %d: %d %s", n+1, status, body)
		}
	}
	f.expect("GET", "/admin/accounts", "", 200, `{"data":[…`)
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 503, "/version": 200, "/nothing": 404, "/administer": 404} {
		if status, body := f.send("GET", path, "", "Authorization", ""); status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	f.ready = true
	f.expect("GET", "/readyz", "", 200, `{"status":"ready"}`)
	f.expect("GET", "/version", "", 200, `{"commit":"abc","go":"go1…`)
	f.expect("GET", "/admin/nothing", "", 404, problem(404, "no such path"))
	f.expect("GET", "/admin/accounts/", "", 404, problem(404, "no such path"))
	f.expect("DELETE", "/admin/accounts", "", 405, problem(405, "this path does not take this method"))
	f.expect("GET", "/sim/payments", "", 405, problem(405, "this path does not take this method"))
	f.expect("POST", "/sim/payments", "{}", 400, `{"error":{"status":400,…`)
}

// lostEngine is an engine that cannot say whether a command was carried out.
type lostEngine struct{}

func (lostEngine) Do(pix.AccountID, ledger.Command) (ledger.Answer, error) {
	return ledger.Answer{}, ledger.ErrCut
}

func TestCut(t *testing.T) {
	f := newFixture(t)
	f.create()
	ids, _ := f.keys.Accounts(0, 1)
	s := &service{Options: Options{Engine: lostEngine{}, Registry: f.keys}}
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	ctx.SetUserValue("account_id", ids[0].String())
	control.Handle(slog.New(slog.DiscardHandler), about(s.account, s.showAccount))(&ctx)
	if !ctx.Hijacked() {
		t.Errorf("answered: %d %s", ctx.Response.StatusCode(), ctx.Response.Body())
	}
}
