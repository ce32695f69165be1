package simulator

import (
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"pixd/httpapi/control"
)

// settings are those of a simulator that can be served.
func settings(t *testing.T) Config {
	c := Defaults()
	c.DataDir, c.Listen, c.AdminToken = filepath.Join(t.TempDir(), "book"), "127.0.0.1:0", strings.Repeat("t", 32)
	c.SchemeSecret, c.Engine, c.Log = "0123456789abcdef0123456789abcdef", "http://127.0.0.1:1", slog.New(slog.DiscardHandler)
	return c
}

// TestSettings checks which settings are refused, also of an engine's second node.
func TestSettings(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"":               func(*Config) {},
		"--settle-delay": func(c *Config) { c.SettleDelay = -1 },
		"--engine:":      func(c *Config) { c.Engine += ",nonsense" },
		"--engine-ca":    func(c *Config) { c.Engine, c.EngineCA = "https://a:1,http://b:1", "ca.pem" },
	} {
		c := settings(t)
		change(&c)
		if err := c.Check(); (err == nil) != (name == "") || err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBookIsPrivate checks that the book's folder is for its owner alone, and that no second simulator opens it.
func TestBookIsPrivate(t *testing.T) {
	c := settings(t)
	s, err := Serve(c, control.Build{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Shutdown() }()
	if info, err := os.Stat(c.DataDir); err != nil || info.Mode() != fs.ModeDir|0o700 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	s.ready.Store(false)
	answer, err := http.Get("http://" + s.Addr.String() + "/version")
	if err != nil || answer.StatusCode != 503 {
		t.Errorf("at its end: %+v %v", answer, err)
	}
	if err == nil {
		_ = answer.Body.Close()
	}
	if _, err := Serve(c, control.Build{}); err == nil {
		t.Error("two simulators have one book")
	}
}

// TestNotReady checks that a simulator that is ending refuses requests, because its book is closing.
func TestNotReady(t *testing.T) {
	s, served := &Served{}, 0
	h := s.whileReady(func(*fasthttp.RequestCtx) { served++ })
	for _, ready := range []bool{false, true, false} {
		s.ready.Store(ready)
		var ctx fasthttp.RequestCtx
		if h(&ctx); (ctx.Response.StatusCode() == fasthttp.StatusServiceUnavailable) == ready {
			t.Errorf("ready %v: %d", ready, ctx.Response.StatusCode())
		}
	}
	if served != 1 {
		t.Errorf("%d of 3 requests were served", served)
	}
}
