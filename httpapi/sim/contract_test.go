package sim

import (
	"context"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/actors/scheme"
	"pixd/docs/openapi"
	"pixd/docs/openapi/openapitest"
	"pixd/httpapi/control"
)

// contract is the simulator's document. Requests of the tests and their answers are held against it; all
// tests together show all that it has.
var contract *openapitest.Contract

func TestMain(m *testing.M) { os.Exit(openapitest.Main(openapi.Simulator, &contract, m.Run)) }

// hold checks an exchange against the document.
func hold(t testing.TB, at string, ctx *fasthttp.RequestCtx) {
	t.Helper()
	if len(ctx.Request.Body()) > 0 {
		ctx.Request.Header.SetContentType("application/json")
	}
	if err := contract.Check(openapitest.Of(at, &ctx.Request, &ctx.Response)); err != nil {
		t.Error(err)
	}
}

// TestContractRoutes checks that the document has the routes, and no other, and that each needs the
// operators' token.
func TestContractRoutes(t *testing.T) {
	r := router.New()
	Routes(r, known(), func() pix.Millis { return testNow }, slog.New(slog.DiscardHandler))
	var all []string
	for method, paths := range r.List() {
		for _, path := range paths {
			all = append(all, method+" "+path)
		}
	}
	slices.Sort(all)
	if operations := contract.Operations(); !slices.Equal(operations, all) {
		t.Errorf("the document has %q\n the routes are %q", operations, all)
	}
	h := New(Options{Token: "a token of the tests", Sim: nil, Now: func() pix.Millis { return testNow }, Log: slog.New(slog.DiscardHandler), Metrics: func(*fasthttp.RequestCtx) {}})
	var page fasthttp.RequestCtx
	page.Request.SetRequestURI("/docs/simulator.yaml")
	if h(&page); page.Response.StatusCode() != 200 || !strings.HasPrefix(string(page.Response.Body()), "openapi: 3.1.0") {
		t.Errorf("the document: %d %.40s", page.Response.StatusCode(), page.Response.Body())
	}
	for i, operation := range all {
		method, path, _ := strings.Cut(operation, " ")
		for try := range 6 {
			var req fasthttp.Request
			req.Header.SetMethod(method)
			req.SetRequestURI(path)
			var ctx fasthttp.RequestCtx
			ctx.Init(&req, &net.TCPAddr{IP: net.IPv4(10, 0, 0, byte(i)), Port: 1}, nil)
			h(&ctx)
			hold(t, path, &ctx)
			if want := map[bool]int{true: 401, false: 429}[try < 5]; ctx.Response.StatusCode() != want {
				t.Errorf("%s without the token, for the time %d: %d", operation, try+1, ctx.Response.StatusCode())
			}
		}
	}
}

// TestContractViewer checks that a viewer may read alone.
func TestContractViewer(t *testing.T) {
	passed := 0
	named := func(string) (*registry.Operator, error) {
		return &registry.Operator{Name: "vera", Role: registry.Viewer}, nil
	}
	h := control.Guard(control.Tokens{Root: "a token of the tests", Named: named, Now: func() pix.Millis { return testNow }}, func(*fasthttp.RequestCtx) { passed++ }, "/sim")
	for _, operation := range contract.Operations() {
		method, path, _ := strings.Cut(operation, " ")
		if !strings.HasPrefix(path, "/sim/") {
			continue
		}
		var req fasthttp.Request
		req.Header.SetMethod(method)
		req.SetRequestURI(path)
		req.Header.Set("Authorization", "Bearer of-vera")
		var ctx fasthttp.RequestCtx
		ctx.Init(&req, nil, nil)
		passed = 0
		h(&ctx)
		switch got := ctx.Response.StatusCode(); {
		case method == "GET" && passed == 1:
		case method != "GET" && passed == 0 && got == 403:
			hold(t, path, &ctx)
		default:
			t.Errorf("%s by a viewer: %d", operation, got)
		}
	}
}

// refusedBook is a simulator whose engine has refused a payment.
type refusedBook struct{ Simulator }

func (refusedBook) Book(context.Context) (scheme.Book, error) {
	s := scheme.Sums{Refused: 7}
	return scheme.Book{At: testNow, Participants: []scheme.ParticipantBook{{ISPB: "99999004", Sums: s}}, Accounts: []scheme.AccountBook{{Account: 7, Sums: s}}}, nil
}

// TestContractRefused checks that a book shows what the engine has refused.
func TestContractRefused(t *testing.T) {
	r := router.New()
	Routes(r, refusedBook{}, func() pix.Millis { return testNow }, slog.New(slog.DiscardHandler))
	var ctx fasthttp.RequestCtx
	ctx.Request.SetRequestURI("/sim/book")
	r.Handler(&ctx)
	hold(t, "/sim/book", &ctx)
	if n := strings.Count(string(ctx.Response.Body()), `"refused":7`); n != 2 {
		t.Errorf("%s", ctx.Response.Body())
	}
}
