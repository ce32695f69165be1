package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestReadmeRequest runs the request that the README shows to merchants, as they would paste it, twice: it pays once.
func TestReadmeRequest(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, merchants, _ := strings.Cut(string(text), "## For merchants")
	_, lines, found := strings.Cut(merchants, "```\nBODY=")
	lines, _, ended := strings.Cut(lines, "```")
	if !found || !ended {
		t.Fatal("the README has no request for merchants")
	}
	p := start(t, filepath.Join(t.TempDir(), "data"))
	s := p.shop()
	at := t.TempDir()
	if err := os.Mkdir(filepath.Join(at, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(theBinary(), filepath.Join(at, "bin", "pixd")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c := exec.CommandContext(ctx, installed(t, "bash"), "-c", "BODY="+lines)
		c.Dir = at
		c.Env = append(os.Environ(), "PIXD_URL="+p.merchant, "PIXD_CLIENT_ID="+s.Client, "PIXD_CLIENT_SECRET="+s.Secret)
		if out, err := c.Output(); err != nil || !strings.HasPrefix(string(out), `{"worked":true,`) || !strings.Contains(string(out), `"amount":100000,`) {
			t.Fatalf("%v %s", err, out)
		}
	}
	for until := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		balance, pending := s.balance(p)
		if balance == 1000000000-100000 && pending == 0 {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("balance %d, pending %d", balance, pending)
		}
	}
}
