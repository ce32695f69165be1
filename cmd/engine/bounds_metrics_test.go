package engine

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/transfer"
	"pixd/cmd/metrics"
)

// TestBoundsHaveMetrics checks that each bound that docs/bounds.md lists with a column for metrics
// has one, or says why it has none; that the engine shows each that the page names; and that the
// page names each bound that the engine shows.
func TestBoundsHaveMetrics(t *testing.T) {
	h := newHarness(t, vfs.NewMem())
	_, shown := h.operate("GET", "/metrics", "")
	lanes := metrics.Lanes{Of: transfer.NewLanes(func() time.Duration { return 0 })}
	byProvider := map[string]bool{"notices": true} // the harness has no provider
	for name := range lanes.Pools() {
		byProvider[name] = true
	}
	page, err := os.ReadFile(filepath.Join(moduleRoot, "docs", "bounds.md"))
	if err != nil {
		t.Fatal(err)
	}
	pool, named := regexp.MustCompile(`\{pool="([a-z_]+)"\}`), regexp.MustCompile("`(pixd_[a-z_]+)")
	rows := 0
	for _, line := range strings.Split(string(page), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 8 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		rows++
		metric := strings.TrimSpace(cells[6])
		if !strings.HasPrefix(metric, "none: ") && !strings.Contains(metric, "`pixd_") {
			t.Errorf("no metric, and no reason why: %s", line)
		}
		for _, m := range named.FindAllStringSubmatch(metric, -1) {
			if !strings.Contains(shown, "\n"+strings.TrimSuffix(m[1], "_")) {
				t.Errorf("the engine does not show %s", m[1])
			}
		}
		for _, m := range pool.FindAllStringSubmatch(metric, -1) {
			if !byProvider[m[1]] && !strings.Contains(shown, m[0]+" ") {
				t.Errorf("the engine does not show %s", m[0])
			}
		}
	}
	for _, m := range pool.FindAllStringSubmatch(shown, -1) {
		if !strings.Contains(string(page), m[0]) {
			t.Errorf("docs/bounds.md does not name %s", m[0])
		}
	}
	for name := range byProvider {
		if !strings.Contains(string(page), `{pool="`+name+`"}`) {
			t.Errorf("docs/bounds.md does not name the pool %s", name)
		}
	}
	if rows < 25 {
		t.Errorf("only %d rows are found", rows)
	}
}
