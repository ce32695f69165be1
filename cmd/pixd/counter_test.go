package main

import (
	"crypto/hmac"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// These tests check the contract's error tables, row by row, against the running program. A
// row takes a request that would succeed and changes one thing in it.

// counter is a merchant for the tests of the contract. Its requests may come from any of this
// machine's own addresses, 127.0.0.0/8.
type counter struct {
	*process
	shop
	keys map[string]shop // credentials that have a fault, by the name of the fault
}

// ask is one request. Its zero value is a correctly signed POST /pix/cash-in.
type ask struct {
	method, path string
	key          string // name of a credential in counter.keys; empty: the merchant's faultless credential
	body         string
	signed       string            // the text that is signed; empty: the body
	headers      map[string]string // headers that replace the usual ones; "" removes a header
	from         string            // the address in 127.0.0.0/8 from which the request comes; empty: 127.0.0.1
	key256       int               // length of the Idempotency-Key header; 0: there is none
}

type reply struct {
	status int
	header http.Header
	body   []byte
}

func (c *counter) ask(a ask) reply {
	c.t.Helper()
	who := c.shop
	if a.key != "" {
		who = c.keys[a.key]
	}
	if a.method == "" {
		a.method = "POST"
	}
	if a.path == "" {
		a.path = "/pix/cash-in"
	}
	if a.body == "" && a.method == "POST" {
		a.body = `{"amount":1000}`
	}
	if a.body == "none" {
		a.body = ""
	}
	request, err := http.NewRequest(a.method, c.merchant+"/api/external"+a.path, strings.NewReader(a.body))
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("Authorization", "ApiKey "+who.Client+":"+who.Secret)
	if a.method == "POST" {
		request.Header.Set("Content-Type", "application/json")
		signed := a.body
		if a.signed != "" {
			signed = a.signed
		}
		request.Header.Set("hmac", rawHMAC(who.Secret, signed))
	}
	if a.key256 > 0 {
		request.Header.Set("Idempotency-Key", strings.Repeat("k", a.key256))
	}
	for name, value := range a.headers {
		request.Header.Set(name, value)
		if value == "" {
			request.Header.Del(name)
		}
	}
	return c.send(request, a.from)
}

func (c *counter) send(request *http.Request, from string) reply {
	c.t.Helper()
	if from == "" {
		from = "127.0.0.1"
	}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	transport := &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}
	answer, err := (&http.Client{Transport: transport, Timeout: 15 * time.Second}).Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	hold(c.t, contracts().merchant, request, answer, body)
	return reply{answer.StatusCode, answer.Header, body}
}

// rawHMAC computes a signature without the engine's own code.
func rawHMAC(secret, body string) string {
	h := hmac.New(sha512.New, []byte(secret))
	h.Write([]byte(body))
	return hex.EncodeToString(h.Sum(nil))
}

// openCounter starts an engine and makes a merchant, with one credential for every fault that
// the contract's rows need.
func openCounter(t *testing.T, flags ...string) *counter {
	t.Helper()
	p := start(t, filepath.Join(t.TempDir(), "data"), flags...)
	c := &counter{process: p, shop: p.shop(), keys: map[string]shop{}}
	for name, settings := range map[string]string{
		"everywhere": `{"permissions":["*"],"ip_whitelist":["127.0.0.0/8"]}`,
		"nowhere":    `{"permissions":["*"],"ip_whitelist":[]}`,
		"elsewhere":  `{"permissions":["*"],"ip_whitelist":["203.0.113.9"]}`,
		"mute":       `{"permissions":["*"],"ip_whitelist":["127.0.0.1"],"signing":false}`,
		"expired":    `{"permissions":["*"],"ip_whitelist":["127.0.0.1"],"expires_at":"2020-01-01T00:00:00Z"}`,
		"revoked":    `{"permissions":["*"],"ip_whitelist":["127.0.0.1"],"expires_at":"2020-01-01T00:00:00Z"}`,
		"keys only":  `{"permissions":["pix:read"],"ip_whitelist":["127.0.0.0/8"]}`,
	} {
		var k shop
		p.made("/admin/accounts/"+c.ID+"/api-keys", settings, &k)
		c.keys[name] = k
	}
	if status, got, err := p.operate("DELETE", "/admin/api-keys/"+c.keys["revoked"].Client, ""); status != 200 || err != nil {
		t.Fatalf("revoke: %d %s %v", status, got, err)
	}
	dormant := p.shop()
	if status, got, err := p.operate("PATCH", "/admin/accounts/"+dormant.ID, `{"active":false}`); status != 200 || err != nil {
		t.Fatalf("deactivate: %d %s %v", status, got, err)
	}
	c.keys["dormant"] = dormant
	return c
}

// The shapes of error bodies: each function returns the whole body for a status and a
// message.

func shape1(status int, message string) any {
	return map[string]any{"error": map[string]any{"status": float64(status), "message": message}}
}

func shape2(_ int, message string) any {
	return map[string]any{"error": "forbidden", "message": message}
}

func shape3(_ int, message string) any { return map[string]any{"worked": false, "detail": message} }

func hinted(status int, message string) any {
	return map[string]any{"error": map[string]any{"status": float64(status), "message": message, "hint": anything}}
}

func errorsOf(atom string) func(int, string) any {
	return func(_ int, message string) any { return map[string]any{"errors": map[string]any{atom: message}} }
}

// fieldError is the body of a business error about one field, with any message.
func fieldError(field string, worked bool) func(int, string) any {
	return func(int, string) any {
		v := map[string]any{"errors": map[string]any{"bad_request": map[string]any{field: []any{anything}}}}
		if worked {
			v["worked"] = false
		}
		return v
	}
}

// formatA is the body of a cash-out error that names a code.
func formatA(extra ...any) func(int, string) any {
	return func(_ int, code string) any {
		params := map[string]any{}
		v := map[string]any{"status": "failed", "errors": []any{map[string]any{"code": code, "message": anything, "params": params}}}
		for i := 0; i < len(extra); i += 2 {
			if name := extra[i].(string); name == "ceiling" {
				params[name] = extra[i+1]
			} else {
				v[name] = extra[i+1]
			}
		}
		return v
	}
}

// anything stands for any text that is not empty.
const anything = "\x00anything"

func matches(want, got any) bool {
	switch want := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(want) {
			return false
		}
		for k, v := range want {
			if !matches(v, g[k]) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(want) {
			return false
		}
		for i := range want {
			if !matches(want[i], g[i]) {
				return false
			}
		}
		return true
	case string:
		text, ok := got.(string)
		return ok && (text == want || want == anything && text != "")
	}
	return reflect.DeepEqual(want, got)
}

// row is one line of the contract's tables.
type row struct {
	name    string
	ask     ask
	status  int
	shape   func(int, string) any
	message string
}

func (c *counter) check(t *testing.T, r row) {
	t.Helper()
	got := c.ask(r.ask)
	var body any
	if err := json.Unmarshal(got.body, &body); err != nil {
		t.Errorf("%s: %d %s: %v", r.name, got.status, got.body, err)
		return
	}
	if got.status != r.status || !matches(r.shape(r.status, r.message), body) {
		t.Errorf("%s: %d %s\nwant %d, message %q", r.name, got.status, got.body, r.status, r.message)
	}
	if kind := got.header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("%s: Content-Type %q", r.name, kind)
	}
}

func h(pairs ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}

const (
	unsupported = "Unsupported Media Type, expected application/json"
	missing     = "Missing API key credentials"
	invalid     = "Invalid API key credentials"
	inactive    = "API key is inactive"
	expired     = "API key has expired"
	noList      = "IP whitelist required"
	notListed   = "Request IP not in API key whitelist"
	closedShop  = "Account is not active"
	mismatch    = "Invalid HMAC signature"
	noHMAC      = "Missing HMAC header"
	noBody      = "Request body is required for HMAC validation"
	noJSON      = "Request body must be valid JSON for HMAC validation"
	noSecret    = "HMAC secret not configured for this API key"
	tooMany     = "Too many requests"
	longKey     = "Idempotency-Key must be at most 256 characters"
	lacks       = "API key lacks permission: "
)
