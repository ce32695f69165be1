package httpapi

import (
	"encoding/base64"
	"strings"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/registry"
)

func basic(pair string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(pair)) }

func shape1(status, message string) string {
	return `{"error":{"status":` + status + `,"message":"` + message + `"}}`
}

func shape3(detail string) string { return `{"worked":false,"detail":"` + detail + `"}` }

func TestChecks(t *testing.T) {
	f := newFixture(t)
	f.engine.answer = ledger.Answer{Head: head()}
	makeKey(t, f.keys, "cli_flood", registry.APIKey{Whitelist: []string{"203.0.113.77"}, Permissions: registry.AccountRead})
	for range testRate { // uses up the requests that 203.0.113.77 may send in this minute
		f.send(sent{method: "GET", path: "/api/external/transactions/x", ip: "203.0.113.77", client: "cli_flood"})
	}
	const auth = "Authorization"
	missing, invalid := shape1("401", "Missing API key credentials"), shape1("401", "Invalid API key credentials")
	unsupported := `{"error":{"status":415,"message":"Unsupported Media Type, expected application/json","hint":"…`
	for _, v := range []struct {
		name   string
		send   sent
		status int
		want   string
	}{
		{"form", sent{path: cashIn, body: someBody, headers: []string{"Content-Type", "application/x-www-form-urlencoded"}}, 415, unsupported},
		{"no type", sent{path: cashIn, body: someBody, headers: []string{"Content-Type", "-"}}, 415, unsupported},
		{"like JSON", sent{path: cashIn, body: someBody, headers: []string{"Content-Type", "application/jsonp"}}, 415, unsupported},
		{"no type on GET", sent{method: "GET", path: balance}, 200, `{"worked":true,…`},

		{"no credentials", sent{method: "GET", path: balance, headers: []string{auth, "-"}}, 401, missing},
		{"empty", sent{method: "GET", path: balance, headers: []string{auth, " "}}, 401, missing},
		{"another scheme", sent{method: "GET", path: balance, headers: []string{auth, "Bearer cli_all:" + testSecret}}, 401, missing},
		{"unknown id", sent{method: "GET", path: balance, client: "cli_none"}, 401, invalid},
		{"wrong secret", sent{method: "GET", path: balance, headers: []string{auth, "ApiKey cli_all:sk_other"}}, 401, invalid},
		{"no secret", sent{method: "GET", path: balance, headers: []string{auth, "ApiKey cli_all:"}}, 401, invalid},
		{"no colon", sent{method: "GET", path: balance, headers: []string{auth, "ApiKey cli_all"}}, 401, invalid},
		{"scheme alone", sent{method: "GET", path: balance, headers: []string{auth, "ApiKey"}}, 401, invalid},
		{"not base64", sent{method: "GET", path: balance, headers: []string{auth, "Basic cli_all:" + testSecret}}, 401, invalid},
		{"basic", sent{method: "GET", path: balance, headers: []string{auth, basic("cli_all:" + testSecret)}}, 200, `{"worked":true,…`},
		{"basic, wrong", sent{method: "GET", path: balance, headers: []string{auth, basic("cli_all:x")}}, 401, invalid},
		{"scheme in another case", sent{method: "GET", path: balance, headers: []string{auth, "apikey cli_all:" + testSecret}}, 200, `{"worked":true,…`},
		{"revoked comes before expired", sent{method: "GET", path: balance, client: "cli_revoked"}, 401, shape1("401", "API key is inactive")},
		{"revoked, wrong secret", sent{method: "GET", path: balance, headers: []string{auth, "ApiKey cli_revoked:x"}}, 401, invalid},
		{"expired", sent{method: "GET", path: balance, client: "cli_expired"}, 401, shape1("401", "API key has expired")},
		{"not yet expired", sent{method: "GET", path: balance, client: "cli_lasting"}, 200, `{"worked":true,…`},

		{"empty whitelist", sent{method: "GET", path: balance, client: "cli_empty"}, 403, shape1("403", "IP whitelist required")},
		{"not in it", sent{method: "GET", path: balance, client: "cli_far"}, 403, shape1("403", "Request IP not in API key whitelist")},
		{"dormant", sent{method: "GET", path: balance, client: "cli_dormant"}, 403, shape1("403", "Account is not active")},

		{"no hmac", sent{path: cashIn, body: someBody, headers: []string{"hmac", "-"}}, 401, shape3("Missing HMAC header")},
		{"empty hmac", sent{path: cashIn, body: someBody, headers: []string{"hmac", ""}}, 401, shape3("Missing HMAC header")},
		{"no secret to sign", sent{path: cashIn, body: someBody, client: "cli_mute"}, 403, shape3("HMAC secret not configured for this API key")},
		{"no secret, no body", sent{path: cashIn, client: "cli_mute", headers: []string{"hmac", "x"}}, 403, shape3("HMAC secret not configured for this API key")},
		{"no body", sent{path: cashIn, headers: []string{"hmac", "x"}}, 400, shape3("Request body is required for HMAC validation")},
		{"not JSON", sent{path: cashIn, body: "amount=1", headers: []string{"hmac", "x"}}, 400, shape3("Request body must be valid JSON for HMAC validation")},
		{"multipart", sent{path: cashIn, body: "--x--\r\n", headers: []string{"hmac", "x", "Content-Type", "multipart/form-data; boundary=x"}}, 400, shape3("Request body must be valid JSON for HMAC validation")},
		{"multipart that is JSON, and signed", sent{path: cashIn, body: someBody, headers: []string{"Content-Type", "multipart/form-data; boundary=x"}}, 400, shape3("Request body must be valid JSON for HMAC validation")},
		{"multipart that is JSON, wrong hmac", sent{path: cashIn, body: someBody, headers: []string{"hmac", "x", "Content-Type", "multipart/form-data; boundary=x"}}, 400, shape3("Request body must be valid JSON for HMAC validation")},
		{"multipart that is JSON, no hmac", sent{path: cashIn, body: someBody, headers: []string{"hmac", "-", "Content-Type", "multipart/form-data; boundary=x"}}, 401, shape3("Missing HMAC header")},
		{"wrong hmac", sent{path: cashIn, body: someBody, headers: []string{"hmac", strings.Repeat("0", 128)}}, 401, shape3("Invalid HMAC signature")},
		{"long idempotency key", sent{path: cashIn, body: someBody, headers: []string{"Idempotency-Key", strings.Repeat("k", 257)}}, 400, shape1("400", "Idempotency-Key must be at most 256 characters")},
		{"no permission", sent{path: cashOut, body: payBody, client: "cli_balance"}, 403, `{"error":"forbidden","message":"API key lacks permission: transfer:write"}`},
		{"no permission, cash-in", sent{path: cashIn, body: payBody, client: "cli_balance"}, 403, `{"error":"forbidden","message":"API key lacks permission: pix:write"}`},
		{"no permission, GET", sent{method: "GET", path: balance, client: "cli_nothing"}, 403, `{"error":"forbidden","message":"API key lacks permission: account:read"}`},
		{"no permission, lookup", sent{method: "GET", path: "/api/external/transactions/x", client: "cli_balance"}, 403, `{"error":"forbidden","message":"API key lacks permission: transfer:read"}`},
		{"no permission, receipt", sent{method: "GET", path: "/api/external/transactions/x/receipt", client: "cli_balance"}, 403, `{"error":"forbidden","message":"API key lacks permission: transfer:read"}`},

		// Each request would fail two checks: the earlier check must answer.
		{"1 before 3", sent{path: cashIn, headers: []string{"Content-Type", "text/plain", auth, "-"}}, 415, unsupported},
		{"3 before 4", sent{path: cashIn, client: "cli_empty", headers: []string{auth, "ApiKey cli_empty:x"}}, 401, invalid},
		{"3, expired, before 4", sent{method: "GET", path: balance, client: "cli_expired", ip: "192.0.2.1"}, 401, shape1("401", "API key has expired")},
		{"4, address, before active", sent{method: "GET", path: balance, client: "cli_dormant", ip: "192.0.2.1"}, 403, shape1("403", "Request IP not in API key whitelist")},
		{"4 before 5", sent{path: cashIn, client: "cli_dormant", headers: []string{"hmac", "-"}}, 403, shape1("403", "Account is not active")},
		{"5 before 7", sent{path: cashIn, body: someBody, headers: []string{"hmac", "-", "Idempotency-Key", strings.Repeat("k", 257)}}, 401, shape3("Missing HMAC header")},
		{"5 before 6", sent{path: cashIn, body: someBody, ip: "203.0.113.77", client: "cli_flood", headers: []string{"hmac", "-"}}, 401, shape3("Missing HMAC header")},
		{"6 before 7", sent{path: cashIn, body: someBody, ip: "203.0.113.77", client: "cli_flood", headers: []string{"Idempotency-Key", strings.Repeat("k", 257)}}, 429, shape1("429", "Too many requests")},
		{"6 before 8", sent{path: cashOut, body: payBody, ip: "203.0.113.77", client: "cli_flood"}, 429, shape1("429", "Too many requests")},
		{"no 6 for the balance", sent{method: "GET", path: balance, ip: "203.0.113.77", client: "cli_flood"}, 200, `{"worked":true,…`},
		{"6 on GET", sent{method: "GET", path: "/api/external/transactions/x", ip: "203.0.113.77", client: "cli_flood"}, 429, shape1("429", "Too many requests")},
		{"7 before 8", sent{path: cashIn, body: someBody, client: "cli_balance", headers: []string{"Idempotency-Key", strings.Repeat("k", 257)}}, 400, shape1("400", "Idempotency-Key must be at most 256 characters")},
		{"8 before the body", sent{path: cashIn, body: `{}`, client: "cli_balance"}, 403, `{"error":"forbidden",…`},
	} {
		t.Run(v.name, func(t *testing.T) {
			f.t, f.engine.command = t, nil
			f.expect(v.send, v.status, v.want)
			if v.status != 200 && f.engine.command != nil {
				t.Errorf("the engine was asked: %T", f.engine.command)
			}
		})
	}
}

// TestEveryPermission checks that each permission opens exactly the routes that need it.
func TestEveryPermission(t *testing.T) {
	f, _, hook := hookFixture(t)
	f.madeUp = true // one answer for all routes
	f.engine.answer = ledger.Answer{Head: head(), Subscription: hook}
	for p := registry.Permissions(1); p <= registry.StatementRead; p <<= 1 {
		client := "cli_" + strings.ReplaceAll(p.Names()[0], ":", "_")
		makeKey(t, f.keys, client, registry.APIKey{Permissions: p})
		for _, r := range routes {
			path := base + strings.ReplaceAll(strings.ReplaceAll(r.path, "{", ""), "}", "")
			g := f.send(sent{method: r.method, path: path, body: `{}`, client: client})
			want := `{"error":"forbidden","message":"API key lacks permission: ` + r.permission.Names()[0] + `"}`
			if opens := p == r.permission; opens == (g.status == 403) || !opens && g.body != want {
				t.Errorf("%s on %s %s: %d %s", p.Names()[0], r.method, path, g.status, g.body)
			}
		}
	}
}

func TestUseIsNoted(t *testing.T) {
	f := newFixture(t)
	f.engine.answer = ledger.Answer{Head: head()}
	f.send(sent{method: "GET", path: balance, headers: []string{"Authorization", "ApiKey cli_all:x"}})
	k, _ := f.keys.APIKey("cli_all")
	f.send(sent{method: "GET", path: balance, ip: "192.0.2.1"})
	if k.LastUsed() != 0 {
		t.Error("a wrong secret, or an address it may not come from, counts as use")
	}
	f.send(sent{method: "GET", path: balance})
	if k.LastUsed() != testNow {
		t.Errorf("last used %v", k.LastUsed())
	}
}

func TestOrigin(t *testing.T) {
	f := newFixture(t)
	f.engine.answer = ledger.Answer{Head: head()}
	const xff = "X-Forwarded-For"
	for _, v := range []struct {
		client, peer string
		forwarded    []string
		allowed      bool
	}{
		{"cli_all", "127.0.0.1", nil, true},
		{"cli_all", "::ffff:127.0.0.1", nil, true},
		{"cli_all", "127.0.0.2", nil, false},
		{"cli_networks", "192.0.2.200", nil, true},
		{"cli_networks", "198.51.100.7", nil, true},
		{"cli_networks", "198.51.100.8", nil, false},
		{"cli_networks", "127.0.0.1", nil, false}, // the whitelist's last three entries are malformed (a space, leading zeros, host bits) and never match
		{"cli_v6", "2001:db8::1", nil, true},
		{"cli_v6", "2001:db8::2", nil, false},

		{"cli_all", "192.0.2.9", []string{"127.0.0.1"}, false}, // the peer is not a trusted proxy, so its X-Forwarded-For is ignored
		{"cli_all", "127.0.0.1", []string{"192.0.2.9"}, true},
		{"cli_all", "10.1.2.3", []string{"127.0.0.1"}, true},
		{"cli_all", "fd00::1", []string{"127.0.0.1"}, true},
		{"cli_all", "10.1.2.3", []string{"::ffff:127.0.0.1"}, true},
		{"cli_all", "10.1.2.3", []string{"127.0.0.1, 10.9.9.9"}, true}, // the last entry of X-Forwarded-For is a trusted proxy and is skipped
		{"cli_all", "10.1.2.3", []string{"127.0.0.1", "10.9.9.9,10.8.8.8"}, true},
		{"cli_all", "10.1.2.3", []string{"127.0.0.1, 192.0.2.9"}, false}, // the first entry of X-Forwarded-For may be made up by the client, so it does not count
		{"cli_all", "10.1.2.3", []string{"127.0.0.1", "192.0.2.9"}, false},
		{"cli_all", "10.1.2.3", []string{"192.0.2.9", "127.0.0.1"}, true},
		{"cli_all", "10.1.2.3", []string{"nonsense, 127.0.0.1"}, true},
		{"cli_all", "10.1.2.3", []string{"127.0.0.1, nonsense"}, false},
		{"cli_all", "10.1.2.3", []string{"127.0.0.1:80"}, false},
		{"cli_all", "10.1.2.3", []string{"127.0.0.1,"}, false},
		{"cli_all", "10.1.2.3", nil, false},
	} {
		var headers []string
		for _, h := range v.forwarded {
			headers = append(headers, xff, h)
		}
		g := f.send(sent{method: "GET", path: balance, client: v.client, ip: v.peer, headers: headers})
		if (g.status == 200) != v.allowed {
			t.Errorf("%s from %s %q: %d %s", v.client, v.peer, v.forwarded, g.status, g.body)
		}
	}
	// All addresses are trusted proxies: the left-most entry of X-Forwarded-For counts, and
	// without that header the peer's address.
	makeKey(t, f.keys, "cli_proxy", keyFor("10.0.0.1"))
	for peer, forwarded := range map[string][]string{"10.0.0.1": nil, "10.0.0.2": {xff, "10.0.0.1, 10.0.0.3"}} {
		f.expect(sent{method: "GET", path: balance, client: "cli_proxy", ip: peer, headers: forwarded}, 200, `{"worked":true,…`)
	}
}

func TestRouting(t *testing.T) {
	f := newFixture(t)
	const notFound = `{"errors":{"not_found":"no such path"}}`
	for _, path := range []string{
		"/", "/api/external", "/api/external/", "/api/external/balance/", "/api/external//balance", "//api/external/balance",
		"/api/external/Balance", "/API/external/balance", "/api/external/x", "/api/external/statements", "/api/external/transactions/",
		"/api/external/transactions/a/b", "/api/external/./balance", "/api/external/pix/../balance", "/api/external/bal%61nce", "/*",
		"/api/external/transactions/a/", "/api/external/transactions/a/receipt/", "/api/external/transactions/a/Receipt",
	} {
		for _, method := range []string{"GET", "POST", "OPTIONS"} {
			f.expect(sent{method: method, path: path, headers: []string{"Authorization", "-"}}, 404, notFound)
		}
	}
	for _, v := range [][3]string{
		{"POST", balance, "GET"},
		{"HEAD", balance, "GET"},
		{"OPTIONS", balance, "GET"},
		{"DELETE", balance, "GET"},
		{"PURGE", balance, "GET"},
		{"GET", cashIn, "POST"},
		{"OPTIONS", cashOut, "POST"},
		{"PUT", cashOut, "POST"},
		{"HEAD", "/api/external/transactions/x", "GET"},
		{"POST", "/api/external/transactions/x", "GET"},
		{"POST", "/api/external/transactions/x/receipt", "GET"},
	} {
		g := f.expect(sent{method: v[0], path: v[1], headers: []string{"Authorization", "-", "Content-Type", "text/plain"}}, 405,
			`{"errors":{"method_not_allowed":"this path does not take this method"}}`)
		if allow := g.header("Allow"); allow != v[2] {
			t.Errorf("%s %s: Allow %q", v[0], v[1], allow)
		}
		if g.header("Location") != "" {
			t.Errorf("%s %s: redirected", v[0], v[1])
		}
	}
}
