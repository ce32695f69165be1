package main

import (
	"strings"
	"testing"
)

// TestConsoleApprovals approves and declines payouts through the page, one and several at once, also where another
// operator has decided one meanwhile.
func TestConsoleApprovals(t *testing.T) {
	t.Parallel()
	c := openConsole(t)
	ids := c.waiting(6)
	b := c.tab("olga")
	choose := func(these ...string) {
		t.Helper()
		b.open("/approvals")
		for _, id := range these {
			b.click(`input[value="` + id + `"]`)
		}
	}
	choose(ids[0])
	b.press(`main button[value="approve"]`)
	b.says("Approved: 1")
	b.lacks(ids[0])
	choose(ids[1])
	b.press(`main button[value="decline"]`)
	b.says("Declined: 1")
	choose(ids[2], ids[3], ids[4])
	order := []string{ // as the page has them
		b.eval(`document.querySelectorAll("[name=payout]:checked")[0].value`), b.eval(`document.querySelectorAll("[name=payout]:checked")[1].value`),
		b.eval(`document.querySelectorAll("[name=payout]:checked")[2].value`),
	}
	c.asks("POST", "/admin/payouts/"+order[1]+"/decline", `{"operator":"root"}`, nil)
	b.press(`main button[value="approve"]`)
	b.says("Approved: 1")
	b.says(order[1] + ": the payout was declined already")
	for id, want := range map[string]string{ids[1]: "failed", order[1]: "failed", order[2]: "pending_approval", ids[5]: "pending_approval"} {
		if got := c.status(id); got != want {
			t.Errorf("%s is %s, want %s", id, got, want)
		}
	}
	for _, id := range []string{ids[0], order[0]} {
		c.eventually("a settled payout", func() bool { return c.status(id) == "settled" })
	}
	choose(order[2], ids[5])
	b.press(`main button[value="approve"]`)
	b.says("Approved: 2")
	b.says("Nothing waits.")
	for _, one := range []string{ids[0] + "/approve 200", ids[1] + "/decline 200", order[0] + "/approve 200", order[1] + "/approve 409", order[2] + "/approve 200", ids[5] + "/approve 200"} {
		c.onRecord("olga", "POST /admin/payouts/"+strings.Replace(one, " 200", " ", 1), 1)
	}
}

// TestConsoleAccount opens an account through the page, changes it, also where another has changed it meanwhile,
// closes it and opens it again; what was filled in stays where it is refused.
func TestConsoleAccount(t *testing.T) {
	t.Parallel()
	c := openConsole(t)
	b := c.tab("olga")
	b.open("/accounts/new")
	b.fill(`[name=name]`, "Padaria Aurora")
	b.fill(`[name=document]`, "1")
	b.fill(`[name=cash_out_fixed]`, "1,2,3")
	b.press(`form[action="/console/accounts/new"] button`)
	b.says("Fixed fee on payouts: not a valid value.")
	b.fill(`[name=cash_out_fixed]`, "1.50")
	b.press(`form[action="/console/accounts/new"] button`)
	b.says("document")
	if name, fee := b.value(`[name=name]`), b.value(`[name=cash_out_fixed]`); name != "Padaria Aurora" || fee != "1.50" {
		t.Errorf("after a refusal the form has %q and %q", name, fee)
	}
	b.fill(`[name=document]`, "12345678000195")
	b.press(`form[action="/console/accounts/new"] button`)
	b.says("The account is open.")
	id := strings.Split(strings.TrimPrefix(b.eval(`location.pathname`), "/console/accounts/"), "?")[0]
	var a struct {
		Name, City, Document string
		Active               bool
		Ceiling              int `json:"cash_out_ceiling"`
		Fees                 struct {
			Out struct{ Fixed int } `json:"cash_out"`
		}
	}
	read := func() { t.Helper(); c.asks("GET", "/admin/accounts/"+id, "", &a) }
	if read(); a.Name != "Padaria Aurora" || a.Document != "12345678000195" || a.Fees.Out.Fixed != 15_000 || !a.Active {
		t.Errorf("%+v", a)
	}
	form := `form[action="/console/accounts/` + id + `"][method="post"] `
	b.fill(form+`[name=city]`, "Recife")
	b.fill(form+`[name=cash_out_ceiling]`, "1,234.5")
	b.press(form + `button`)
	b.says("Changed.")
	if read(); a.City != "Recife" || a.Ceiling != 12_345_000 || a.Document != "12345678000195" {
		t.Errorf("%+v", a)
	}
	c.asks("PATCH", "/admin/accounts/"+id, `{"city":"Olinda"}`, nil)
	b.fill(form+`[name=city]`, "Natal")
	b.fill(form+`[name=name]`, "Padaria Boreal")
	b.press(form + `button`)
	b.says("City: somebody has changed it to “Olinda” while you edited.")
	if read(); a.City != "Olinda" || a.Name != "Padaria Aurora" || b.value(form+`[name=city]`) != "Natal" || b.value(form+`[name=name]`) != "Padaria Boreal" {
		t.Errorf("%+v, and the form has %s", a, b.value(form+`[name=city]`))
	}
	b.press(form + `button`) // it was said: now it is meant
	if read(); a.City != "Natal" || a.Name != "Padaria Boreal" {
		t.Errorf("%+v", a)
	}
	active := `form[action="/console/accounts/` + id + `/active"] `
	for _, one := range []struct {
		says   string
		active bool
	}{{"The account is closed.", false}, {"The account is open again.", true}} {
		b.click(`details summary`)
		b.press(active + `button`)
		b.says(one.says)
		if read(); a.Active != one.active {
			t.Errorf("%s: %+v", one.says, a)
		}
	}
	path := "PATCH /admin/accounts/" + id + " 200 "
	for _, body := range []string{`{"cash_out_ceiling":12345000,"city":"Recife"}`, `{"city":"Natal","name":"Padaria Boreal"}`, `{"active":false}`, `{"active":true}`} {
		c.onRecord("olga", path+body, 1)
	}
	c.onRecord("olga", "POST /admin/accounts 201", 1)
	c.onRecord("olga", "PATCH", 4)
}

// TestConsoleKeys adds and removes PIX keys, revokes an API key and has a document shown.
func TestConsoleKeys(t *testing.T) {
	t.Parallel()
	c := openConsole(t)
	b := c.tab("olga")
	home := "/admin/accounts/" + c.ID
	form := `form[action="/console/accounts/` + c.ID + `/pix-keys"] `
	b.open("/accounts/" + c.ID)
	b.lacks("12345678909")
	b.says("***.456.789-**")
	b.press(`dl form[action="/console/disclosures"] button`)
	b.says("the request is on record")
	b.says("12345678909")
	b.open("/accounts/" + c.ID)
	b.lacks("12345678909")
	c.onRecord("olga", `POST /admin/disclosures 201 {"subject":"`+c.ID+`"}`, 1)

	b.choose(form+`[name=key_type]`, "email")
	b.fill(form+`[name=pix_key]`, "no address")
	b.press(form + `button`)
	if got := b.count(`main .problem`); got != "1" || b.value(form+`[name=pix_key]`) != "no address" || b.value(form+`[name=key_type]`) != "email" {
		t.Errorf("%s problems; the form has %q and %q", got, b.value(form+`[name=pix_key]`), b.value(form+`[name=key_type]`))
	}
	b.choose(form+`[name=key_type]`, "email")
	b.fill(form+`[name=pix_key]`, "caixa@loja.example")
	b.press(form + `button`)
	b.says("The PIX key was added.")
	if got := c.get(home + "/pix-keys"); !strings.Contains(got, `"caixa@loja.example"`) {
		t.Error(got)
	}
	b.press(`button[aria-label="Remove caixa@loja.example"]`)
	b.says("The PIX key was removed.")
	if got := c.get(home + "/pix-keys"); strings.Contains(got, `"caixa@loja.example"`) {
		t.Error(got)
	}
	b.press(`button[aria-label="Revoke ` + c.Client + `"]`)
	b.says("The API key was revoked.")
	if status, _, err := c.ask(c.merchant, "/balance", "", ""); err != nil || status != 401 {
		t.Errorf("with the revoked key: %d %v", status, err)
	}
	c.onRecord("olga", "POST "+home+"/pix-keys 201", 1)
	c.onRecord("olga", "DELETE "+home+"/pix-keys/caixa", 1)
	c.onRecord("olga", "DELETE /admin/api-keys/"+c.Client+" 200", 1)
}

// TestConsoleCase closes a case with details, and has the document of its payer shown.
func TestConsoleCase(t *testing.T) {
	t.Parallel()
	c := openConsole(t)
	paid := c.paid("Ana")
	id := c.opened(paid)
	b := c.tab("olga")
	b.open("/med")
	b.press(`a[href="/console/med/` + id + `"]`)
	form := `form[action="/console/med/` + id + `/close"] `
	b.choose("#result", "DISAGREED")
	b.fill("#details", "the receipt\nis signed")
	b.press(form + "button")
	b.says("The case is closed.")
	b.says("the receipt\nis signed")
	if got := b.count(form); got != "0" {
		t.Error("a closed case can be closed again")
	}
	var raw map[string]any
	c.asks("GET", "/admin/med/"+id, "", &raw)
	if raw["status"] != "closed" || raw["analysis_result"] != "DISAGREED" || raw["analysis_details"] != "the receipt\nis signed" {
		t.Errorf("%v", raw)
	}
	c.onRecord("olga", "POST /admin/med/"+id+"/analysis 200", 1)
	b.open("/transactions?id=" + paid)
	b.lacks("98765432100")
	b.press(`dl form[action="/console/disclosures"] button`)
	b.says("98765432100")
	c.onRecord("olga", "POST /admin/disclosures 201", 1)
}

// TestConsoleWebhooks retries deliveries, all of a subscription and one, and pauses the subscription.
func TestConsoleWebhooks(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "--webhook-retries", "10ms")
	hook := c.subscribed("")
	c.paid("Ana")
	c.dead(hook)
	b := c.tab("olga")
	b.open("/webhooks")
	b.press(`button[aria-label="Pause ` + hook + `"]`)
	b.says("The webhook is paused.")
	active := func() bool {
		return strings.Contains(c.get("/admin/webhooks?account_id="+c.ID), `"active":true`)
	}
	if active() {
		t.Error("the subscription is active")
	}
	b.press(`button[aria-label="Resume ` + hook + `"]`)
	b.says("The webhook is active again.")
	if !active() {
		t.Error("the subscription is not active")
	}
	b.press(`button[aria-label="Retry all ` + hook + `"]`)
	b.says("Deliveries back in line: 1")
	c.dead(hook)
	b.open("/deliveries?webhook_id=" + hook)
	b.click("main details summary")
	b.press(`form[action="/console/deliveries"][method="post"] button`)
	b.says("The delivery is back in line.")
	c.onRecord("olga", "PATCH /admin/webhooks/"+hook+` 200 {"active":false}`, 1)
	c.onRecord("olga", "PATCH /admin/webhooks/"+hook+` 200 {"active":true}`, 1)
	c.onRecord("olga", "POST /admin/webhooks/"+hook+"/retry 202", 1)
	c.onRecord("olga", "POST /admin/webhook-deliveries/", 1)
}
