package httpapi

import (
	"os"
	"testing"

	"github.com/valyala/fasthttp"

	"pixd/docs/openapi"
	"pixd/docs/openapi/openapitest"
)

// contract is the merchant API's document. Every request of a fixture, its answer, and every event of
// a test are held against it; all tests together show all that it has.
var contract *openapitest.Contract

func TestMain(m *testing.M) { os.Exit(openapitest.Main(openapi.Merchant, &contract, m.Run)) }

// hold checks an exchange against the document.
func (f *fixture) hold(at string, req *fasthttp.Request, answer *fasthttp.Response) {
	f.t.Helper()
	if f.madeUp {
		return
	}
	if err := contract.Check(openapitest.Of(at, req, answer)); err != nil {
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
