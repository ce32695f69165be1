package signed

import (
	"net/http"
	"testing"
)

// TestQueryIsSigned checks that the signature covers the query of a message's path too.
func TestQueryIsSigned(t *testing.T) {
	v := newReceiver(t)
	if got := v.send(t.Context(), "/do?a=1", "m-1", "1", noon, nil); got.StatusCode != 200 {
		t.Errorf("as it was signed: %d", got.StatusCode)
	}
	added := func(r *http.Request) { r.URL.RawQuery = "a=1" }
	if got := v.send(t.Context(), "/do", "m-2", "2", noon, added); got.StatusCode != 401 {
		t.Errorf("with a query that nobody signed: %d", got.StatusCode)
	}
	v.carriedOut("1")
}
