package main

import (
	"strings"
	"testing"
)

// TestServeDocs checks where a running engine shows what its interfaces take: to operators always, to
// merchants where --docs says so.
func TestServeDocs(t *testing.T) {
	t.Parallel()
	for flag, atMerchants := range map[string]int{"--docs=false": 404, "--docs": 200} {
		p := start(t, t.TempDir(), flag)
		for url, want := range map[string]int{
			p.operator + "/docs": 200, p.operator + "/docs/merchant.yaml": 200,
			p.merchant + "/docs": atMerchants, p.merchant + "/docs/merchant.json": atMerchants, p.merchant + "/docs/swagger-ui.css": atMerchants,
			p.merchant + "/docs/operator.yaml": 404,
		} {
			r, err := newRequest("GET", url, nil)
			if err != nil {
				t.Fatal(err)
			}
			status, got, err := do(client, r)
			if err != nil || status != want || status == 404 && !strings.Contains(string(got), `"errors":{"not_found"`) {
				t.Errorf("%s: GET %s: %d %.100s %v", flag, url, status, got, err)
			}
		}
	}
}
