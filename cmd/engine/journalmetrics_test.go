package engine

import (
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// TestSyncsAreCounted checks that the metrics count the syncs of the engine's journal.
func TestSyncsAreCounted(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem())
	count := func() uint64 {
		var m dto.Metric
		if err := w.writes.Syncs.(prometheus.Metric).Write(&m); err != nil {
			t.Fatal(err)
		}
		return m.Histogram.GetSampleCount()
	}
	before := count()
	w.setUp()
	if after := count(); after <= before || before == 0 {
		t.Errorf("%d syncs before a key was made, %d after", before, after)
	}
	if _, got := w.operate("GET", "/metrics", ""); !strings.Contains(got, "\npixd_journal_sync_seconds_bucket{le=\"0.001\"} ") {
		t.Error("the metrics lack the syncs' times")
	}
}
