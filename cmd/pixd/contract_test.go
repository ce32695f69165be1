package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// TestAuthenticationErrors checks every row of the contract's table of authentication and
// request errors.
func TestAuthenticationErrors(t *testing.T) {
	t.Parallel()
	c := openCounter(t)
	basic := func(pair string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(pair)) }
	good := c.Client + ":" + c.Secret
	var deep bytes.Buffer
	deep.WriteString(`{"a":` + strings.Repeat("[", 32) + strings.Repeat("]", 32) + `}`)
	for _, r := range []row{
		{"form", ask{headers: h("Content-Type", "application/x-www-form-urlencoded")}, 415, hinted, unsupported},
		{"no type", ask{headers: h("Content-Type", "")}, 415, hinted, unsupported},
		{"no credentials", ask{headers: h("Authorization", "")}, 401, shape1, missing},
		{"another scheme", ask{headers: h("Authorization", "Bearer "+good)}, 401, shape1, missing},
		{"malformed", ask{headers: h("Authorization", "ApiKey "+c.Client)}, 401, shape1, invalid},
		{"malformed basic", ask{headers: h("Authorization", "Basic ???")}, 401, shape1, invalid},
		{"unknown id", ask{headers: h("Authorization", "ApiKey cli_nobody:"+c.Secret)}, 401, shape1, invalid},
		{"wrong secret", ask{headers: h("Authorization", "ApiKey "+c.Client+":sk_x")}, 401, shape1, invalid},
		{"wrong secret, basic", ask{headers: h("Authorization", basic(c.Client+":sk_x"))}, 401, shape1, invalid},
		{"wrong secret of a revoked key", ask{headers: h("Authorization", "ApiKey "+c.keys["revoked"].Client+":sk_x")}, 401, shape1, invalid},
		{"revoked", ask{key: "revoked"}, 401, shape1, inactive},
		{"expired", ask{key: "expired"}, 401, shape1, expired},
		{"empty whitelist", ask{key: "nowhere"}, 403, shape1, noList},
		{"not in the whitelist", ask{key: "elsewhere"}, 403, shape1, notListed},
		{"from another address", ask{from: "127.0.0.2"}, 403, shape1, notListed},
		{"a forwarded address that is not heard", ask{from: "127.0.0.2", headers: h("X-Forwarded-For", "127.0.0.1")}, 403, shape1, notListed},
		{"inactive account", ask{key: "dormant"}, 403, shape1, closedShop},
		{"mismatch", ask{headers: h("hmac", strings.Repeat("0", 128))}, 401, shape3, mismatch},
		{"upper case", ask{headers: h("hmac", strings.ToUpper(rawHMAC(c.Secret, `{"amount":1000}`)))}, 401, shape3, mismatch},
		{"too short", ask{headers: h("hmac", "abc")}, 401, shape3, mismatch},
		{"unsorted, signed unsorted", ask{body: `{"description":"x","amount":1000}`}, 401, shape3, mismatch},
		{"another body's", ask{signed: `{"amount":9}`}, 401, shape3, mismatch},
		{"no hmac", ask{headers: h("hmac", "")}, 401, shape3, noHMAC},
		{"no body", ask{body: "none", headers: h("hmac", "x")}, 400, shape3, noBody},
		{"no JSON", ask{body: "amount=1"}, 400, shape3, noJSON},
		{"no object", ask{body: `[1]`}, 400, shape3, noJSON},
		{"not UTF-8", ask{body: "{\"a\":\"\xff\"}"}, 400, shape3, noJSON},
		{"a byte-order mark", ask{body: "\xef\xbb\xbf{}"}, 400, shape3, noJSON},
		{"a lone surrogate", ask{body: `{"a":"\ud800"}`}, 400, shape3, noJSON},
		{"a key twice", ask{body: `{"a":{"b":1,"b":2}}`}, 400, shape3, noJSON},
		{"one key in two cases", ask{body: `{"external_id":"a","externalId":"b"}`, headers: h("X-Key-Case", "camelCase")}, 400, shape3, noJSON},
		{"33 levels", ask{body: deep.String()}, 400, shape3, noJSON},
		{"multipart", ask{body: "--x\r\n\r\n--x--", headers: h("Content-Type", "multipart/form-data; boundary=x")}, 400, shape3, noJSON},
		{"multipart with JSON in it", ask{headers: h("Content-Type", "multipart/form-data")}, 400, shape3, noJSON},
		{"multipart without a body", ask{body: "none", headers: h("Content-Type", "multipart/form-data", "hmac", "x")}, 400, shape3, noBody},
		{"no signing secret", ask{key: "mute"}, 403, shape3, noSecret},
		{"long key", ask{key256: 257}, 400, shape1, longKey},
		{"no permission", ask{key: "keys only"}, 403, shape2, lacks + "pix:write"},
		{"too large", ask{body: `{"a":"` + strings.Repeat("x", 256<<10) + `"}`}, 413, shape1, "the body is larger than 256 KiB"},
	} {
		c.check(t, r)
	}
	for name, a := range map[string]ask{
		"ApiKey":              {},
		"Basic":               {headers: h("Authorization", basic(good))},
		"with a charset":      {headers: h("Content-Type", "application/json; charset=utf-8")},
		"a key of 256":        {key256: 256},
		"32 levels":           {body: `{"amount":1000,"z":` + strings.Repeat("[", 31) + strings.Repeat("]", 31) + `}`},
		"white space":         {body: "{ \"amount\" : 1000 ,\n \"description\" : \"caf\\u00e9\" }"},
		"signed canonical":    {body: `{ "description":"caf\u00e9\/", "amount": 1000 }`, signed: `{"amount":1000,"description":"café/"}`},
		"camelCase as sent":   {body: `{"externalId":"b","amount":1000}`, headers: h("X-Key-Case", "camelCase")},
		"camelCase, in order": {body: `{"externalId":"b","amount":1000}`, signed: `{"amount":1000,"externalId":"b"}`, headers: h("X-Key-Case", "camelCase")},
	} {
		if got := c.ask(a); got.status != 200 {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}

// TestOrder checks that a request which fails two checks gets the error of the earlier check.
func TestOrder(t *testing.T) {
	t.Parallel()
	c := openCounter(t, "--rate-limit", "30")
	form, bad := h("Content-Type", "text/plain"), h("Authorization", "ApiKey cli_x:sk_x")
	const flooded = "127.0.0.9"
	flood := func() { // called before each row, because the limit begins anew with each minute
		for n := 0; n <= 30 && c.ask(ask{key: "everywhere", from: flooded}).status != 429; n++ {
		}
	}
	spent := func(a ask) ask { a.key, a.from = "keys only", flooded; return a }
	for _, r := range []row{
		{"404 before 1", ask{path: "/nowhere", headers: form}, 404, errorsOf("not_found"), anything},
		{"404 before 3", ask{method: "GET", path: "/nowhere", headers: bad}, 404, errorsOf("not_found"), anything},
		{"405 before 1", ask{path: "/balance", headers: form}, 405, errorsOf("method_not_allowed"), anything},
		{"413 before 1", ask{body: strings.Repeat(" ", 257<<10), headers: form}, 413, shape1, "the body is larger than 256 KiB"},
		{"1 before 3", ask{headers: h("Content-Type", "text/plain", "Authorization", "")}, 415, hinted, unsupported},
		{"3 before 4", ask{key: "nowhere", headers: bad}, 401, shape1, invalid},
		{"3, inactive before expired", ask{key: "revoked"}, 401, shape1, inactive},
		{"3, expired, before 4", ask{key: "expired", from: "127.0.0.2"}, 401, shape1, expired},
		{"4, list before address", ask{key: "nowhere", from: "127.0.0.2"}, 403, shape1, noList},
		{"4, address before account", ask{key: "dormant", from: "127.0.0.2"}, 403, shape1, notListed},
		{"4 before 5", ask{key: "dormant", headers: h("hmac", "")}, 403, shape1, closedShop},
		{"5, header before secret", ask{key: "mute", headers: h("hmac", "")}, 401, shape3, noHMAC},
		{"5, secret before body", ask{key: "mute", body: "none", headers: h("hmac", "x")}, 403, shape3, noSecret},
		{"5, empty before mismatch", ask{body: "none", headers: h("hmac", "x")}, 400, shape3, noBody},
		{"5, unusable before mismatch", ask{body: "x", headers: h("hmac", "x")}, 400, shape3, noJSON},
		{"5 before 6", spent(ask{headers: h("hmac", "x")}), 401, shape3, mismatch},
		{"6 before 7", spent(ask{key256: 257}), 429, shape1, tooMany},
		{"6 before 8", spent(ask{}), 429, shape1, tooMany},
		{"6 on GET before 8", spent(ask{method: "GET", path: "/transactions/x"}), 429, shape1, tooMany},
		{"no 6 on the balance", spent(ask{method: "GET", path: "/balance"}), 403, shape2, lacks + "account:read"},
		{"5 before 7", ask{key256: 257, headers: h("hmac", "x")}, 401, shape3, mismatch},
		{"7 before 8", ask{key: "keys only", key256: 257}, 400, shape1, longKey},
		{"8 before the body", ask{key: "keys only", body: `{"amount":"x"}`}, 403, shape2, lacks + "pix:write"},
	} {
		if r.ask.from == flooded {
			flood()
		}
		c.check(t, r)
	}
	flood()
	if got := c.ask(spent(ask{})); got.header.Get("Retry-After") != "60" || got.header.Get("x-ratelimit-remaining") != "" {
		t.Errorf("429 with %v", got.header)
	} else if left, err := strconv.Atoi(got.header.Get("x-ratelimit-reset")); err != nil || left < 1 || left > 60 {
		t.Errorf("429 that says that the window ends in %q s", got.header.Get("x-ratelimit-reset"))
	}
}

// routes are the endpoints, each with the permission that it needs. The requests leave out
// required fields, so a request that passes the checks is refused afterwards.
var routes = []struct {
	method, path, permission string
}{
	{"POST", "/pix/cash-in", "pix:write"},
	{"POST", "/pix/cash-out", "transfer:write"},
	{"GET", "/balance", "account:read"},
	{"GET", "/account", "account:read"},
	{"POST", "/pix/refund", "payment:write"},
	{"GET", "/statement", "statement:read"},
	{"GET", "/transactions", "transfer:read"},
	{"GET", "/transactions/x", "transfer:read"},
	{"GET", "/transactions/e2e/x", "transfer:read"},
	{"GET", "/transactions/tag/x", "transfer:read"},
	{"GET", "/transactions/ref/x", "transfer:read"},
	{"GET", "/pix/keys", "pix:read"},
	{"GET", "/med", "payment:read"},
	{"GET", "/med/x", "payment:read"},
	{"POST", "/med/x/defense", "payment:write"},
	{"GET", "/transactions/x/receipt", "transfer:read"},
	{"POST", "/cpf/validate", "account:read"},
}

// TestPermissions checks every permission on every route, and a key that has all permissions.
func TestPermissions(t *testing.T) {
	t.Parallel()
	c := openCounter(t)
	for _, permission := range []string{
		"pix:write", "pix:read", "transfer:write", "transfer:read", "payment:write", "payment:read", "account:write", "account:read", "statement:read",
	} {
		var k shop
		c.made("/admin/accounts/"+c.ID+"/api-keys", fmt.Sprintf(`{"permissions":[%q],"ip_whitelist":["127.0.0.1"]}`, permission), &k)
		c.keys[permission] = k
		for _, r := range routes {
			got := c.ask(ask{method: r.method, path: r.path, key: permission})
			if r.permission == permission {
				if got.status == 403 || got.status == 401 {
					t.Errorf("%s opens %s %s, it answers %d %s", permission, r.method, r.path, got.status, got.body)
				}
				continue
			}
			c.check(t, row{permission, ask{method: r.method, path: r.path, key: permission}, 403, shape2, lacks + r.permission})
		}
	}
}
