package bench

import (
	"math"

	dto "github.com/prometheus/client_model/go"
)

// syncTimes counts the journal's syncs by how long they took, as the engine's metrics do.
type syncTimes struct {
	bounds []float64 // in seconds, rising
	upTo   []uint64  // how many took no longer than the bound
	count  uint64
}

// readSyncs reads the histogram of syncs; zero where an engine does not have it.
func readSyncs(f *dto.MetricFamily) (s syncTimes) {
	if f == nil || len(f.Metric) == 0 || f.Metric[0].Histogram == nil {
		return s
	}
	h := f.Metric[0].Histogram
	s.count = h.GetSampleCount()
	for _, b := range h.Bucket {
		if !math.IsInf(b.GetUpperBound(), 0) {
			s.bounds, s.upTo = append(s.bounds, b.GetUpperBound()), append(s.upTo, b.GetCumulativeCount())
		}
	}
	return s
}

// since returns the syncs after before. Where there are fewer than before, the engine has been
// started again, and they count from its start.
func (s syncTimes) since(before syncTimes) syncTimes {
	if s.count < before.count || len(s.upTo) != len(before.upTo) {
		return s
	}
	d := syncTimes{bounds: s.bounds, count: s.count - before.count}
	for i, n := range s.upTo {
		if n < before.upTo[i] {
			return s
		}
		d.upTo = append(d.upTo, n-before.upTo[i])
	}
	return d
}

// latency returns how long the syncs took: of each quantile the next bound above it, in
// microseconds, and the highest bound for syncs that took longer. All 0: there were none.
func (s syncTimes) latency() Latency {
	if s.count == 0 || len(s.bounds) == 0 {
		return Latency{}
	}
	return Latency{P50: s.quantile(0.5), P90: s.quantile(0.9), P99: s.quantile(0.99), P999: s.quantile(0.999), Max: s.quantile(1)}
}

func (s syncTimes) quantile(q float64) int64 {
	for i, n := range s.upTo {
		if float64(n) >= q*float64(s.count) {
			return int64(math.Round(1e6 * s.bounds[i]))
		}
	}
	return int64(math.Round(1e6 * s.bounds[len(s.bounds)-1]))
}
