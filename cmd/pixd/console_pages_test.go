package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// axeVariable names the file of axe-core, axe.min.js, of version 4.
const axeVariable = "PIXD_AXE"

// inspector checks pages with axe-core; an empty source: it is not there.
type inspector struct{ source string }

func readAxe(t *testing.T) inspector {
	t.Helper()
	path := os.Getenv(axeVariable)
	if path == "" {
		if os.Getenv(browserNeeded) == "1" {
			t.Error(axeVariable + " names no axe.min.js")
		}
		t.Log("without axe-core: " + axeVariable + " names no axe.min.js")
		return inspector{}
	}
	source, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(source), "/*! axe v4.") {
		t.Errorf("%s: no axe-core of version 4: %v", path, err)
	}
	return inspector{string(source)}
}

// inspects checks that axe-core finds nothing serious in the page.
func (x inspector) inspects(b *tab, what string) {
	b.t.Helper()
	if x.source == "" {
		return
	}
	if b.eval(`typeof axe`) == "undefined" {
		b.do("axe-core", chromedp.Evaluate[chromedp.Void](x.source))
	}
	text := b.eval(`axe.run(document, {runOnly: {type: "tag", values: ["wcag2a", "wcag2aa", "best-practice"]}, resultTypes: ["violations"]}).then(r => JSON.stringify(
		r.violations.flatMap(v => v.nodes.map(n => ({Rule: v.id, Impact: v.impact, Where: n.html.slice(0, 200), Why: n.failureSummary})))))`)
	var found []struct{ Rule, Impact, Where, Why string }
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		b.t.Fatalf("%s: %v", text, err)
	}
	for _, f := range found {
		if f.Impact == "serious" || f.Impact == "critical" {
			b.t.Errorf("%s: %s, %s: %s\n%s", what, f.Impact, f.Rule, f.Where, f.Why)
		}
	}
}

// look sets the width of the tab in pixels, and its colours.
func (b *tab) look(width int64, colours string) {
	b.t.Helper()
	b.do("look", chromedp.EmulateViewport(width, 900), chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: colours}},
		})
		return err
	}))
}

// fits checks the page that the tab shows at both widths: it is no wider than the tab, and axe-core finds nothing.
func (b *tab) fits(x inspector, what, language string, secrets ...string) {
	b.t.Helper()
	if got := b.eval(`document.documentElement.lang`); got != language {
		b.t.Errorf("%s: in %s", what, got)
	}
	for _, width := range []int64{360, 1440} {
		b.look(width, map[int64]string{360: "dark", 1440: "light"}[width])
		if wide := b.eval(`document.documentElement.scrollWidth`); wide != fmt.Sprint(width) {
			b.t.Errorf("%s: %s pixels wide at %d: %s", what, wide, width, b.eval(`[...document.querySelectorAll("body *")].filter(e => !e.closest(".wide, pre") && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 120)).join("\n")`))
		}
		x.inspects(b, fmt.Sprintf("%s in %s at %d", what, language, width))
	}
	html := b.eval(`location.href + document.documentElement.outerHTML`)
	for _, secret := range secrets {
		if strings.Contains(html, secret) {
			b.t.Errorf("%s: the token is in the page or its address", what)
		}
	}
}

// walk are the pages of the console below its path, of a console in which there is something to see on each.
func (c *console) walk() (paths []string) {
	c.t.Helper()
	hook := c.subscribed("?of=walk")
	paid := c.paid("Ana de Souza")
	id := c.opened(c.paid("Rui"))
	c.sends("/med/"+id+"/defense", `{"contact":"ana@loja.br","justification":"the goods were delivered"}`, "id")
	c.waiting(2)
	out := c.sends("/pix/cash-out", `{"amount":6,"pix_key":"98765432100","pix_key_type":"cpf","external_id":"an-order-1"}`, "transaction_id")
	c.asks("POST", "/admin/snapshots", "", nil)
	c.asks("POST", "/admin/audit", "", nil)
	c.eventually("a snapshot and an audit", func() bool {
		return strings.Contains(c.get("/admin/audit/run"), `"agrees":true`) && strings.Contains(c.get("/admin/snapshots"), `"file":`) && strings.Contains(c.get("/admin/snapshots"), `"running":null`)
	})
	c.dead(hook)
	return []string{
		"", "/approvals", "/accounts", "/accounts/new", "/accounts/" + c.ID, "/accounts/" + c.ID + "?direction=outbound",
		"/transactions", "/transactions?id=" + paid, "/transactions?id=" + out, "/med", "/med?status=closed", "/med/" + id, "/webhooks", "/deliveries", "/deliveries?webhook_id=" + hook + "&status=",
		"/alerts", "/alerts?hours=168", "/audit", "/snapshots", "/actions", "/actions?operator=olga", "/med/med_x", "/accounts/acc_x",
	}
}

// TestConsolePages checks each page in both languages on a narrow and on a wide screen, as an operator sees it and as
// a viewer does.
func TestConsolePages(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "--webhook-retries", "10ms")
	x := readAxe(t)
	paths := c.walk()
	for _, one := range []struct {
		name, language string
		axe            inspector
	}{{"olga", "pt-BR", x}, {"olga", "en", x}, {"vera", "pt-BR", x}} {
		t.Run(one.name+" "+one.language, func(t *testing.T) {
			t.Parallel()
			b := openTab(t, c.process.operator)
			b.logIn(c.tokens[one.name])
			b.expect = []string{"status of 404"}
			for _, path := range paths {
				mark := "?"
				if strings.Contains(path, "?") {
					mark = "&"
				}
				b.open(path + mark + "lang=" + one.language)
				b.fits(one.axe, path, one.language, c.tokens[one.name], token)
			}
		})
	}
}

// TestConsoleFormPages checks the pages that are answers to a form: of logging in, with a form that is kept and
// without, of a form from an earlier session, and of one that was refused.
func TestConsoleFormPages(t *testing.T) {
	t.Parallel()
	c := openConsole(t)
	x := readAxe(t)
	ids := c.waiting(1)
	for _, language := range []string{"pt-BR", "en"} {
		b := openTab(t, c.process.operator)
		b.expect = []string{"status of 401", "status of 403"}
		b.open("/login?lang=" + language)
		b.fits(x, "login", language)
		b.enter("a-token-of-nobody")
		b.fits(x, "wrong login", language)
		b.enter(c.tokens["olga"])
		b.open("/approvals")
		b.press(`main button[value="approve"]`)
		b.fits(x, "nothing chosen", language)
		b.click(`input[value="` + ids[0] + `"]`)
		b.eval(`document.querySelector('form[action="/console/approvals"] [name=csrf]').value = "of-an-earlier-session"`)
		b.press(`main button[value="approve"]`)
		b.fits(x, "again", language, c.tokens["olga"])
		b.says(ids[0])
		b.open("/approvals")
		b.click(`input[value="` + ids[0] + `"]`)
		b.forgets()
		b.press(`main button[value="decline"]`)
		b.fits(x, "login with a form", language)
		b.says(ids[0])
	}
	if got := c.status(ids[0]); got != "pending_approval" {
		t.Errorf("the payout is %s", got)
	}
}
