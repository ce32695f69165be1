package console

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestReveal checks that documents are masked, but for those that were asked for on record.
func TestReveal(t *testing.T) {
	f := newFixture(t)
	f.api = shopAPI
	cookie := f.login(olgaToken)
	if p := f.send("GET", "/console/accounts/acc_x", cookie, ""); strings.Contains(p.body, "12345678909") || !strings.Contains(p.body, "***.456.789-**") {
		t.Errorf("not masked:\n%s", p.body)
	}
	form := f.fill("/console/accounts/acc_x", cookie, "subject", "acc_x")
	p := f.send("POST", "/console/disclosures", cookie, form.Encode())
	f.says(f.send("GET", p.to, cookie, ""), 200, "<dd>12345678909 ", "ficou registrado")
	if want := []string{`olga POST /admin/disclosures {"subject":"acc_x"} ` + form.Get("key")}; !slices.Equal(f.asked, want) {
		t.Errorf("%q", f.asked)
	}
	for _, path := range []string{p.to, "/console/accounts/acc_x"} {
		if p := f.send("GET", path, cookie, ""); strings.Contains(p.body, "12345678909") {
			t.Errorf("%s: shown without being asked for again", path)
		}
	}
}

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
	form := f.fill("/console/accounts/acc_x", cookie, "pix_key_mark", "2026-02-01 ***.456.789-**")
	p := f.send("POST", "/console/accounts/acc_x/pix-keys/remove", cookie, form.Encode())
	for _, path := range []string{p.to, "/console/transactions?id=x"} {
		p := f.send("GET", path, cookie, "")
		f.says(p, 200, "key &#34;***.456.789-**&#34; is the account&#39;s last one")
		if strings.Contains(p.body, "12345678909") {
			t.Errorf("%s: %s", path, p.body)
		}
	}
}

// TestMarkTellsNoDocument checks that the form which removes a PIX key says no more of it than the page shows, and names
// the same key after another login and another start.
func TestMarkTellsNoDocument(t *testing.T) {
	var marks []string
	for range 2 {
		f := newFixture(t)
		f.api = shopAPI
		p := f.send("GET", "/console/accounts/acc_x", f.login(olgaToken), "")
		for _, m := range regexp.MustCompile(`name="pix_key_mark" value="([^"]*)"`).FindAllStringSubmatch(p.body, -1) {
			marks = append(marks, m[1])
		}
		f.now++ // other secrets
	}
	if mine := []string{"2026-01-01 a@x.com", "2026-02-01 ***.456.789-**"}; !slices.Equal(marks, slices.Concat(mine, mine)) {
		t.Errorf("%q", marks)
	}
}

// TestRemovesMarkedKey checks that the key which is removed is the one that was chosen, in whatever order they are listed,
// and that none is where two look alike.
func TestRemovesMarkedKey(t *testing.T) {
	const one, two, alike = `{"key":"12345678909","created_at":"1"}`, `{"key":"98765432100","created_at":"2"}`, `{"key":"11145678935","created_at":"1"}`
	for _, c := range []struct{ keys, mark, asks string }{
		{one + "," + two, "1 ***.456.789-**", "12345678909"},
		{two + "," + one, "1 ***.456.789-**", "12345678909"},
		{one + "," + two, "2 ***.654.321-**", "98765432100"},
		{two + "," + one, "2 ***.654.321-**", "98765432100"},
		{one + "," + two, "3 ***.456.789-**", ""},
		{one + "," + alike, "1 ***.456.789-**", ""},
	} {
		f := newFixture(t)
		f.api = func(method, path string, body []byte) (int, string) {
			if strings.Contains(path, "/pix-keys?") {
				return 200, `{"data":[` + c.keys + `]}`
			}
			return shopAPI(method, path, body)
		}
		cookie := f.login(olgaToken)
		form := f.fill("/console/accounts/acc_x", cookie, "pix_key_mark", c.mark)
		p := f.send("POST", "/console/accounts/acc_x/pix-keys/remove", cookie, form.Encode())
		if c.asks == "" {
			f.says(f.send("GET", p.to, cookie, ""), 200, map[bool]string{true: "mais de uma chave", false: "não tem mais essa chave"}[strings.Contains(c.keys, alike)])
		} else if want := "olga DELETE /admin/accounts/acc_x/pix-keys/" + c.asks; len(f.asked) != 1 || !strings.HasPrefix(f.asked[0], want) {
			t.Errorf("%s of %s asks %q", c.mark, c.keys, f.asked)
		}
		if c.asks == "" && len(f.asked) > 0 {
			t.Errorf("%s of %s asks %q", c.mark, c.keys, f.asked)
		}
	}
}
