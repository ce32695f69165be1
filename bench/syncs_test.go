package bench

import (
	"fmt"
	"strings"
	"testing"
)

const processMetrics = `# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total 2.5
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes 1000
`

// syncMetrics is what an engine's /metrics says of 1,000 syncs, the slowest of which took longer
// than every bound.
const syncMetrics = processMetrics + `# TYPE pixd_journal_sync_seconds histogram
pixd_journal_sync_seconds_bucket{le="0.0002"} 499
pixd_journal_sync_seconds_bucket{le="0.0003"} 500
pixd_journal_sync_seconds_bucket{le="0.0015"} 989
pixd_journal_sync_seconds_bucket{le="0.002"} %d
pixd_journal_sync_seconds_bucket{le="10"} 999
pixd_journal_sync_seconds_bucket{le="+Inf"} 1000
pixd_journal_sync_seconds_sum 12.5
pixd_journal_sync_seconds_count 1000
`

func syncsOf(t *testing.T, metrics string) syncTimes {
	t.Helper()
	at, err := readSample(strings.NewReader(metrics))
	if err != nil || at.cpu != 2.5 || at.memory != 1000 {
		t.Fatal(at, err)
	}
	return at.syncs
}

// TestSyncTimes checks the quantiles that are read off the metric's bounds.
func TestSyncTimes(t *testing.T) {
	s := syncsOf(t, fmt.Sprintf(syncMetrics, 990))
	want := Latency{P50: 300, P90: 1500, P99: 2000, P999: 10e6, Max: 10e6}
	if got := s.latency(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := s.since(syncTimes{}).latency(); got != want {
		t.Errorf("since none: %+v", got)
	}
	if got := s.since(s).latency(); got != (Latency{}) {
		t.Errorf("none since: %+v", got)
	}
	// 989 of them were before: what is left are the slow ones.
	before := syncTimes{bounds: s.bounds, upTo: []uint64{499, 500, 989, 989, 989}, count: 989}
	if got := s.since(before).latency(); got != (Latency{P50: 10e6, P90: 10e6, P99: 10e6, P999: 10e6, Max: 10e6}) {
		t.Errorf("of the rest: %+v", got)
	}
	before.upTo[4], s.count, s.upTo = 989, 999, []uint64{499, 500, 989, 999, 999}
	if got := s.since(before).latency(); got != (Latency{P50: 2000, P90: 2000, P99: 2000, P999: 2000, Max: 2000}) {
		t.Errorf("ten more: %+v", got)
	}
}

// TestSyncTimesOfAnotherStart checks that the syncs of an engine that was started again count from
// its start.
func TestSyncTimesOfAnotherStart(t *testing.T) {
	s := syncsOf(t, fmt.Sprintf(syncMetrics, 990))
	for name, before := range map[string]syncTimes{
		"more before":             {bounds: s.bounds, upTo: []uint64{0, 0, 0, 0, 0}, count: 1001},
		"more of a bound before":  {bounds: s.bounds, upTo: []uint64{0, 501, 501, 501, 501}, count: 501},
		"with other bounds":       {bounds: s.bounds[1:], upTo: []uint64{0, 0, 0, 0}, count: 1},
		"without the metric once": {},
	} {
		if got := s.since(before); got.count != 1000 || got.latency() != s.latency() {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := syncsOf(t, processMetrics).latency(); got != (Latency{}) {
		t.Errorf("an engine without the metric: %+v", got)
	}
}

// TestStolen checks the share of the processors' time that other machines had.
func TestStolen(t *testing.T) {
	before := processors{all: 100, stolen: 10}
	for _, c := range []struct {
		after processors
		want  string
	}{
		{processors{all: 200, stolen: 15}, "5.0 %"},
		{processors{all: 200, stolen: 10}, "0.0 %"},
		{processors{all: 100, stolen: 10}, "–"},
		{processors{}, "–"},
		{processors{all: 200, stolen: 9}, "–"},
	} {
		r := Run{Stolen: c.after.since(before)}
		if got := r.stolen(); got != c.want {
			t.Errorf("%+v: %s, want %s", c.after, got, c.want)
		}
	}
	if p := processorTime(); p.all <= 0 || p.stolen < 0 || p.stolen > p.all {
		t.Errorf("this machine: %+v", p)
	}
}
