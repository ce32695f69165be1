package main

import (
	"bytes"
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestPrometheus has Prometheus' own tool check the names of an engine's metrics, the configuration and
// the alerting rules, and run the rules' tests.
func TestPrometheus(t *testing.T) {
	t.Parallel()
	promtool := installed(t, "promtool")
	p := start(t, filepath.Join(t.TempDir(), "data"))
	p.shop() // some requests
	answer, err := http.Get(p.operator + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var metrics bytes.Buffer
	if _, err := metrics.ReadFrom(answer.Body); err != nil || metrics.Len() == 0 {
		t.Fatal(answer.Status, err)
	}
	for _, args := range [][]string{
		{"check", "metrics"}, {"check", "config", "prometheus.yml"}, {"check", "rules", "rules.yml"}, {"test", "rules", "rules_test.yml"},
	} {
		c := exec.CommandContext(t.Context(), promtool, args...)
		c.Dir, c.Stdin = examples("prometheus"), bytes.NewReader(metrics.Bytes())
		if out, err := c.CombinedOutput(); err != nil || args[1] == "metrics" && len(out) > 0 {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}
