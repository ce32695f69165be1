package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// fullDisk is an output that takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestStatementOnFullDisk checks that a short statement, too, that cannot be written is an error.
func TestStatementOnFullDisk(t *testing.T) {
	for name, f := range map[string]*statementFlags{"table": {}, "json": {adminFlags: adminFlags{}}, "csv": {csv: true}} {
		f.JSON = name == "json"
		if err := f.print(fullDisk{}, strings.NewReader(`{"data":[],"next_cursor":null}`)); err == nil || !strings.Contains(err.Error(), "incomplete") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTrustedProxyHostBits checks that a --trusted-proxy with host bits set is refused, before what the other flags say.
func TestTrustedProxyHostBits(t *testing.T) {
	c := serveCommand()
	c.SetArgs([]string{"--demo", "--trusted-proxy", "10.1.2.3/8", "--data-dir", t.TempDir()})
	c.SetOut(io.Discard)
	c.SetErr(io.Discard)
	if err := c.Execute(); err == nil || !strings.Contains(err.Error(), "10.0.0.0/8 is the whole network") {
		t.Error(err)
	}
}

// TestDemoKeepsOtherWebhooks checks that a demo which begins again ends the webhooks of its tours, and no other.
func TestDemoKeepsOtherWebhooks(t *testing.T) {
	var ended []string
	merchant := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			ended = append(ended, r.URL.Path)
			return
		}
		_, _ = fmt.Fprintf(w, `{"data":[{"id":"1","url":%q},{"id":"2","url":"https://merchant.example/"},{"id":"3","url":%[1]q}]}`, tourHook)
	}))
	defer merchant.Close()
	d := &demonstration{merchant: merchant.URL}
	if err := d.unsubscribe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"/api/external/webhooks/1", "/api/external/webhooks/3"}; !slices.Equal(ended, want) {
		t.Errorf("ended %q, want %q", ended, want)
	}
}
