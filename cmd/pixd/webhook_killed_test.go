package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestWebhooksKilled kills the engine while a receiver has an event and has not answered yet, and
// while a second event waits behind it. After the start both arrive: the first again, under the
// same id.
func TestWebhooksKilled(t *testing.T) {
	t.Parallel()
	arrived := make(chan string, 10)
	answering := make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var event struct {
			ID   string `json:"id"`
			Type string `json:"type"`
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &event)
		if event.ID != r.Header.Get("webhook-id") {
			event.ID += " under another id"
		}
		arrived <- event.Type + " " + event.ID
		select {
		case <-answering:
		case <-r.Context().Done():
		}
	}))
	defer receiver.Close()
	dir := filepath.Join(t.TempDir(), "data")
	p := start(t, dir, "--webhook-allow-insecure")
	s := p.shop()
	subscribe := fmt.Sprintf(`{"events":["pix.completed","pix.payout.confirmed"],"url":%q}`, receiver.URL)
	if status, answer, err := s.ask(p.merchant, "/webhooks", subscribe, "hook"); err != nil || status != http.StatusOK {
		t.Fatal(status, string(answer), err)
	}
	if status, answer, err := s.ask(p.merchant, "/pix/cash-out", `{"amount":100,"pix_key":"settle-now@pix.test"}`, "pay"); err != nil || status != http.StatusOK {
		t.Fatal(status, string(answer), err)
	}
	first := <-arrived
	p.end(syscall.SIGKILL)
	close(answering)

	start(t, dir, "--webhook-allow-insecure")
	var all []string
	for len(all) < 2 {
		select {
		case one := <-arrived:
			all = append(all, one)
		case <-time.After(20 * time.Second):
			t.Fatalf("after the start only %q arrived", all)
		}
	}
	if all[0] != first || !strings.HasPrefix(first, "pix.payout.confirmed evt_") || !strings.HasPrefix(all[1], "pix.completed evt_") {
		t.Errorf("before the kill %q, after it %q", first, all)
	}
}
