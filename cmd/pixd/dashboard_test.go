package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pixd/wal/waltest"
)

// emptyPanels are those that have nothing to show of one engine that is well, and has no snapshot.
var emptyPanels = []string{"Alerts by kind", "Age of the newest snapshot", "Owner", "Behind the owner", "Append to the log", "Forwarded requests"}

// TestDashboard runs the queries of the dashboard on a Prometheus that watches an engine at work.
func TestDashboard(t *testing.T) {
	notShort(t)
	t.Parallel()
	program := installed(t, "prometheus")
	p := start(t, filepath.Join(t.TempDir(), "data"))
	s := p.shop()
	watched := watch(t, program, strings.TrimPrefix(p.operator, "http://"))
	text, err := os.ReadFile(examples("grafana", "pixd.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			asked++
			query := strings.NewReplacer("$__rate_interval", "5s", "$job", "pixd", "$instance", ".+").Replace(target.Expr)
			empty := slices.Contains(emptyPanels, panel.Title)
			for until := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
				s.pays(p)
				n := found(t, watched, query)
				if n > 0 != empty {
					break
				}
				if time.Now().After(until) || empty {
					t.Errorf("%s: %d series for %s", panel.Title, n, query)
					break
				}
			}
		}
	}
	if asked < 40 {
		t.Errorf("%d queries", asked)
	}
}

// pays asks for a payout, and for the balance.
func (s shop) pays(p *process) {
	body := fmt.Sprintf(`{"amount":%d,"pix_key":"ana@example.com"}`, 1+rand.IntN(10_000))
	if status, answer, err := s.ask(p.merchant, "/pix/cash-out", body, ""); err != nil || status/100 != 2 {
		p.t.Errorf("%d %s %v", status, answer, err)
	}
	s.balance(p)
}

// watch starts a Prometheus that watches an engine, and returns its URL.
func watch(t *testing.T, program, engine string) string {
	t.Helper()
	config, err := os.ReadFile(examples("prometheus", "prometheus.yml"))
	if err != nil {
		t.Fatal(err)
	}
	rules, err := filepath.Abs(examples("prometheus", "rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	dir, front := t.TempDir(), waltest.FreePorts(t, 1, 1)[0]
	config = []byte(strings.NewReplacer("15s", "1s", "[127.0.0.1:8081]", "["+engine+"]", "[rules.yml]", "["+rules+"]").Replace(string(config)))
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	c := exec.CommandContext(t.Context(), program, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "tsdb"), "--web.listen-address="+front)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt)
		if err := c.Wait(); t.Failed() {
			t.Logf("%v\n%s", err, said.String())
		}
	})
	return "http://" + front
}

// found returns how many series a query finds. A query that Prometheus refuses fails the test; while it
// does not answer there are none.
func found(t *testing.T, base, query string) int {
	t.Helper()
	answer, err := http.Get(base + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		return 0
	}
	defer func() { _ = answer.Body.Close() }()
	var got struct {
		Status, Error string
		Data          struct{ Result []json.RawMessage }
	}
	if answer.StatusCode == http.StatusServiceUnavailable {
		return 0
	}
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil || got.Status != "success" {
		t.Fatal(fmt.Sprint(answer.Status, " ", got.Error, err, ": ", query))
	}
	return len(got.Data.Result)
}
