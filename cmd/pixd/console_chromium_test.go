package main

import (
	"context"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// The tests of the console drive a browser: Chromium by the path that the first variable names, or the one that is
// installed. Where there is none they are skipped, unless the second variable says that it is needed. The path noBrowser
// stands for none: a browser takes the processors that tests of other packages need to be in time.
const (
	noBrowser       = "none"
	browserVariable = "PIXD_BROWSER"
	browserNeeded   = "PIXD_BROWSER_NEEDED"
)

// pageWait is how long a test waits for what a page should do.
const pageWait = 20 * time.Second

// theBrowser is one browser for all tests of this package, and how it is ended.
var theBrowser struct {
	once sync.Once
	ctx  context.Context
	end  context.CancelFunc
	err  error
}

// endBrowser ends the browser if one was started.
func endBrowser() {
	if theBrowser.end != nil {
		theBrowser.end()
	}
}

// browserPath returns the path of Chromium; empty: there is none.
func browserPath() string {
	switch path := os.Getenv(browserVariable); path {
	case "":
	case noBrowser:
		return ""
	default:
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// without skips a test that needs what is not there, or fails it where everything should be there.
func without(t *testing.T, what string) {
	t.Helper()
	if os.Getenv(browserNeeded) == "1" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// startBrowser starts the browser.
func startBrowser(path string) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-component-update", true), chromedp.WindowSize(1440, 900), chromedp.IgnoreCertErrors)
	in, endAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(in)
	theBrowser.ctx, theBrowser.end = ctx, func() { end(); endAllocator() }
	theBrowser.err = chromedp.Do(ctx)
}
