package admin

import (
	"crypto/sha256"
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
	"pixd/actors/registry"
	"pixd/actors/scheme"
	"pixd/actors/scheme/sim"
	"pixd/httpapi"
	"pixd/wal"
)

const testNow = ledger.Millis(1_790_000_000_000)

type rows struct{ *wal.Store }

func (r rows) Record(a ledger.AccountID, seq uint64) (*ledger.Record, error) {
	return history.Record(r.Store, a, seq)
}

// fixture is the operator API over real accounts, with a scheme that takes keys
// as it is told.
type fixture struct {
	t       *testing.T
	keys    *registry.Registry
	takes   bool
	ready   bool
	drawn   byte
	handler fasthttp.RequestHandler
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, takes: true}
	store, err := wal.Open(wal.Options{Dir: "data", FS: vfs.NewMem(), MemTableBytes: 1 << 20, CacheBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	now := func() ledger.Millis { return testNow }
	if f.keys, err = registry.Open(store, now); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	d := account.NewDirectory(account.Parts{
		Config:  account.Config{Secret: []byte("s"), Render: httpapi.Render, HeadEvery: 256},
		Journal: store, Rows: rows{store}, Tail: store, Scheme: scheme.Unassigned{},
		Opening: func(id ledger.AccountID) (ledger.Settings, bool) {
			a, ok := f.keys.Account(id)
			if !ok {
				return ledger.Settings{}, false
			}
			return a.Opening, true
		},
		Now: now, Chance: func() (b [10]byte) { copy(b[:], f.draw(10)); return b }, Log: log,
	})
	t.Cleanup(d.Close)
	f.handler = New(Options{
		Engine: d, Registry: f.keys,
		NewAccountID: func() ledger.AccountID { return ledger.AccountID(binary.BigEndian.Uint64(f.draw(8))) },
		NewEVP:       func() string { return fmt.Sprintf("00000000-0000-4000-8000-0000000000%02x", f.draw(1)) },
		NewSecret:    f.draw,
		RegisterKey:  func(ledger.AccountID, ledger.Key) bool { return f.takes },
		Ready:        func() bool { return f.ready },
		Version:      "v1", Commit: "abc", Token: "operator", Now: now, Log: log, Sim: openSim(t, now),
	})
	return f
}

func openSim(t *testing.T, now func() ledger.Millis) *sim.Sim {
	t.Helper()
	s, err := sim.Open(sim.Options{Dir: "sim", FS: vfs.NewMem(), Now: now, Chance: func() [10]byte { return [10]byte{} }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// draw is n bytes that no other draw has given.
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
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	var ctx fasthttp.RequestCtx
	ctx.Init(&req, nil, nil)
	f.handler(&ctx)
	if kind := string(ctx.Response.Header.ContentType()); kind != "application/json" {
		f.t.Errorf("%s %s: Content-Type %q", method, path, kind)
	}
	return ctx.Response.StatusCode(), string(ctx.Response.Body())
}

// expect sends and compares; a want that ends in … is a prefix.
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

func member(t *testing.T, body, name string) string {
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
			if status, body := f.send("GET", path, "", "Authorization", auth); status != 401 || !strings.HasPrefix(body, `{"error":{"status":401,"message":"`) {
				t.Errorf("%s with %q: %d %s", path, auth, status, body)
			}
		}
	}
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

func TestAccounts(t *testing.T) {
	f := newFixture(t)
	const created = `"created_at":"2026-09-21T14:13:20.000Z"}`
	const zero = `"balance":0,"available":0,"pending":0,"med_held":0,` + created
	const defaults = `"city":"SAO PAULO","active":true,"fees":{"cash_in":{"fixed":0,"bps":0},"cash_out":{"fixed":0,"bps":0}},"cash_out_ceiling":0,"approval_threshold":null,"block_cnpj_out":false,"authorized_cnpjs":[],"repeat_window":"12h",`
	path := f.create()
	id := strings.TrimPrefix(path, "/admin/accounts/")
	plain := `{"account_id":"` + id + `","name":"Ana","document":"12345678909",` + defaults + zero
	f.expect("GET", path, "", 200, plain)
	a, _ := ledger.ParseAccountID(id)
	known, ok := f.keys.Account(a)
	if !ok || len(known.PixKeys) != 1 {
		t.Fatalf("%+v", known)
	}
	if k, _ := f.keys.PixKey(known.PixKeys[0]); k.Type != ledger.KeyEVP || !k.Registered {
		t.Errorf("%+v", k)
	}

	full := `{"name":"B & <C>","document":"12.345.678/0001-95","city":"Rio","active":false,"fees":{"cash_in":{"fixed":5,"bps":10},"cash_out":{"fixed":7}},"cash_out_ceiling":900,"approval_threshold":null,"block_cnpj_out":true,"authorized_cnpjs":["12ABC34501DE35"],"repeat_window":"90s"}`
	f.expect("POST", "/admin/accounts", full, 201, `{"account_id":"acc_…`)
	f.expect("PATCH", path, full, 200, `{"account_id":"`+id+`","name":"B & <C>","document":"12345678000195","city":"Rio","active":false,"fees":{"cash_in":{"fixed":5,"bps":10},"cash_out":{"fixed":7,"bps":0}},"cash_out_ceiling":900,"approval_threshold":null,"block_cnpj_out":true,"authorized_cnpjs":["12ABC34501DE35"],"repeat_window":"1m30s",`+zero)
	f.expect("PATCH", path, `{"fees":{"cash_out":{"bps":25}},"active":true,"repeat_window":"1h"}`, 200, `{"account_id":"`+id+`","name":"B & <C>","document":"12345678000195","city":"Rio","active":true,"fees":{"cash_in":{"fixed":5,"bps":10},"cash_out":{"fixed":7,"bps":25}},"cash_out_ceiling":900,"approval_threshold":null,"block_cnpj_out":true,"authorized_cnpjs":["12ABC34501DE35"],"repeat_window":"1h",`+zero)
	f.expect("GET", "/admin/accounts/acc_none", "", 404, problem(404, `no account \"acc_none\"`))
	f.expect("PATCH", "/admin/accounts/acc_none", "{}", 404, problem(404, `no account \"acc_none\"`))
}

func TestAccountLists(t *testing.T) {
	f := newFixture(t)
	f.expect("GET", "/admin/accounts", "", 200, `{"data":[],"next_cursor":null}`)
	var want []string
	for range 3 {
		want = append(want, strings.TrimPrefix(f.create(), "/admin/accounts/"))
	}
	var got []string
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		b := f.expect("GET", "/admin/accounts?limit=2&cursor="+cursor, "", 200, `{"data":[…`)
		var list struct {
			Data []struct {
				ID string `json:"account_id"`
			} `json:"data"`
			Next *string `json:"next_cursor"`
		}
		if err := json.Unmarshal([]byte(b), &list); err != nil {
			t.Fatal(err)
		}
		for _, a := range list.Data {
			got = append(got, a.ID)
		}
		if cursor = ""; list.Next != nil {
			cursor = *list.Next
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, q := range []string{"limit=0", "limit=201", "limit=x", "limit=", "limit=-1"} {
		f.expect("GET", "/admin/accounts?"+q, "", 400, problem(400, "limit must be an integer from 1 to 200"))
	}
	f.expect("GET", "/admin/accounts?cursor=x", "", 400, problem(400, "cursor must be a next_cursor of this list"))
}

func TestBadBodies(t *testing.T) {
	f := newFixture(t)
	path := f.create()
	const who = `"name":"Ana","document":"12345678909"`
	for _, v := range []struct{ method, path, body, field string }{
		{"POST", "/admin/accounts", ``, "JSON object"},
		{"POST", "/admin/accounts", `[]`, "JSON object"},
		{"POST", "/admin/accounts", `{` + who + `}x`, "JSON object"},
		{"POST", "/admin/accounts", `{` + who + `,"name":"x"}`, "JSON object"},
		{"POST", "/admin/accounts", `{"document":"12345678909"}`, "name"},
		{"POST", "/admin/accounts", `{"name":"Ana"}`, "document"},
		{"POST", "/admin/accounts", `{"name":"","document":"12345678909"}`, "name"},
		{"POST", "/admin/accounts", `{"name":"Ana","document":"123"}`, "document"},
		{"POST", "/admin/accounts", `{"name":7,"document":"12345678909"}`, "name"},
		{"POST", "/admin/accounts", `{` + who + `,"Name":"x"}`, "Name"},
		{"POST", "/admin/accounts", `{` + who + `,"colour":"x"}`, "colour"},
		{"POST", "/admin/accounts", `{` + who + `,"fees":{"cash_in":{"flat":1}}}`, "fees.cash_in.flat"},
		{"POST", "/admin/accounts", `{` + who + `,"fees":{"cash_in":{"fixed":1.5}}}`, "fees.cash_in.fixed"},
		{"POST", "/admin/accounts", `{` + who + `,"fees":{"cash_in":{"fixed":-1}}}`, "fees.cash_in"},
		{"POST", "/admin/accounts", `{` + who + `,"fees":{"cash_out":{"bps":10001}}}`, "fees.cash_out"},
		{"POST", "/admin/accounts", `{` + who + `,"fees":{"cash_out":5}}`, "fees.cash_out"},
		{"POST", "/admin/accounts", `{` + who + `,"fees":[]}`, "fees"},
		{"POST", "/admin/accounts", `{` + who + `,"active":"yes"}`, "active"},
		{"POST", "/admin/accounts", `{` + who + `,"cash_out_ceiling":-1}`, "cash_out_ceiling"},
		{"POST", "/admin/accounts", `{` + who + `,"cash_out_ceiling":"5"}`, "cash_out_ceiling"},
		{"POST", "/admin/accounts", `{` + who + `,"cash_out_ceiling":9223372036854775808}`, "cash_out_ceiling"},
		{"POST", "/admin/accounts", `{` + who + `,"approval_threshold":5}`, "approval_threshold"},
		{"POST", "/admin/accounts", `{` + who + `,"repeat_window":"13h"}`, "repeat_window"},
		{"POST", "/admin/accounts", `{` + who + `,"repeat_window":"59s"}`, "repeat_window"},
		{"POST", "/admin/accounts", `{` + who + `,"repeat_window":12}`, "repeat_window"},
		{"POST", "/admin/accounts", `{` + who + `,"authorized_cnpjs":["x"]}`, "authorized_cnpjs"},
		{"POST", "/admin/accounts", `{` + who + `,"authorized_cnpjs":[null]}`, "authorized_cnpjs"},
		{"PATCH", path, `{"name":null}`, "name"},
		{"PATCH", path, `{"city":null}`, "city"},
		{"PATCH", path, `{"fees":null}`, "fees"},
		{"PATCH", path, `{"balance":5}`, "balance"},
		{"PATCH", path, `{"approval_threshold":0}`, "approval_threshold"},
		{"POST", path + "/api-keys", `{}`, "permissions"},
		{"POST", path + "/api-keys", `{"permissions":[]}`, "permissions"},
		{"POST", path + "/api-keys", `{"permissions":["pix:eat"]}`, "pix:eat"},
		{"POST", path + "/api-keys", `{"permissions":"*"}`, "permissions"},
		{"POST", path + "/api-keys", `{"permissions":["*"],"ip_whitelist":"127.0.0.1"}`, "ip_whitelist"},
		{"POST", path + "/api-keys", `{"permissions":["*"],"ip_whitelist":null}`, "ip_whitelist"},
		{"POST", path + "/api-keys", `{"permissions":["*"],"expires_at":"tomorrow"}`, "expires_at"},
		{"POST", path + "/api-keys", `{"permissions":["*"],"expires_at":5}`, "expires_at"},
		{"POST", path + "/api-keys", `{"permissions":["*"],"signing":1}`, "signing"},
		{"POST", path + "/api-keys", `{"permissions":["*"],"secret":"x"}`, "secret"},
		{"POST", path + "/pix-keys", `{}`, "key_type"},
		{"POST", path + "/pix-keys", `{"key_type":"iban","key":"x"}`, "key_type"},
		{"POST", path + "/pix-keys", `{"key_type":"cpf"}`, "key"},
		{"POST", path + "/pix-keys", `{"key_type":"cpf","key":"123"}`, "key"},
		{"POST", path + "/credits", `{"type":"ted"}`, "amount"},
		{"POST", path + "/credits", `{"amount":5}`, "type"},
		{"POST", path + "/credits", `{"amount":0,"type":"ted"}`, "amount"},
		{"POST", path + "/credits", `{"amount":-5,"type":"ted"}`, "amount"},
		{"POST", path + "/credits", `{"amount":5.0,"type":"ted"}`, "amount"},
		{"POST", path + "/credits", `{"amount":5,"type":"pix"}`, "type"},
		{"POST", path + "/credits", `{"amount":5,"type":"ted","reference":7}`, "reference"},
		{"POST", path + "/credits", `{"amount":5,"type":"ted","description":"` + strings.Repeat("x", 141) + `"}`, "description"},
		{"POST", path + "/credits", `{"amount":5,"type":"ted","note":"x"}`, "note"},
	} {
		status, body := f.send(v.method, v.path, v.body)
		if status != 400 || !strings.HasPrefix(body, `{"error":{"status":400,"message":"`) || !strings.Contains(body, v.field) {
			t.Errorf("%s %s %s: %d %s; want %s named", v.method, v.path, v.body, status, body, v.field)
		}
	}
	f.expect("GET", path+"/api-keys", "", 200, `{"data":[],"next_cursor":null}`)
}

func TestAPIKeys(t *testing.T) {
	f := newFixture(t)
	path := f.create()
	id := strings.TrimPrefix(path, "/admin/accounts/")
	made := f.expect("POST", path+"/api-keys", `{"permissions":["transfer:read","pix:write"],"ip_whitelist":["127.0.0.1","10.0.0.1/8"],"expires_at":"2026-12-31T21:00:00-03:00"}`, 201, `{"client_id":"cli_…`)
	client, secret := member(t, made, "client_id"), member(t, made, "client_secret")
	const times = `"created_at":"2026-09-21T14:13:20.000Z","last_used_at":null,`
	rest := func(permissions, ips, expires, active, warnings string) string {
		return `"account_id":"` + id + `","permissions":[` + permissions + `],"ip_whitelist":[` + ips + `],"expires_at":` + expires + `,"signing":true,"active":` + active + `,` + times + `"warnings":[` + warnings + `]}`
	}
	const both, ips, never = `"pix:write","transfer:read"`, `"127.0.0.1","10.0.0.1/8"`, `"ip_whitelist entry \"10.0.0.1/8\" can never match"`
	if want := `{"client_id":"` + client + `","client_secret":"` + secret + `",` + rest(both, ips, `"2027-01-01T00:00:00.000Z"`, "true", never); made != want {
		t.Errorf("got %s\nwant %s", made, want)
	}
	if len(client) != 4+26 || len(secret) < 3+32 || !strings.HasPrefix(secret, "sk_") {
		t.Errorf("%s %s", client, secret)
	}
	k, _ := f.keys.APIKey(client)
	if k.SecretHash != sha256.Sum256([]byte(secret)) {
		t.Error("the hash is not the secret's")
	}
	shown := `{"client_id":"` + client + `",`
	f.expect("GET", path+"/api-keys", "", 200, `{"data":[`+shown+rest(both, ips, `"2027-01-01T00:00:00.000Z"`, "true", never)+`],"next_cursor":null}`)
	key := "/admin/api-keys/" + client
	f.expect("PATCH", key, `{"expires_at":null}`, 200, shown+rest(both, ips, "null", "true", never))
	f.expect("PATCH", key, `{"permissions":["account:read"],"ip_whitelist":[]}`, 200, shown+rest(`"account:read"`, "", "null", "true", ""))
	f.expect("PATCH", key, `{"signing":false}`, 400, problem(400, `unknown field \"signing\"`))
	f.expect("PATCH", key, `{"permissions":[]}`, 400, `{"error":…`)
	f.expect("PATCH", key, `{"expires_at":"1969-12-31T00:00:00Z"}`, 200, shown+rest(`"account:read"`, "", `"1970-01-01T00:00:00.001Z"`, "true", ""))
	for range 2 {
		f.expect("DELETE", key, "", 200, shown+rest(`"account:read"`, "", `"1970-01-01T00:00:00.001Z"`, "false", ""))
	}
	f.expect("POST", path+"/api-keys", `{"permissions":["*"],"signing":false,"expires_at":null}`, 201, `{"client_id":"cli_…`)
	for _, method := range []string{"PATCH", "DELETE"} {
		f.expect(method, "/admin/api-keys/cli_none", "{}", 404, problem(404, `no API key \"cli_none\"`))
	}
	f.expect("POST", "/admin/accounts/acc_none/api-keys", `{"permissions":["*"]}`, 404, problem(404, `no account \"acc_none\"`))
	f.expect("GET", "/admin/accounts/acc_none/api-keys", "", 404, problem(404, `no account \"acc_none\"`))
}

func TestPixKeys(t *testing.T) {
	f := newFixture(t)
	mine, other := f.create(), f.create()
	id := strings.TrimPrefix(mine, "/admin/accounts/")
	want := func(key, kind, status string) string {
		return `{"key":"` + key + `","key_type":"` + kind + `","account_id":"` + id + `","status":"` + status + `","created_at":"2026-09-21T14:13:20.000Z"}`
	}
	f.takes = false
	f.expect("POST", mine+"/pix-keys", `{"key":"Ana@X.com","key_type":"email"}`, 201, want("ana@x.com", "email", "pending"))
	f.takes = true
	f.expect("POST", mine+"/pix-keys", `{"key":"ana@x.com","key_type":"email"}`, 201, want("ana@x.com", "email", "registered"))
	f.takes = false
	f.expect("POST", mine+"/pix-keys", `{"key":"ana@x.com","key_type":"email"}`, 201, want("ana@x.com", "email", "registered"))
	f.expect("POST", other+"/pix-keys", `{"key":"ana@x.com","key_type":"email"}`, 409, problem(409, `key \"ana@x.com\" belongs to another account`))
	f.expect("POST", mine+"/pix-keys", `{"key":"11987654321","key_type":"phone"}`, 201, want("+5511987654321", "phone", "pending"))
	f.expect("POST", mine+"/pix-keys", `{"key_type":"evp"}`, 201, `{"key":"00000000-0000-4000-8000-…`)
	f.expect("POST", "/admin/accounts/acc_none/pix-keys", `{"key_type":"evp"}`, 404, problem(404, `no account \"acc_none\"`))
}

func TestCredits(t *testing.T) {
	f := newFixture(t)
	path := f.create()
	const body = `{"amount":70000,"type":"ted","description":"d","payer_name":"P","payer_document":"x-1","reference":"r1"}`
	first := f.expect("POST", path+"/credits", body, 201, `{"id":"…`)
	for name, want := range map[string]string{"type": "ted", "status": "completed", "direction": "inbound", "counterparty_name": "P", "payer_document": "x-1", "description": "d"} {
		if got := member(t, first, name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	f.expect("POST", path+"/credits", body, 201, first)
	f.expect("POST", path+"/credits", `{"amount":70000,"type":"ted","reference":"r1"}`, 201, first)
	for _, other := range []string{`{"amount":70001,"type":"ted","reference":"r1"}`, `{"amount":70000,"type":"internal","reference":"r1"}`} {
		f.expect("POST", path+"/credits", other, 409, problem(409, "reference was used with another amount or type"))
	}
	f.expect("POST", path+"/credits", `{"amount":1,"type":"internal"}`, 201, `{"id":"…`)
	if b := f.expect("GET", path, "", 200, `{"account_id":"…`); !strings.Contains(b, `"balance":70001,"available":70001,"pending":0,"med_held":0,`) {
		t.Error(b)
	}
	f.expect("POST", path+"/credits", `{"amount":9223372036854775807,"type":"internal"}`, 422, `{"error":{"status":422,…`)
	f.expect("POST", "/admin/accounts/acc_none/credits", `{"amount":1,"type":"ted"}`, 404, problem(404, `no account \"acc_none\"`))
}
