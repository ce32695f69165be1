package main

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestConsoleSandbox makes a charge and pays it, pays out and has the payout returned, reports a payment, and receives
// webhooks in the page, by mouse; and checks each page of the sandbox with what it then shows.
func TestConsoleSandbox(t *testing.T) {
	t.Parallel()
	c := openConsole(t)
	x := readAxe(t)
	b := c.tab("olga")
	b.open("/sandbox/webhook")
	b.fill(`form[action="/console/sandbox/webhook"] [name=account]`, c.ID)
	b.press(`form[action="/console/sandbox/webhook"] button`)
	b.open("/sandbox")
	b.fill(`form[action="/console/sandbox/charge"] [name=amount]`, "12.34")
	b.press(`form[action="/console/sandbox/charge"] button`)
	b.says("R$ 12.34")
	if got := b.eval(`(e => e.complete && e.naturalWidth > 50)(document.querySelector("main img"))`); got != "true" {
		t.Error("the QR code is not drawn")
	}
	b.fill(`form[action="/console/sandbox/pay"] [name=payer_name]`, "Ana")
	b.press(`form[action="/console/sandbox/pay"] button`)
	id := b.eval(`document.querySelector('main .life a[href^="/console/transactions?id=E"]').textContent`)
	c.eventually("the payment", func() bool { return strings.Contains(c.get("/admin/accounts/"+c.ID+"/transactions"), id) })

	b.open("/sandbox/payout")
	b.fill(`form[action="/console/sandbox/payout"] [name=amount]`, "1.50")
	b.press(`form[action="/console/sandbox/payout"] button`)
	b.says("settled")
	b.open("/sandbox/returns")
	b.fill(`form[action="/console/sandbox/infractions"] [name=end_to_end_id]`, id)
	b.press(`form[action="/console/sandbox/infractions"] button`)
	c.eventually("a case", func() bool { return strings.Contains(c.get("/admin/med"), id) })
	b.open("/sandbox/webhook")
	b.until(`document.querySelector("main").innerText.includes("signature is right")`)
	b.says("pix.received")
	b.open("/sandbox/book?id=" + id)
	b.says("R$ 12.34")
	for _, language := range []string{"pt-BR", "en"} {
		for _, path := range []string{"/sandbox", "/sandbox/payout", "/sandbox/returns", "/sandbox/book", "/sandbox/webhook"} {
			b.open(path + "?lang=" + language)
			b.fits(x, path, language, c.tokens["olga"], token)
		}
	}
	b.open("/sandbox/webhook?lang=en")
	b.press(`form[action="/console/sandbox/webhook/remove"] button`)
	if got := c.get("/admin/webhooks"); !strings.Contains(got, `"removed":true`) {
		t.Errorf("not removed: %s", got)
	}
}

// TestConsoleSandboxKeyboard makes a charge and pays it with the keyboard alone.
func TestConsoleSandboxKeyboard(t *testing.T) {
	t.Parallel()
	c := openConsole(t)
	b := c.tab("olga")
	b.goes(`a[href="/console/sandbox"]`)
	b.enters("the sandbox")
	b.goes(`form[action="/console/sandbox/charge"] [name=account]`)
	b.types(c.ID)
	b.goes(`form[action="/console/sandbox/charge"] [name=amount]`)
	b.types("7.00")
	b.goes(`form[action="/console/sandbox/charge"] button`)
	b.enters("charge")
	b.says("R$ 7.00")
	b.do("to the top", chromedp.KeyEvent(kb.Home))
	b.goes(`form[action="/console/sandbox/pay"] button`)
	b.enters("pay")
	id := b.eval(`document.querySelector('main .life a[href^="/console/transactions?id=E"]').textContent`)
	c.eventually("the payment", func() bool { return strings.Contains(c.get("/admin/accounts/"+c.ID+"/transactions"), id) })
}
