package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	pages "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// tab is a tab of the browser that has no cookie of any other tab.
type tab struct {
	t      *testing.T
	ctx    context.Context
	base   string   // of the console's listener
	expect []string // texts of messages of the browser's console that are no fault
	allow  []string // beginnings of addresses beyond the console that may be asked for
	secret string   // the token that was entered last

	mu       sync.Mutex
	messages []string // of level error, with where they are from
	asked    []string // addresses of all requests
	alerted  []string // what dialogues of scripts have said
}

// openTab opens a tab for the console of a listener. At the test's end it must have seen no message of level error, no
// request to elsewhere and no dialog.
func openTab(t *testing.T, base string) *tab {
	t.Helper()
	path := browserPath()
	if path == "" {
		without(t, "no Chromium is installed, and "+browserVariable+" names none")
	}
	theBrowser.once.Do(func() { startBrowser(path) })
	if theBrowser.err != nil {
		t.Fatalf("%s: %v", path, theBrowser.err)
	}
	b := &tab{t: t, base: base}
	ctx, end := chromedp.NewContext(theBrowser.ctx, chromedp.WithNewBrowserContext(), chromedp.WithListener(b.hears))
	t.Cleanup(end)
	b.ctx = ctx
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.faultless)
	return b
}

// hears keeps what the browser tells about the tab.
func (b *tab) hears(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" {
			b.messages = append(b.messages, fmt.Sprintf("%s: %s (%s)", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "assert" {
			for _, a := range e.Args {
				b.messages = append(b.messages, fmt.Sprintf("console: %s %s", a.Value, a.Description))
			}
		}
	case *runtime.EventExceptionThrown:
		b.messages = append(b.messages, "exception: "+e.ExceptionDetails.Text)
	case *network.EventRequestWillBeSent:
		b.asked = append(b.asked, e.Request.URL)
	case *pages.EventJavascriptDialogOpening:
		b.alerted = append(b.alerted, e.Message)
	}
}

// faultless checks what the browser has told about the tab.
func (b *tab) faultless() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, message := range b.messages {
		if !slices.ContainsFunc(b.expect, func(text string) bool { return strings.Contains(message, text) }) {
			b.t.Errorf("the browser's console: %s", message)
		}
	}
	allowed := append([]string{b.base + "/console", "data:", "about:blank"}, b.allow...)
	for _, url := range b.asked {
		if !slices.ContainsFunc(allowed, func(begin string) bool { return strings.HasPrefix(url, begin) }) {
			b.t.Errorf("a request to %s", url)
		}
		if b.secret != "" && strings.Contains(url, b.secret) {
			b.t.Errorf("a token in the address %s", url)
		}
	}
	for _, text := range b.alerted {
		b.t.Errorf("a dialog: %s", text)
	}
}

// do carries out steps in the tab.
func (b *tab) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, end := context.WithTimeout(b.ctx, pageWait)
	defer end()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%s: %v\n%s", what, err, b.shown())
	}
}

// shown is where the tab is and what its page reads, for a test that fails.
func (b *tab) shown() string {
	text, err := b.try(`location.href + "\n" + document.body.innerText`)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(text)
}

// try evaluates a script, whose value is a text, in the page.
func (b *tab) try(script string) (string, error) {
	ctx, end := context.WithTimeout(b.ctx, pageWait)
	defer end()
	return chromedp.Run(ctx, chromedp.Evaluate[string](`Promise.resolve(`+script+`).then(String)`, chromedp.EvalAwaitPromise))
}

// eval is try for a script that must succeed.
func (b *tab) eval(script string) string {
	b.t.Helper()
	text, err := b.try(script)
	if err != nil {
		b.t.Fatalf("%s: %v", script, err)
	}
	return text
}

// until waits until a script, which may fail while a page is being loaded, is true.
func (b *tab) until(script string) {
	b.t.Helper()
	var text string
	var err error
	for end := time.Now().Add(pageWait); time.Now().Before(end); time.Sleep(15 * time.Millisecond) {
		if text, err = b.try(script); err == nil && text == "true" {
			return
		}
	}
	b.t.Fatalf("never true: %s (%q, %v)\n%s", script, text, err, b.shown())
}

// open has the tab load a page of the console.
func (b *tab) open(path string) {
	b.t.Helper()
	b.do("open "+path, chromedp.Navigate(b.base+"/console"+path))
}

// turns carries out what leads to another page, and waits until that is there.
func (b *tab) turns(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	b.eval(`document.querySelector("main").dataset.before = "yes"`)
	b.do(what, steps...)
	b.until(`document.readyState === "complete" && document.querySelector("main") && !document.querySelector("main[data-before]") && !document.querySelector(".htmx-request, .htmx-swapping, .htmx-settling")`)
}

// press clicks what leads to another page.
func (b *tab) press(selector string) {
	b.t.Helper()
	b.turns("press "+selector, chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// click clicks what leads to no other page.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.do("click "+selector, chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// fill types a text into a field in place of what is there.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	b.eval(fmt.Sprintf(`(e => { e.focus(); e.select(); })(document.querySelector(%q))`, selector))
	if text == "" {
		b.do("empty "+selector, chromedp.KeyEvent("\b"))
		return
	}
	b.types(text)
}

// types types a text into the field that has the focus.
func (b *tab) types(text string) {
	b.t.Helper()
	b.do("type", chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, input.InsertText, input.InsertTextParams{Text: text})
		return err
	}))
}

// choose chooses a value of a select.
func (b *tab) choose(selector, value string) {
	b.t.Helper()
	b.do("choose "+value, chromedp.SetValue(chromedp.CSS(selector), value))
}

// says checks that the page's content has a text.
func (b *tab) says(text string) {
	b.t.Helper()
	if got := b.text(); !strings.Contains(got, text) {
		b.t.Errorf("%q is not in the page:\n%s", text, got)
	}
}

// lacks checks that the page's content lacks a text.
func (b *tab) lacks(text string) {
	b.t.Helper()
	if got := b.text(); strings.Contains(got, text) {
		b.t.Errorf("%q is in the page:\n%s", text, got)
	}
}

// text is the page's content.
func (b *tab) text() string {
	b.t.Helper()
	return b.eval(`document.querySelector("main").innerText`)
}

// count is how many elements a selector finds.
func (b *tab) count(selector string) string {
	b.t.Helper()
	return b.eval(fmt.Sprintf(`document.querySelectorAll(%q).length`, selector))
}

// value is what a field has.
func (b *tab) value(selector string) string {
	b.t.Helper()
	return b.eval(fmt.Sprintf(`document.querySelector(%q).value`, selector))
}

// logIn logs in at the login page, which is opened for it unless the tab is there, in English.
func (b *tab) logIn(token string) {
	b.t.Helper()
	b.open("/login?lang=en")
	b.enter(token)
}

// enter logs in at the login page that the tab shows.
func (b *tab) enter(token string) {
	b.t.Helper()
	b.secret = token
	b.fill("#token", token)
	b.press("main form button")
}

// forgets removes the session's cookie from the tab, as if the session had ended.
func (b *tab) forgets() {
	b.t.Helper()
	b.do("forget", chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, network.DeleteCookies, network.DeleteCookiesParams{Name: cookieOf(b.base), URL: b.base + "/console", Path: "/console"})
		return err
	}))
}
