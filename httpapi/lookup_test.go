package httpapi

import (
	"strings"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// TestLookups checks that each lookup asks for the id as the client meant it, whatever bytes
// it has, and answers with the item.
func TestLookups(t *testing.T) {
	f := newFixture(t)
	tx := payout(pix.StatusAccepted)
	f.lists.all = []*ledger.Transaction{&tx}
	item := string(Item(&tx, nil))[1:]
	long := strings.Repeat("x", 2000)
	for path, want := range map[string]string{
		"order-1": "order-1", "a%2Fb": "a/b", "50%25": "50%", "a+b": "a+b", "a%20b": "a b", "%00%ff": "\x00\xff", "%C3%A7": "ç",
		"a:b@c;d=e,f": "a:b@c;d=e,f", "%252F": "%2F", "..%2F..": "../..", long: long, "{id}": "{id}",
	} {
		for _, kind := range []string{"e2e", "tag", "ref"} {
			f.expect(sent{method: "GET", path: transactionsPath + "/" + kind + "/" + path}, 200, `{"worked":true,"final":false,`+item)
			if f.lists.asked != kind || f.lists.text != want || f.lists.account != merchant {
				t.Errorf("%s/%s asked for %s %q of %v", kind, path, f.lists.asked, f.lists.text, f.lists.account)
			}
		}
	}
	f.expect(camelCased(sent{method: "GET", path: transactionsPath + "/ref/order-1"}), 200, `{"worked":true,"final":false,"id":"`+itemUUID+`","transactionId":"…`)
}

// TestLookupsOfNothing checks that every lookup answers an unknown id as GET /transactions/:id
// does, and says so where the rows cannot be read, or not in time.
func TestLookupsOfNothing(t *testing.T) {
	f := newFixture(t)
	unknown := f.expect(sent{method: "GET", path: transactionsPath + "/nothing"}, 404, `{"errors":{"not_found":"transaction not found"}}`)
	paths := []string{transactionsPath + "/e2e/x", transactionsPath + "/tag/x", transactionsPath + "/ref/x"}
	for _, path := range append(paths, transactionsPath+"/e2e/%zz") {
		f.expect(sent{method: "GET", path: path}, 404, unknown.body)
	}
	for _, path := range append(paths, statementPath, transactionsPath) {
		f.lists.err = errRows
		f.expect(sent{method: "GET", path: path}, 500, shape1("500", "internal error"))
		f.lists.err = layout.ErrTooLong
		g := f.expect(sent{method: "GET", path: path}, 503, `{"error":{"status":503,"message":"…`)
		if g.header("Retry-After") != "1" {
			t.Errorf("%s: Retry-After %q", path, g.header("Retry-After"))
		}
	}
}

// TestStatementUnauthorized checks that a failed check of the credentials has both shapes on
// /statement, with each of its messages.
func TestStatementUnauthorized(t *testing.T) {
	f := newFixture(t)
	both := func(message string) string {
		return `{"error":{"status":401,"message":"` + message + `"},"worked":false,"errors":{"unauthorized":"` + message + `"}}`
	}
	for message, headers := range map[string][]string{
		"Missing API key credentials": {"Authorization", ""},
		"Invalid API key credentials": {"Authorization", "ApiKey cli_all:wrong"},
		"API key is inactive":         {"Authorization", "ApiKey cli_revoked:" + testSecret},
		"API key has expired":         {"Authorization", "ApiKey cli_expired:" + testSecret},
	} {
		g := f.send(sent{method: "GET", path: statementPath, headers: headers})
		if g.status != 401 || g.body != both(message) {
			t.Errorf("%s: %d %s", message, g.status, g.body)
		}
		if g := f.send(sent{method: "GET", path: transactionsPath, headers: headers}); g.status != 401 || strings.Contains(g.body, "unauthorized") {
			t.Errorf("%s on /transactions: %d %s", message, g.status, g.body)
		}
	}
}

// taken notes that the scheme has registered a key.
func (f *fixture) taken(key string) {
	f.t.Helper()
	k, _ := f.keys.PixKey(key)
	if err := f.keys.RegisteredPixKey(k); err != nil {
		f.t.Fatal(err)
	}
}

// TestPixKeys checks the list of an account's own PIX keys, the oldest first.
func TestPixKeys(t *testing.T) {
	f := newFixture(t)
	f.taken(testEVP)
	list := sent{method: "GET", path: base + "/pix/keys"}
	f.expect(list, 200, `{"worked":true,"data":[{"key":"`+testEVP+`","key_type":"evp","status":"registered","created_at":"2026-09-21T14:13:20.000Z"}]}`)
	if _, err := f.keys.ReservePixKey(merchant, pix.Key{Type: pix.KeyEmail, Value: "a@b.com"}); err != nil {
		t.Fatal(err)
	}
	f.expect(camelCased(list), 200, `{"worked":true,"data":[{"key":"`+testEVP+`","keyType":"evp","status":"registered","createdAt":"2026-09-21T14:13:20.000Z"},`+
		`{"key":"a@b.com","keyType":"email","status":"pending","createdAt":"2026-09-21T14:13:20.000Z"}]}`)
}
