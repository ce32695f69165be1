package main

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"syscall"
	"testing"

	"pixd/wal/waltest"
)

// servesOn ends the engine and starts one on a folder, with the same merchant and operators.
func (c *console) servesOn(dir string, flags ...string) {
	c.t.Helper()
	c.end(syscall.SIGTERM)
	c.process = start(c.t, dir, append([]string{"--webhook-allow-insecure"}, flags...)...)
}

// reads returns a case as operators see it.
func (c *console) reads(id string) (k struct {
	Status   string
	Failed   bool `json:"refund_failed"`
	Awaits   bool `json:"awaits_resume"`
	Held     int  `json:"held_amount"`
	Refunded int  `json:"refunded_amount"`
},
) {
	c.t.Helper()
	c.asks("GET", "/admin/med/"+id, "", &k)
	return k
}

// TestConsoleCaseRefund has the refund of a case tried again that has failed for good: once in vain, once with success.
// The scheme refuses it as long as its book is another one, which does not have the payment.
func TestConsoleCaseRefund(t *testing.T) {
	t.Parallel()
	c := openConsole(t)
	dir := c.dir
	id := c.opened(c.paid("Ana"))
	c.servesOn(dir, "--sim-dir", filepath.Join(t.TempDir(), "other"))
	c.asks("POST", "/admin/med/"+id+"/analysis", `{"result":"AGREED"}`, nil)
	failed := func() bool { k := c.reads(id); return k.Failed && k.Held == 7000 }
	c.eventually("a refund that has failed", failed)
	form := `form[action="/console/med/` + id + `/refund"] button`
	b := c.tab("olga")
	b.open("/med/" + id)
	b.press(form)
	b.says("The refund will be tried again.")
	c.eventually("a refund that has failed again", failed)
	c.servesOn(dir)
	b = c.tab("olga")
	b.open("/med?status=closed")
	b.says("refund failed")
	b.press(`a[href="/console/med/` + id + `"]`)
	b.press(form)
	b.says("The refund will be tried again.")
	c.eventually("a refund", func() bool { k := c.reads(id); return !k.Failed && k.Held == 0 && k.Refunded == 7000 })
	b.open("/med/" + id)
	if got := b.count(form); got != "0" {
		t.Error("what is refunded can be refunded again")
	}
	c.onRecord("olga", "POST /admin/med/"+id+"/refund 202", 2)
}

// TestConsoleCaseResume lets a case go on that waits since a restore: the scheme does not list what has happened since,
// so the engine does not let it go on by itself.
func TestConsoleCaseResume(t *testing.T) {
	t.Parallel()
	c := openConsole(t)
	id := c.opened(c.paid("Ana"))
	file := c.snap()
	c.end(syscall.SIGTERM)
	ports := waltest.FreePorts(t, 2, 1)
	launchSim(t, filepath.Join(c.dir, "sim"), ports[0], "http://"+ports[1]).awaitReady()
	to, _ := url.Parse("http://" + ports[0])
	pass := httputil.NewSingleHostReverseProxy(to)
	scheme := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/movements/list" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(scheme.Close)
	dir := filepath.Join(t.TempDir(), "restored")
	if code, out, errs := run(t, nil, "snapshot", "restore", file, "--data-dir", dir); code != 0 {
		t.Fatalf("%d %s %s", code, out, errs)
	}
	c.process = start(t, dir, "--scheme", scheme.URL, "--scheme-listen", ports[1], "--accept-restored-gap")
	if k := c.reads(id); !k.Awaits || k.Status != "open" {
		t.Fatalf("%+v", k)
	}
	form := `form[action="/console/med/` + id + `/resume"] button`
	v := c.tab("vera")
	v.open("/med/" + id)
	if got := v.count(form); got != "0" {
		t.Error("a viewer has the button")
	}
	b := c.tab("olga")
	b.open("/med")
	b.press(`a[href="/console/med/` + id + `"]`)
	b.press(form)
	b.says("The case goes on.")
	if k := c.reads(id); k.Awaits || b.count(form) != "0" {
		t.Errorf("%+v, %s buttons", k, b.count(form))
	}
	c.onRecord("olga", "POST /admin/med/"+id+"/resume 202", 1)
}

// snap makes a snapshot, and returns its file.
func (c *console) snap() (file string) {
	c.t.Helper()
	c.asks("POST", "/admin/snapshots", "", nil)
	c.eventually("a snapshot", func() bool {
		var l struct {
			Last *struct{ Path *string }
		}
		c.asks("GET", "/admin/snapshots", "", &l)
		if l.Last == nil || l.Last.Path == nil {
			return false
		}
		file = *l.Last.Path
		return true
	})
	return file
}
