package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// hostile is a text that would run a script and make elements where a page took it for its own.
func hostile(what string) string {
	return `"'><img data-evil src=/evil-` + what + ` onerror=alert(1)><script data-evil>alert(2)</script>{{.}}`
}

// hostileQuery is what comes nearest to that in an address of a webhook.
const hostileQuery = "?a=';alert(3)//&amp;lt=%3Cimg%20data-evil%3E&b=javascript:alert(4)"

// inJSON is a text as JSON has it.
func inJSON(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// TestConsoleHostileTexts checks that each text that a merchant or a payer can set is drawn as a text.
func TestConsoleHostileTexts(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "--webhook-retries", "10ms")
	c.set(fmt.Sprintf(`{"name":%s}`, inJSON(hostile("account"))))
	hook := c.subscribed(hostileQuery)
	paid := c.paid(hostile("payer"))
	id := c.opened(paid)
	c.sends("/med/"+id+"/defense", fmt.Sprintf(`{"contact":%s,"justification":%s}`, inJSON(hostile("contact")), inJSON(hostile("justification"))), "id")
	c.set(`{"approval_threshold":700}`)
	// An external id with such characters is not kept, and the request is carried out without it.
	out := c.sends("/pix/cash-out", fmt.Sprintf(`{"amount":7,"pix_key":"a@pix.test","description":%s,"external_id":%s}`, inJSON(hostile("description")), inJSON(hostile("external"))), "transaction_id")
	c.dead(hook)
	b := c.tab("olga")
	b.expect = []string{"status of 400", "status of 401", "status of 404"}
	for _, one := range []struct {
		path  string
		texts []string
	}{
		{"/accounts", []string{hostile("account")}},
		{"/accounts/" + c.ID, []string{hostile("account"), hostile("payer"), hostileQuery}},
		{"/accounts/" + c.ID + "?external_id=" + url.QueryEscape(hostile("filter")), nil},
		{"/approvals", []string{"a@pix.test"}},
		{"/transactions?id=" + paid, []string{hostile("payer")}},
		{"/transactions?id=" + out, []string{hostile("description")}},
		{"/transactions?id=" + url.QueryEscape(hostile("id")), nil},
		{"/med/" + id, []string{hostile("justification"), hostile("contact")}},
		{"/webhooks", []string{hostileQuery}},
		{"/deliveries?status=&webhook_id=" + url.QueryEscape(hostile("id")), nil},
		{"/deliveries?webhook_id=" + hook, nil},
		{"/actions", []string{`data-evil`}},
		{"/actions?operator=" + url.QueryEscape(hostile("operator")), nil},
		{"/alerts", nil},
	} {
		b.open(one.path)
		for _, text := range one.texts {
			b.says(text)
		}
		b.harmless(one.path)
	}
	b.open("/accounts")
	b.fill("#search", hostile("search"))
	b.press(`form[role="search"] button`)
	if got := b.value("#search"); got != hostile("search") {
		t.Errorf("searched for %q", got)
	}
	b.harmless("a search")
	// A form that is refused keeps what was filled in, and one that comes without a session is shown.
	b.open("/accounts/" + c.ID)
	form := `form[action="/console/accounts/` + c.ID + `/pix-keys"] `
	b.choose(form+`[name=key_type]`, "email")
	b.fill(form+`[name=pix_key]`, hostile("key")+"@pix.test")
	b.press(form + `button`)
	b.harmless("a refused key")
	if got := b.value(form + `[name=pix_key]`); got != hostile("key")+"@pix.test" {
		t.Errorf("the form has %s", got)
	}
	b.forgets()
	b.press(form + `button`)
	b.says(hostile("key"))
	b.harmless("a form that is kept")
	b.enter(c.tokens["olga"])
	b.says(hostile("key"))
	b.harmless("a form to be sent again")
}

// harmless checks that no hostile text became a part of the page. That no script ran and nothing was asked for is
// checked of every tab at its test's end.
func (b *tab) harmless(what string) {
	b.t.Helper()
	if got := b.count("[data-evil], img, iframe, object, main script"); got != "0" {
		b.t.Errorf("%s: %s elements of a hostile text: %s", what, got, b.eval(`document.querySelector("[data-evil], img, iframe, object, main script").outerHTML`))
	}
	if got := b.eval(`[...document.querySelectorAll("*")].flatMap(e => [...e.attributes]).filter(a => a.name.startsWith("on") || a.value.trim().toLowerCase().startsWith("javascript:")).map(a => a.name + "=" + a.value).join(" ")`); strings.TrimSpace(got) != "" {
		b.t.Errorf("%s: scripts in attributes: %s", what, got)
	}
}
