package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestHandoverToAnother checks that a handover to a node fails where another one has become the owner.
func TestHandoverToAnother(t *testing.T) {
	t.Parallel()
	const before = `{"cluster_id":"c","node":"a","owner":"a","log":{},"nodes":[{"node":"a","role":"owner"},{"node":"b","role":"standby"},{"node":"c","role":"standby"}]}`
	after := strings.NewReplacer(`"owner":"a"`, `"owner":"c"`, `"a","role":"owner"`, `"a","role":"standby"`, `"c","role":"standby"`, `"c","role":"owner"`).Replace(before)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := after
		if r.Method == http.MethodPost {
			body = before
		}
		_, _ = w.Write([]byte(body))
	}))
	defer s.Close()
	for args, want := range map[string]string{
		"cluster handover --to b": "pixd: node c is the owner now, and not b",
		"cluster handover --to c": "", "cluster handover": "",
	} {
		code, out, errs := asks(t, s.URL, strings.Fields(args)...)
		if (code == 0) != (want == "") || (code == 0) != (errs == "") || !strings.HasPrefix(errs, want) {
			t.Errorf("%s: exit %d\n%s%s", args, code, out, errs)
		}
	}
}
