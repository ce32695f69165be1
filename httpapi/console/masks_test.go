package console

import (
	"strings"
	"testing"
)

// TestRefusalMasks checks that no page says a whole document where the API's refusal names one.
func TestRefusalMasks(t *testing.T) {
	f := newFixture(t)
	f.api = func(method, path string, body []byte) (int, string) {
		if method == "DELETE" || strings.HasPrefix(path, "/admin/transactions/") {
			return 409, `{"error":{"status":409,"message":"key \"12345678909\" is the account's last one"}}`
		}
		return shopAPI(method, path, body)
	}
	cookie := f.login(olgaToken)
	form := f.fill("/console/accounts/acc_x", cookie, "pix_key_mark", markOf("12345678909"))
	p := f.send("POST", "/console/accounts/acc_x/pix-keys/remove", cookie, form.Encode())
	for _, path := range []string{p.to, "/console/transactions?id=x"} {
		p := f.send("GET", path, cookie, "")
		f.says(p, 200, "key &#34;***.456.789-**&#34; is the account&#39;s last one")
		if strings.Contains(p.body, "12345678909") {
			t.Errorf("%s: %s", path, p.body)
		}
	}
}
