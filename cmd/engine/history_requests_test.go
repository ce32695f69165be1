package engine

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// costly is one request, whose cost must not follow the history.
type costly struct {
	method, path, body string
	want               int    // status
	key                string // Idempotency-Key
	// bound is the stated bound of what it reads, where that follows the history up to it.
	bound int64
	// within is the stated bound where that is a time; 503 beyond it.
	within time.Duration
	accept string // Accept
}

// requests are the merchant's requests, each about the newest or the oldest thing.
func (h *historic) requests() []costly {
	get := func(path string, bound int64) costly {
		return costly{method: "GET", path: path, want: 200, bound: bound}
	}
	post := func(path, body string, want int) costly {
		return costly{method: "POST", path: path, body: body, want: want}
	}
	filtered := func(path string) costly {
		return costly{method: "GET", path: path, want: 200, within: 5 * time.Second}
	}
	return []costly{
		filtered("/transactions?type=internal"), filtered("/transactions?status=failed&direction=outbound"), filtered("/statement?type=internal"),
		filtered("/transactions?type=internal&date_from=2020-01-01&date_to=2026-01-01"), filtered("/transactions?external_id=shop&status=failed"),
		filtered("/transactions?original_transaction_id=" + h.oldest),
		{method: "GET", path: "/transactions/" + h.oldest + "/receipt", want: 200, accept: "application/pdf"},
		get("/balance", 0), get("/account", 0), get("/statement", 0), get("/statement?page=7", 0), get("/transactions", 0), get("/transactions?page=7", 0),
		get("/transactions?date_from=2020-01-01", 0), get("/transactions/"+h.oldest, 0), get("/transactions/tag/"+h.oldest, 0),
		get("/transactions/e2e/"+h.oldestE2E, 0), get("/transactions/"+h.oldest+"/receipt", 0), get("/transactions/ref/"+h.oldestRef, 0),
		get("/transactions/ref/newest", 0), get("/transactions/ref/shop", 2*1000+200), get("/transactions?external_id=shop", 0), get("/transactions?external_id=newest", 0),
		get("/pix/keys", 0), get("/med", 0), get("/med/"+h.open.ID.String(), 0), get("/webhooks", 0), get("/webhooks/"+h.webhook.ID+"/deliveries", 0),
		get("/webhooks/"+h.webhook.ID+"/deliveries?status=dead", 0), get("/webhooks/"+h.delivered.ID+"/deliveries?status=delivered", 0),
		get("/transactions/e2e/"+h.equalE2E, 0),
		{method: "POST", path: "/pix/cash-in", body: `{"amount":7}`, want: 200, key: h.key},
		{method: "POST", path: "/pix/cash-in", body: `{"amount":8}`, want: 200, key: "new"},
		post("/pix/cash-in", `{"amount":100,"external_id":"shop"}`, 200),
		post("/pix/cash-out", `{"amount":100,"external_id":"again","pix_key":"settle-now@pix.test"}`, 202), // equal to those before
		post("/pix/cash-out", `{"amount":300,"pix_key":"settle-now@pix.test"}`, 200),
		post("/pix/refund", fmt.Sprintf(`{"amount":1,"original_transaction_id":%q}`, h.payment.Public()), 202),
		post("/pix/refund", fmt.Sprintf(`{"amount":1,"original_transaction_id":%q}`, h.oldest), 202),
		post("/med/"+h.open.ID.String()+"/defense", `{"justification":"it was delivered"}`, 200),
		post("/webhooks", `{"events":["pix.received"],"url":"http://127.0.0.1:1/other"}`, 200),
		post("/webhooks/"+h.webhook.ID+"/deliveries/"+h.waiting+"/retry", `{}`, 202),
		post("/webhooks/"+h.webhook.ID+"/test", `{}`, 202), post("/webhooks/"+h.webhook.ID+"/rotate-secret", `{}`, 200),
		{method: "PATCH", path: "/webhooks/" + h.webhook.ID, body: `{"events":["pix.received"]}`, want: 200},
		{method: "DELETE", path: "/webhooks/" + h.removed.ID, want: 200},
		post("/cpf/validate", `{"cpf":"12345678909"}`, 200),
	}
}

// routeOf is one route of the merchant API: its method and its path.
type routeOf struct{ method, path string }

// allRoutes reads the routes of the merchant API from the table in its code.
func allRoutes(t *testing.T) (all []routeOf) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(moduleRoot, "httpapi", "route.go"), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		l, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		var r routeOf
		for _, e := range l.Elts {
			kv, ok := e.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			switch v := kv.Value.(type) {
			case *ast.SelectorExpr:
				if fmt.Sprint(kv.Key) == "method" {
					r.method = strings.ToUpper(strings.TrimPrefix(v.Sel.Name, "Method"))
				}
			case *ast.BasicLit:
				if fmt.Sprint(kv.Key) == "path" {
					r.path, _ = strconv.Unquote(v.Value)
				}
			}
		}
		if r.method != "" && r.path != "" {
			all = append(all, r)
		}
		return true
	})
	return all
}

// TestEveryRouteHasACost checks that TestCostWithHistory makes a request of every route.
func TestEveryRouteHasACost(t *testing.T) {
	routes := allRoutes(t)
	if len(routes) < 21 {
		t.Errorf("only %d routes are found", len(routes))
	}
	h := &historic{payment: &ledger.Transaction{Kind: pix.TxReceipt}, open: &ledger.Case{}, oldest: "x", oldestE2E: "x", equalE2E: "x", oldestRef: "x", waiting: "x"}
	h.webhook.ID, h.delivered.ID, h.removed.ID = "x", "x", "x"
	requests := h.requests()
	part := regexp.MustCompile(`\\\{[a-z0-9_]+\\\}`)
	for _, r := range routes {
		pattern := regexp.MustCompile("^" + part.ReplaceAllString(regexp.QuoteMeta(r.path), "[^/]+") + "$")
		found := false
		for _, one := range requests {
			path, _, _ := strings.Cut(one.path, "?")
			found = found || one.method == r.method && pattern.MatchString(path)
		}
		if !found {
			t.Errorf("no request of %s %s", r.method, r.path)
		}
	}
}
