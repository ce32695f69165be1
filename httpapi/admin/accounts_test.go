package admin

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/httpapi"
)

func TestAccounts(t *testing.T) {
	f := newFixture(t)
	const created = `"created_at":"2026-09-21T14:13:20.000Z","quarantined":false}`
	const zero = `"balance":0,"available":0,"pending":0,"med_held":0,` + created
	const defaults = `"city":"SAO PAULO","active":true,"fees":{"cash_in":{"fixed":0,"bps":0},"cash_out":{"fixed":0,"bps":0}},"cash_out_ceiling":0,"approval_threshold":null,"block_cnpj_out":false,"authorized_cnpjs":[],"repeat_window":"12h",`
	path := f.create()
	id := strings.TrimPrefix(path, "/admin/accounts/")
	plain := `{"account_id":"` + id + `","name":"Ana","document":"12345678909",` + defaults + zero
	f.expect("GET", path, "", 200, plain)
	a, _ := pix.ParseAccountID(id)
	known, ok := f.keys.Account(a)
	if !ok || len(known.PixKeys) != 1 {
		t.Fatalf("%+v", known)
	}
	if k, _ := f.keys.PixKey(known.PixKeys[0]); k.Type != pix.KeyEVP || !k.Registered {
		t.Errorf("%+v", k)
	}

	full := `{"name":"B & <C>","document":"12.345.678/0001-95","city":"Rio","active":false,"fees":{"cash_in":{"fixed":5,"bps":10},"cash_out":{"fixed":7}},"cash_out_ceiling":900,"approval_threshold":null,"block_cnpj_out":true,"authorized_cnpjs":["12ABC34501DE35"],"repeat_window":"90s"}`
	f.expect("POST", "/admin/accounts", full, 201, `{"account_id":"acc_…`)
	f.expect("PATCH", path, full, 200, `{"account_id":"`+id+`","name":"B & <C>","document":"12345678000195","city":"Rio","active":false,"fees":{"cash_in":{"fixed":5,"bps":10},"cash_out":{"fixed":7,"bps":0}},"cash_out_ceiling":900,"approval_threshold":null,"block_cnpj_out":true,"authorized_cnpjs":["12ABC34501DE35"],"repeat_window":"1m30s",`+zero)
	f.expect("PATCH", path, `{"fees":{"cash_out":{"bps":25}},"active":true,"repeat_window":"1h"}`, 200, `{"account_id":"`+id+`","name":"B & <C>","document":"12345678000195","city":"Rio","active":true,"fees":{"cash_in":{"fixed":5,"bps":10},"cash_out":{"fixed":7,"bps":25}},"cash_out_ceiling":900,"approval_threshold":null,"block_cnpj_out":true,"authorized_cnpjs":["12ABC34501DE35"],"repeat_window":"1h",`+zero)
	for given, want := range map[string]string{`10000000`: `10000000`, `0`: `0`, `null`: `null`} {
		if got := f.expect("PATCH", path, `{"approval_threshold":`+given+`}`, 200, `{…`); !strings.Contains(got, `,"approval_threshold":`+want+`,`) {
			t.Errorf("threshold %s: %s", given, got)
		}
		if got := f.expect("PATCH", path, `{"city":"Rio"}`, 200, `{…`); !strings.Contains(got, `,"approval_threshold":`+want+`,`) {
			t.Errorf("threshold %s after another change: %s", given, got)
		}
		if got := f.expect("POST", "/admin/accounts", `{"name":"Ana","document":"12345678909","approval_threshold":`+given+`}`, 201, `{…`); !strings.Contains(got, `,"approval_threshold":`+want+`,`) {
			t.Errorf("made with threshold %s: %s", given, got)
		}
	}
	f.expect("GET", "/admin/accounts/acc_none", "", 404, problem(404, `no account \"acc_none\"`))
	f.expect("PATCH", "/admin/accounts/acc_none", "{}", 404, problem(404, `no account \"acc_none\"`))
}

// TestAccountMadeAgain makes an account under the id of one that a restored journal lacks, and no other.
func TestAccountMadeAgain(t *testing.T) {
	f := newFixture(t)
	taken := strings.TrimPrefix(f.create(), "/admin/accounts/")
	lost, free := pix.AccountID(77).String(), pix.AccountID(78).String() // the fixture lacks 77
	for _, c := range []struct {
		id     string
		status int
		want   string
	}{
		{`""`, 400, problem(400, "account_id must be an account's id: acc_ and 13 characters")},
		{`"acc_x"`, 400, problem(400, "account_id must be an account's id: acc_ and 13 characters")},
		{`7`, 400, problem(400, "account_id must be a string")},
		{`null`, 400, problem(400, "account_id must not be null")},
		{`"` + free + `"`, 422, problem(422, "account_id: an account is made again under its id only where movements of it are kept aside since a restore; leave account_id out")},
		{`"` + taken + `"`, 409, problem(409, "account_id: the account is there")},
		{`"` + lost + `"`, 201, `{"account_id":"` + lost + `",…`},
		{`"` + lost + `"`, 409, problem(409, "account_id: the account is there")},
	} {
		f.expect("POST", "/admin/accounts", `{"name":"Ana","document":"12345678909","account_id":`+c.id+`}`, c.status, c.want)
	}
	if got := f.expect("GET", "/admin/accounts", "", 200, `{"data":[…`); strings.Count(got, `"account_id"`) != 2 {
		t.Errorf("a refused request made an account: %s", got)
	}
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

// closedOff is an engine that answers ErrQuarantined for one account.
type closedOff struct {
	httpapi.Engine
	id pix.AccountID
}

func (c closedOff) Do(id pix.AccountID, command ledger.Command) (ledger.Answer, error) {
	if id == c.id {
		return ledger.Answer{}, ledger.ErrQuarantined
	}
	return c.Engine.Do(id, command)
}

// TestQuarantinedInLists checks that a list shows a quarantined account, with the fields
// that are known, among the others, and that a request for that account alone is answered
// 503.
func TestQuarantinedInLists(t *testing.T) {
	f := newFixture(t)
	paths := []string{f.create(), f.create(), f.create()}
	shown := func(path string) string { return f.expect("GET", path, "", 200, `{"account_id":"…`) }
	before, after := shown(paths[0]), shown(paths[2])
	f.expect("PATCH", paths[1], `{"name":"Another","active":false}`, 200, `{"account_id":"…`)
	name := strings.TrimPrefix(paths[1], "/admin/accounts/")
	id, _ := pix.ParseAccountID(name)
	o := f.options
	o.Engine = closedOff{o.Engine, id}
	f.handler = New(o)
	const unknown = `"city":null,"active":false,"fees":null,"cash_out_ceiling":null,"approval_threshold":null,"block_cnpj_out":null,` +
		`"authorized_cnpjs":null,"repeat_window":null,"balance":null,"available":null,"pending":null,"med_held":null,` +
		`"created_at":"2026-09-21T14:13:20.000Z","quarantined":true}`
	closed := `{"account_id":"` + name + `","name":"Ana","document":"12345678909",` + unknown
	f.expect("GET", "/admin/accounts", "", 200, `{"data":[`+before+`,`+closed+`,`+after+`],"next_cursor":null}`)
	f.expect("GET", "/admin/accounts?limit=1&cursor=1", "", 200, `{"data":[`+closed+`],"next_cursor":"2"}`)
	f.expect("GET", paths[1], "", 503, problem(503, "account "+name+": account is closed off after damage"))
	f.expect("GET", paths[0], "", 200, before)
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
		{"POST", "/admin/accounts", `{` + who + `,"approval_threshold":-1}`, "approval_threshold"},
		{"POST", "/admin/accounts", `{` + who + `,"repeat_window":"13h"}`, "repeat_window"},
		{"POST", "/admin/accounts", `{` + who + `,"repeat_window":"59s"}`, "repeat_window"},
		{"POST", "/admin/accounts", `{` + who + `,"repeat_window":12}`, "repeat_window"},
		{"POST", "/admin/accounts", `{` + who + `,"authorized_cnpjs":["x"]}`, "authorized_cnpjs"},
		{"POST", "/admin/accounts", `{` + who + `,"authorized_cnpjs":[null]}`, "authorized_cnpjs"},
		{"PATCH", path, `{"name":null}`, "name"},
		{"PATCH", path, `{"city":null}`, "city"},
		{"PATCH", path, `{"fees":null}`, "fees"},
		{"PATCH", path, `{"balance":5}`, "balance"},
		{"PATCH", path, `{"approval_threshold":"0"}`, "approval_threshold"},
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
		{"POST", path + "/credits", `{"amount":5,"type":"ted","reference":"` + strings.Repeat("x", 127) + `é"}`, "reference takes at most 128 bytes"},
		{"POST", path + "/credits", `{"amount":5,"type":"ted","note":"x"}`, "note"},
	} {
		status, body := f.send(v.method, v.path, v.body)
		if status != 400 || !strings.HasPrefix(body, `{"error":{"status":400,"message":"`) || !strings.Contains(body, v.field) {
			t.Errorf("%s %s %s: %d %s; want %s named", v.method, v.path, v.body, status, body, v.field)
		}
	}
	f.expect("POST", path+"/credits", `{"amount":5,"type":"ted","reference":"`+strings.Repeat("x", 126)+`é"}`, 201, `{…`)
	f.expect("GET", path+"/api-keys?limit=0", "", 400, problem(400, "limit must be an integer from 1 to 200"))
	f.expect("GET", path+"/api-keys", "", 200, `{"data":[],"next_cursor":null}`)
}

// meeting is an engine whose first ReadAccount waits until a second one has been made, or for
// 100 ms.
type meeting struct {
	httpapi.Engine
	first  sync.Once
	second chan struct{}
}

func (m *meeting) Do(id pix.AccountID, c ledger.Command) (ledger.Answer, error) {
	a, err := m.Engine.Do(id, c)
	if _, reads := c.(ledger.ReadAccount); !reads {
		return a, err
	}
	waits := false
	m.first.Do(func() { waits = true })
	if !waits {
		select {
		case m.second <- struct{}{}:
		default:
		}
		return a, err
	}
	select {
	case <-m.second:
	case <-time.After(100 * time.Millisecond): // the second change waits for the lock that the first change holds, so it makes no ReadAccount
	}
	return a, err
}

// TestTwoChangesAtOnce checks that neither of two simultaneous changes of an account undoes
// the other.
func TestTwoChangesAtOnce(t *testing.T) {
	f := newFixture(t)
	id := f.create()
	f.options.Engine = &meeting{Engine: f.options.Engine, second: make(chan struct{})}
	f.handler = New(f.options)
	var both sync.WaitGroup
	for _, body := range []string{`{"block_cnpj_out":true}`, `{"cash_out_ceiling":70000}`} {
		both.Go(func() {
			if status, got := f.send("PATCH", id, body); status != 200 {
				t.Errorf("%s: %d %s", body, status, got)
			}
		})
	}
	both.Wait()
	if _, got := f.send("GET", id, ""); !strings.Contains(got, `"block_cnpj_out":true`) || !strings.Contains(got, `"cash_out_ceiling":70000`) {
		t.Errorf("after both: %s", got)
	}
}
