package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestShortTokenFile checks that an engine does not start if the token in the token file is
// too short, and that it makes a new token if there is no file.
func TestShortTokenFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	args := []string{"serve", "--data-dir", dir, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}
	file := filepath.Join(dir, "admin.token")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(" fifteen-letters \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errs := run(t, []string{"PIXD_ADMIN_TOKEN="}, args...)
	if want := "pixd: " + file + ": an operators' token must have at least 16 characters, and this one has 15\n"; code != 1 || !strings.HasSuffix(errs, want) || strings.Contains(errs, "fifteen") {
		t.Errorf("exit %d\n%s, want %s", code, errs, want)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	start(t, dir, "--demo").end(syscall.SIGTERM)
	if got, err := os.ReadFile(file); err != nil || len(strings.TrimSpace(string(got))) != 43 {
		t.Errorf("%q %v", got, err)
	}
}

// TestWrongTokensAreLimited checks that the engine and the simulator limit requests with
// wrong tokens, and that a request with the right token always passes.
func TestWrongTokensAreLimited(t *testing.T) {
	t.Parallel()
	p := openPair(t, false)
	for _, url := range []string{p.engine.operator + "/admin/accounts", p.sim.operator + "/sim/book"} {
		statuses := map[int]int{}
		for range 30 { // five wrong tokens are allowed in a minute, and the requests may fall into two minutes
			r, err := http.NewRequest("GET", url, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer not-the-token-at-all")
			answer, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			statuses[answer.StatusCode]++
			if got := answer.Header.Get("Retry-After"); (got == "60") != (answer.StatusCode == 429) {
				t.Errorf("%s: %d with Retry-After %q", url, answer.StatusCode, got)
			}
		}
		if n := statuses[401]; n < 5 || n > 10 || n+statuses[429] != 30 {
			t.Errorf("%s: %v", url, statuses)
		}
		if status, got, err := send("GET", url, nil, "Authorization", "Bearer "+token); err != nil || status != 200 {
			t.Errorf("the right token: %d %s %v", status, got, err)
		}
	}
}
