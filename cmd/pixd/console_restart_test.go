package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// again starts the engine again, at the same addresses.
func (c *console) again() {
	c.t.Helper()
	c.process = start(c.t, c.dir, "--webhook-allow-insecure", "--listen", host(c.merchant), "--admin-listen", host(c.process.operator))
}

// refusals are what the browser's console has about an engine that is not there, and about a session that has ended.
var refusals = []string{"ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "ERR_INCOMPLETE_CHUNKED_ENCODING", "htmx:sendError", "htmx:afterRequest", "status of 401"}

// TestConsoleRestart fills in a form, kills the engine, presses the button while it is down, and sends the form again
// to the engine that was started anew: it is done once.
func TestConsoleRestart(t *testing.T) {
	t.Parallel()
	c := openConsole(t)
	id := c.opened(c.paid("Ana"))
	b := c.tab("olga")
	b.expect = refusals
	form := `form[action="/console/med/` + id + `/close"] `
	b.open("/med/" + id)
	b.choose("#result", "DISAGREED")
	b.fill("#details", "filled in before the kill")
	c.end(syscall.SIGKILL)
	for range 2 { // whose impatience does no harm
		b.click(form + "button")
		b.until(`!document.getElementById("lost").hidden`)
	}
	if got := b.eval(`document.getElementById("lost").innerText`); !strings.Contains(got, "The engine does not answer.") {
		t.Error(got)
	}
	if b.value("#details") != "filled in before the kill" || b.value("#result") != "DISAGREED" {
		t.Errorf("what was filled in is lost: %q %q", b.value("#details"), b.value("#result"))
	}
	c.again()
	b.press(form + "button")
	b.says("Your session has ended. Log in again; the form below is kept.")
	b.says("filled in before the kill")
	b.enter(c.tokens["olga"])
	b.says("filled in before the kill")
	c.onRecord("olga", "POST", 0)
	b.press(`form[action="/console/med/` + id + `/close"] button`)
	b.says("closed (DISAGREED)")
	b.says("filled in before the kill")
	c.onRecord("olga", "POST /admin/med/"+id+"/analysis 200", 1)
	c.onRecord("olga", "POST", 1)
}

// answerless is a way to an engine on which an answer can be lost.
type answerless struct {
	*httptest.Server
	to   atomic.Pointer[string]
	lose atomic.Pointer[func()] // of the next POST: the engine has answered it, and the browser never hears of it
	down atomic.Bool
}

func openAnswerless(t *testing.T, to string) *answerless {
	t.Helper()
	a := &answerless{}
	a.to.Store(&to)
	a.Server = httptest.NewServer(http.HandlerFunc(a.pass))
	t.Cleanup(a.Close)
	return a
}

// pass hands a request on, and its answer back.
func (a *answerless) pass(w http.ResponseWriter, r *http.Request) {
	if a.down.Load() {
		panic(http.ErrAbortHandler)
	}
	on, err := http.NewRequestWithContext(r.Context(), r.Method, *a.to.Load()+r.URL.RequestURI(), r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	on.Header, on.ContentLength = r.Header.Clone(), r.ContentLength
	answer, err := http.DefaultTransport.RoundTrip(on)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = answer.Body.Close() }()
	if lose := a.lose.Load(); lose != nil && r.Method == http.MethodPost {
		a.down.Store(true)
		(*lose)()
		panic(http.ErrAbortHandler)
	}
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.StatusCode)
	if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		_ = http.NewResponseController(w).Flush()
	}
	_, _ = io.Copy(w, answer.Body)
}

// TestConsoleAnswerLost kills the engine when it has carried out a form, before the browser has the answer. The form is
// sent again to the engine that was started anew: it says that it was sent before, and does nothing.
func TestConsoleAnswerLost(t *testing.T) {
	t.Parallel()
	c := openConsole(t)
	payouts := c.waiting(2)
	a := openAnswerless(t, c.process.operator)
	b := openTab(t, a.URL)
	b.expect = append([]string{"ERR_FAILED"}, refusals...)
	b.logIn(c.tokens["olga"])
	b.open("/approvals")
	b.click(`input[value="` + payouts[0] + `"]`)
	kill := func() { c.end(syscall.SIGKILL) }
	a.lose.Store(&kill)
	b.click(`main button[value="approve"]`)
	b.until(`!document.getElementById("lost").hidden`)
	if got := b.eval(`document.querySelector('input[value="` + payouts[0] + `"]').checked`); got != "true" {
		t.Error("what was chosen is lost")
	}
	c.again()
	a.lose.Store(nil)
	a.down.Store(false)
	b.press(`main button[value="approve"]`)
	b.says("Your session has ended.")
	b.enter(c.tokens["olga"])
	b.says(payouts[0])
	b.press(`form[action="/console/approvals"] button`)
	b.says("This form was sent before: olga, POST /admin/payouts/" + payouts[0] + "/approve: 20")
	c.onRecord("olga", "POST", 1)
	c.eventually("a settled payout", func() bool { return c.status(payouts[0]) == "settled" })
	if got := c.status(payouts[1]); got != "pending_approval" {
		t.Errorf("the other payout is %s", got)
	}
}
