package httpapi

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"pixd/docs/openapi"
	"pixd/docs/openapi/openapitest"
)

// contract is the merchant API's document. Every request of a fixture, its answer, and every event of
// a test are held against it.
var contract *openapitest.Contract

// TestMain also checks, after all tests of the package, that they have shown all that the document has.
func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	if contract, err = openapitest.New(openapi.Merchant.YAML); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if unseen := contract.Unseen(); code == 0 && len(unseen) > 0 && allTests() {
		fmt.Fprintf(os.Stderr, "no test shows what the document has (docs/openapi/merchant.yaml):\n\t%s\n", strings.Join(unseen, "\n\t"))
		code = 1
	}
	os.Exit(code)
}

// allTests reports whether no test was left out.
func allTests() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.fuzz", "test.bench"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return false
		}
	}
	return !testing.Short()
}

// hold checks an exchange against the document.
func (f *fixture) hold(at string, req *fasthttp.Request, answer *fasthttp.Response) {
	f.t.Helper()
	if f.madeUp {
		return
	}
	e := openapitest.Exchange{
		Method: string(req.Header.Method()), URL: at, Request: req.Body(), RequestHeader: http.Header{},
		Status: answer.StatusCode(), Header: http.Header{}, Answer: answer.Body(),
	}
	for k, v := range req.Header.All() {
		e.RequestHeader.Add(string(k), string(v))
	}
	for k, v := range answer.Header.All() {
		e.Header.Add(string(k), string(v))
	}
	if err := contract.Check(e); err != nil {
		f.t.Error(err)
	}
}

// TestContractRoutes checks that the document has the routes, and no other.
func TestContractRoutes(t *testing.T) {
	want := map[string]bool{}
	for _, r := range routes {
		want[r.method+" "+r.path] = true
	}
	for _, operation := range contract.Operations() {
		if !want[operation] {
			t.Errorf("the document has %s, which is no route", operation)
		}
		delete(want, operation)
	}
	for operation := range want {
		t.Errorf("the document lacks %s", operation)
	}
}
