package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pixd/wal/waltest"
)

// TestNodeReceiver receives webhooks with examples/node, which verifies them with a library that
// is not ours. A webhook that was changed on the way is refused.
func TestNodeReceiver(t *testing.T) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Fatalf("install npm (apt-get install nodejs npm): an example is tried with it: %v", err)
	}
	dir := filepath.Join(t.TempDir(), "node")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "examples", "node"))); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
		install := exec.CommandContext(t.Context(), npm, "ci", "--no-audit", "--no-fund")
		install.Dir = dir
		if out, err := install.CombinedOutput(); err != nil {
			t.Fatalf("npm ci: %v\n%s", err, out)
		}
	}
	p := start(t, filepath.Join(t.TempDir(), "data"), "--webhook-allow-insecure")
	s := p.shop()
	listen := waltest.FreePorts(t, 1, 1)[0]
	_, port, _ := net.SplitHostPort(listen)
	address := "http://" + listen + "/"
	var hook struct {
		Secret string `json:"secret"`
	}
	status, answer, err := s.ask(p.merchant, "/webhooks", fmt.Sprintf(`{"events":["pix.payout.confirmed"],"url":%q}`, address), "hook")
	if err != nil || status != http.StatusOK || json.Unmarshal(answer, &hook) != nil {
		t.Fatal(status, string(answer), err)
	}
	out := receive(t, dir, hook.Secret, port)
	out.until(t, "listening")
	if status, answer, err := s.ask(p.merchant, "/pix/cash-out", `{"amount":100,"pix_key":"settle-now@pix.test"}`, "pay"); err != nil || status != http.StatusOK {
		t.Fatal(status, string(answer), err)
	}
	out.until(t, "pix.payout.confirmed 1 10000 - verified")

	forged, err := http.Post(address, "application/json", strings.NewReader(`{"type":"pix.payout.confirmed"}`))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, forged.Body)
	_ = forged.Body.Close()
	if forged.StatusCode != http.StatusBadRequest {
		t.Errorf("a forged webhook: %d", forged.StatusCode)
	}
}

// receive starts the receiver, and returns what it prints.
func receive(t *testing.T, dir, secret, port string) *printed {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := exec.CommandContext(ctx, "node", "receiver.mjs", secret)
	c.Dir = dir
	c.Env = append(os.Environ(), fmt.Sprintf("PORT=%s", port))
	out := &printed{}
	c.Stdout, c.Stderr = out, out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = c.Wait() })
	return out
}
