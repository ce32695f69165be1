package admin

import (
	"os"
	"slices"
	"testing"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pixd/docs/openapi"
	"pixd/docs/openapi/openapitest"
	"pixd/httpapi/control"
)

// contract is the operator API's document. Requests of the tests and their answers are held against it;
// all tests together show all that it has.
var contract *openapitest.Contract

func TestMain(m *testing.M) { os.Exit(openapitest.Main(openapi.Operator, &contract, m.Run)) }

// hold checks an exchange against the document.
func hold(t testing.TB, at string, req *fasthttp.Request, answer *fasthttp.Response) {
	t.Helper()
	if control.Below(at, []string{"/sim"}) {
		return // it has a document of its own
	}
	if err := contract.Check(openapitest.Of(at, req, answer)); err != nil {
		t.Error(err)
	}
}

// TestContractRoutes checks that the document has the routes of the operator API, and no other.
func TestContractRoutes(t *testing.T) {
	s := &service{Options: whole(t).options}
	r := router.New()
	s.routes(r)
	var all []string
	for method, paths := range r.List() {
		for _, path := range paths {
			if !control.Below(path, []string{"/docs"}) {
				all = append(all, method+" "+path)
			}
		}
	}
	slices.Sort(all)
	if operations := contract.Operations(); !slices.Equal(operations, all) {
		t.Errorf("the document has %q\n the routes are %q", operations, all)
	}
}
