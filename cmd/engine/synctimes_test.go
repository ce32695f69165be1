package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// TestSyncTimes checks that a sync is observed with the time that it took.
func TestSyncTimes(t *testing.T) {
	times := newSyncTimes()
	around := timed(times)
	for range 3 {
		around(func() { time.Sleep(2 * time.Millisecond) })
	}
	var m dto.Metric
	if err := times.Write(&m); err != nil {
		t.Fatal(err)
	}
	h := m.Histogram
	if h.GetSampleCount() != 3 || h.GetSampleSum() < 0.006 || h.GetSampleSum() > 3 {
		t.Errorf("%d syncs in %v s", h.GetSampleCount(), h.GetSampleSum())
	}
	for _, b := range h.Bucket {
		if b.GetUpperBound() <= 0.002 && b.GetCumulativeCount() != 0 {
			t.Errorf("%d took at most %v s", b.GetCumulativeCount(), b.GetUpperBound())
		}
	}
}

// TestSyncsAreCounted checks that the metrics count the syncs of the engine's journal.
func TestSyncsAreCounted(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem())
	count := func() uint64 {
		var m dto.Metric
		if err := w.syncs.(prometheus.Metric).Write(&m); err != nil {
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
