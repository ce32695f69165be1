package main

import (
	"testing"
)

// TestConsoleLive checks that the overview's figures change without loading the page again, and that the plots are
// there.
func TestConsoleLive(t *testing.T) {
	t.Parallel()
	c := openConsole(t)
	b := c.tab("olga")
	b.until(`[...document.querySelectorAll(".plots svg")].filter(e => e.namespaceURI === "http://www.w3.org/2000/svg" && e.getBoundingClientRect().height > 50).length === 4`)
	b.eval(`window.loaded = "once"`)
	figure := func(name string) string {
		return `document.querySelector('[data-tile="` + name + `"] dd').textContent.trim()`
	}
	b.until(figure("approval") + ` === "0"`)
	c.waiting(3)
	b.until(figure("approval") + ` === "3"`)
	c.eventually("a rate of payments", func() bool {
		c.paid("Ana")
		return b.eval(figure("payments")+` !== "0.0/s"`) == "true"
	})
	b.until(figure("payments") + ` === "0.0/s"`)
	c.opened(c.paid("Rui"))
	b.until(figure("cases") + ` === "1"`)
	b.until(`document.querySelectorAll(".plots svg path.line").length > 0`) // asked for again every 10 seconds
	if got := b.eval(`window.loaded + document.getElementById("live-lost").hidden`); got != "oncetrue" {
		t.Errorf("the page was loaded again, or the connection was lost: %s", got)
	}
}
