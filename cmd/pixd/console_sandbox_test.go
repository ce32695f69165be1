package main

import (
	"strings"
	"testing"
	"time"

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

// TestConsoleSandboxScheme pays a charge twice and long ago, pays out to a scripted key, has a payout returned, a report
// withdrawn, and the directory's capacity changed, which a payout then meets.
func TestConsoleSandboxScheme(t *testing.T) {
	t.Parallel()
	c := openConsole(t)
	b := c.tab("olga")
	items := func() string { return c.get("/admin/accounts/" + c.ID + "/transactions") }
	b.open("/sandbox")
	b.fill(`form[action="/console/sandbox/charge"] [name=account]`, c.ID)
	b.fill(`form[action="/console/sandbox/charge"] [name=amount]`, "12.34")
	b.press(`form[action="/console/sandbox/charge"] button`)
	pay := `form[action="/console/sandbox/pay"] `
	b.fill(pay+`[name=amount]`, "9.87")
	b.fill(pay+`[name=payer_name]`, "Ana")
	early := time.Now().UTC().Truncate(time.Minute).AddDate(0, 0, -3)
	b.choose(pay+`[name=paid_at]`, early.Add(-3*time.Hour).Format("2006-01-02T15:04")) // in Brasília's time
	b.click(pay + `[name=same]`)
	b.click(pay + `[name=other]`)
	b.press(pay + `button`)
	if got := b.count(`main .life li`); got != "3" {
		t.Errorf("%s payments", got)
	}
	c.eventually("two payments", func() bool { return strings.Count(items(), `"amount":98700`) == 2 })
	id := b.eval(`document.querySelector('main .life a[href^="/console/transactions?id=E"]').textContent`)
	if got := c.get("/sim/book/" + id); !strings.Contains(got, `"created_at":"`+early.Format("2006-01-02T15:04:05.000Z")+`"`) {
		t.Errorf("not paid at %v: %s", early, got)
	}

	payout := `form[action="/console/sandbox/payout"] `
	for _, one := range []struct{ key, says string }{{"not_found", "dict_key_not_found"}, {"settle_now", `"status": "settled"`}} {
		b.open("/sandbox/payout")
		b.fill(payout+`[name=amount]`, "1.50")
		b.choose(payout+`[name=outcome]`, one.key)
		b.press(payout + `button`)
		b.says(one.says)
	}
	b.open("/sandbox/returns")
	out := b.eval(`[...document.querySelectorAll("main tbody tr")].find(r => r.innerText.includes("1.50") && r.innerText.includes("settled")).querySelector("a").textContent`)
	back := `form[method="post"][action="/console/sandbox/returns"] `
	b.fill(back+`[name=end_to_end_id]`, out)
	b.fill(back+`[name=amount]`, "0.50")
	b.fill(back+`[name=reason]`, "FR01")
	b.press(back + `button`)
	b.says("The return is made.")
	c.eventually("a return", func() bool {
		return strings.Contains(items(), `"return_reason":"FR01"`) && strings.Contains(items(), `"amount":5000`)
	})

	report := `form[action="/console/sandbox/infractions"] `
	b.fill(report+`[name=end_to_end_id]`, id)
	b.choose(report+`[name=situation]`, "COERCION")
	b.press(report + `button`)
	b.says("The report is open.")
	c.eventually("a case", func() bool { return strings.Contains(c.get("/admin/med"), `"COERCION"`) })
	infraction := b.eval(`[...document.querySelectorAll("main dl dd")].pop().textContent`)
	b.fill(`form[action="/console/sandbox/infractions/cancel"] [name=infraction]`, infraction)
	b.press(`form[action="/console/sandbox/infractions/cancel"] button`)
	b.says("The report is withdrawn.")
	c.eventually("a case that is cancelled", func() bool { return strings.Contains(c.get("/admin/med"), `"cancelled"`) })

	b.open("/sandbox/book")
	b.choose(`form[action="/console/sandbox/capacity"] [name=lookups]`, "client_limited")
	b.press(`form[action="/console/sandbox/capacity"] button`)
	b.says("From now on: client's limit.")
	b.open("/sandbox/payout")
	b.fill(payout+`[name=amount]`, "1.60")
	b.press(payout + `button`)
	b.says(`"status": "queued"`)
}
