package admin

import (
	"crypto/sha256"
	"strings"
	"testing"
)

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
	second := f.expect("POST", mine+"/pix-keys", `{"key_type":"evp"}`, 201, `{"key":"00000000-0000-4000-8000-…`)
	first := f.expect("GET", mine+"/pix-keys?limit=1", "", 200, `{"data":[{"key":"00000000-0000-4000-8000-…`) // the key that the account was opened with
	own, isOpen := strings.CutSuffix(strings.TrimPrefix(first, `{"data":[`), `],"next_cursor":"1"}`)
	if !isOpen || !strings.Contains(own, `"key_type":"evp","account_id":"`+id+`","status":"registered",`) {
		t.Error(first)
	}
	rest := want("ana@x.com", "email", "registered") + `,` + want("+5511987654321", "phone", "pending") + `,` + second + `],"next_cursor":null}`
	f.expect("GET", mine+"/pix-keys", "", 200, `{"data":[`+own+`,`+rest)
	f.expect("GET", mine+"/pix-keys?cursor=1&limit=200", "", 200, `{"data":[`+rest)
	f.expect("GET", mine+"/pix-keys?cursor=9", "", 200, `{"data":[],"next_cursor":null}`)
	f.expect("GET", mine+"/pix-keys?limit=0", "", 400, problem(400, "limit must be an integer from 1 to 200"))
	f.expect("GET", mine+"/pix-keys?cursor=x", "", 400, problem(400, "cursor must be a next_cursor of this list"))
	if got := f.expect("GET", other+"/pix-keys", "", 200, `{"data":[…`); strings.Contains(got, "ana@x.com") || strings.Count(got, `"key":`) != 1 {
		t.Errorf("another account's: %s", got)
	}
	f.expect("GET", "/admin/accounts/acc_none/pix-keys", "", 404, problem(404, `no account \"acc_none\"`))
	f.expect("POST", "/admin/accounts/acc_none/pix-keys", `{"key_type":"evp"}`, 404, problem(404, `no account \"acc_none\"`))
}

// TestPixKeyRemoval checks the removal of a PIX key, in each spelling that means one key, and
// that the key may be reserved again afterwards.
func TestPixKeyRemoval(t *testing.T) {
	f := newFixture(t)
	mine, other := f.create(), f.create()
	id := strings.TrimPrefix(mine, "/admin/accounts/")
	first := member(t, strings.TrimSuffix(strings.TrimPrefix(f.expect("GET", mine+"/pix-keys", "", 200, `{"data":[…`), `{"data":[`), `],"next_cursor":null}`), "key")
	removed := func(key, kind string) string {
		return `{"key":"` + key + `","key_type":"` + kind + `","account_id":"` + id + `","status":"removed","created_at":"2026-09-21T14:13:20.000Z"}`
	}
	f.expect("DELETE", mine+"/pix-keys/"+first, "", 409, problem(409, `key \"`+first+`\" is the account's last one`))
	f.expect("DELETE", mine+"/pix-keys/ana@x.com", "", 404, problem(404, `account `+id+` has no PIX key \"ana@x.com\"`))
	f.expect("DELETE", mine+"/pix-keys/%zz", "", 404, problem(404, "no such path"))
	f.expect("DELETE", "/admin/accounts/acc_none/pix-keys/x", "", 404, problem(404, `no account \"acc_none\"`))
	for _, k := range []struct{ key, kind, path string }{
		{"a/b+c@x.com", "email", "A%2Fb%2Bc%40X.com"},
		{"+5511987654321", "phone", "+5511987654321"},
		{"11987654321", "cpf", "11987654321"},
		{"0b6e4c1e-8f7a-4d3b-9c2a-1f2e3d4c5b6a", "evp", "0B6E4C1E-8f7a-4d3b-9c2a-1f2e3d4c5b6a"},
	} {
		f.takes = true
		made := `{"key":"` + k.key + `","key_type":"` + k.kind + `"}`
		f.expect("POST", mine+"/pix-keys", made, 201, `{"key":"…`)
		f.expect("DELETE", other+"/pix-keys/"+k.path, "", 404, `{"error":{"status":404,…`)
		f.takes = false // the removal counts, though the scheme cannot be told now
		f.expect("DELETE", mine+"/pix-keys/"+k.path, "", 200, removed(k.key, k.kind))
		f.expect("DELETE", mine+"/pix-keys/"+k.path, "", 404, `{"error":{"status":404,…`)
		if waiting := f.keys.Removals(); len(waiting) != 1 || waiting[0].Key != k.key {
			t.Errorf("the scheme is to be told of %v", waiting)
		}
		f.takes = true
		f.expect("POST", other+"/pix-keys", made, 201, `{"key":"…`)
		f.expect("DELETE", other+"/pix-keys/"+k.path, "", 200, `{"key":"…`)
		if waiting := f.keys.Removals(); len(waiting) != 0 {
			t.Errorf("the scheme is still to be told of %v", waiting)
		}
	}
	if got := f.expect("GET", mine+"/pix-keys", "", 200, `{"data":[{"key":"`+first+`…`); strings.Count(got, `"key":`) != 1 {
		t.Error(got)
	}
	f.expect("POST", mine+"/pix-keys", `{"key":"ana@x.com","key_type":"email"}`, 201, `{"key":"…`)
	f.expect("DELETE", mine+"/pix-keys/"+first, "", 200, removed(first, "evp"))
	f.expect("GET", mine+"/pix-keys", "", 200, `{"data":[{"key":"ana@x.com…`)
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
