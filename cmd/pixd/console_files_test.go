package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

// TestConsoleFiles makes a snapshot, verifies it, has an audit run, and downloads a statement and a receipt.
func TestConsoleFiles(t *testing.T) {
	t.Parallel()
	c := openConsole(t)
	b := c.tab("olga")
	b.open("/audit")
	b.press(`form[action="/console/audit"] button`)
	b.says("The audit has begun.")
	b.until(`document.querySelector("#progress").innerText.includes("The books agree.")`) // nobody has loaded the page again
	b.open("/snapshots")
	b.press(`form[action="/console/snapshots"] button.main`)
	b.says("The snapshot has begun.")
	b.until(`document.querySelector("#progress").innerText.includes("The last one made") && !document.querySelector("progress")`)
	b.press(`form[action="/console/snapshots"] button:not(.main)`)
	b.says("The snapshot has begun.")
	b.until(`document.querySelector("#progress").innerText.includes("upon pixd-") && !document.querySelector("progress")`)
	b.press(`form[action="/console/snapshots/verify"] button`)
	b.says("The verification has begun.")
	b.until(`document.querySelector("#progress").innerText.includes("passed")`)
	if got := c.get("/admin/snapshots"); strings.Count(got, `"file":"pixd-`) != 3 || !strings.Contains(got, `"status":"passed"`) { // in the list, and as the one verified
		t.Error(got)
	}
	c.onRecord("olga", "POST /admin/snapshots 202", 2)
	for _, one := range []string{"POST /admin/audit 202", `POST /admin/snapshots 202 {"base":"auto"}`, "POST /admin/snapshots/pixd-"} {
		c.onRecord("olga", one, 1)
	}
}

// TestConsoleDownloads downloads a statement and a receipt, and logs out.
func TestConsoleDownloads(t *testing.T) {
	t.Parallel()
	c := openConsole(t)
	paid := c.paid("Ana")
	b := c.tab("olga")
	dir := t.TempDir()
	b.do("downloads", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		of := chromedp.FromContext(ctx)
		_, err := cdp.Call(ctx, of.Browser, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
			Behavior: "allow", BrowserContextID: of.BrowserContextID, DownloadPath: dir, //nolint:misspell // its name
		})
		return err
	}))
	b.open("/accounts/" + c.ID)
	b.choose(`form[action$="/statement"] [name=format]`, "csv")
	b.click(`form[action$="/statement"] button`)
	c.eventually("a statement", func() bool {
		all, err := filepath.Glob(filepath.Join(dir, "*.csv"))
		if err != nil || len(all) != 1 {
			return false
		}
		content, err := os.ReadFile(all[0])
		return err == nil && strings.Count(string(content), paid) == 1
	})
	b.open("/transactions?id=" + paid)
	if got := b.eval(`fetch(document.querySelector('a[href$="/receipt"]').href).then(r => r.text()).then(text => text.slice(0, 5))`); got != "%PDF-" {
		t.Errorf("the receipt begins with %q", got)
	}
	b.expect, b.allow = []string{"/favicon.ico"}, []string{"chrome-extension://", b.base + "/favicon.ico"} // by the browser's own page for a PDF
	b.click(`a[href$="/receipt"]`)
	b.until(`document.contentType === "application/pdf"`)
	b.open("")
	b.press(`form[action="/console/logout"] button`)
	if got := b.eval(`location.pathname`); got != "/console/login" {
		t.Errorf("after the logout at %s", got)
	}
	b.open("/approvals")
	if got := b.eval(`location.pathname`); got != "/console/login" {
		t.Errorf("after the logout %s can be seen", got)
	}
}
