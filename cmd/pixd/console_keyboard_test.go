package main

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// key presses a key.
func (b *tab) key(key string) {
	b.t.Helper()
	b.do("a key", chromedp.KeyEvent(key))
}

// focused checks that what has the focus is seen to have it.
func (b *tab) focused() {
	b.t.Helper()
	if got := b.eval(`(e => { const s = getComputedStyle(e), r = e.getBoundingClientRect();
		return e.matches(":focus-visible, input:focus-within") && s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2 && r.width > 0 && r.right > 0 && r.bottom > 0 && r.top < innerHeight; })(document.activeElement)`); got != "true" {
		b.t.Errorf("the focus is not seen: %s", b.eval(`document.activeElement.outerHTML.slice(0, 200)`))
	}
}

// goes presses Tab until an element has the focus.
func (b *tab) goes(selector string) {
	b.t.Helper()
	for range 60 {
		b.key(kb.Tab)
		b.focused()
		if b.eval(fmt.Sprintf(`document.activeElement.matches(%q)`, selector)) == "true" {
			return
		}
	}
	b.t.Fatalf("60 times Tab never led to %s\n%s", selector, b.shown())
}

// enters presses Enter, which leads to another page.
func (b *tab) enters(what string) {
	b.t.Helper()
	b.turns(what, chromedp.KeyEvent(kb.Enter))
	if got := b.eval(`document.getElementById("content").contains(document.activeElement) || document.activeElement === document.body`); got != "true" {
		b.t.Errorf("%s: the focus is at %s", what, b.eval(`document.activeElement.outerHTML.slice(0, 200)`))
	}
}

// TestConsoleKeyboard logs in, approves a payout and closes a case with the keyboard alone.
func TestConsoleKeyboard(t *testing.T) {
	t.Parallel()
	c := openConsole(t)
	id := c.opened(c.paid("Ana"))
	payout := c.waiting(1)[0]
	b := openTab(t, c.process.operator)
	b.open("/login?lang=en")
	b.until(`document.activeElement.id === "token"`)
	b.secret = c.tokens["olga"]
	b.types(b.secret)
	b.enters("log in")

	b.key(kb.Tab)
	b.focused()
	if got := b.eval(`document.activeElement.className`); got != "skip" {
		t.Errorf("the first Tab leads to %s", b.eval(`document.activeElement.outerHTML`))
	}
	b.key(kb.Enter)
	b.until(`document.activeElement.id === "content"`)
	b.goes(`a[href="/console/approvals"]`)
	if got := b.eval(`document.getElementById("content").contains(document.activeElement)`); got != "true" {
		t.Error("the link to the content leads elsewhere")
	}
	b.enters("approvals")
	b.goes(`input[value="` + payout + `"]`)
	b.key(" ")
	b.enters("Enter in the checkbox")
	b.says("Nothing was decided")
	if got := c.status(payout); got != "pending_approval" {
		t.Errorf("after Enter in its checkbox, the payout is %s", got)
	}
	b.goes(`input[value="` + payout + `"]`)
	b.key(" ")
	b.goes(`button[value="approve"]`)
	b.enters("approve")
	b.says("Approved: 1")

	b.do("to the top", chromedp.KeyEvent(kb.Home))
	b.goes(`a[href="/console/med"]`) // past the page's end, from its top again
	b.enters("cases")
	b.goes(`a[href="/console/med/` + id + `"]`)
	b.enters("the case")
	b.goes(`#result`)
	b.key(kb.ArrowDown)
	b.key(kb.ArrowDown)
	b.goes(`#details`)
	b.types("seen by keyboard")
	b.goes(`form[action="/console/med/` + id + `/close"] button`)
	b.enters("close the case")
	b.says("closed (DISAGREED)")
	b.says("seen by keyboard")
	c.onRecord("olga", "POST /admin/payouts/"+payout+"/approve 20", 1)
	c.onRecord("olga", "POST /admin/med/"+id+"/analysis 200", 1)
}
