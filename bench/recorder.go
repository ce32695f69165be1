package bench

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range and the precision of recorded latencies: 1 µs to 10 min, longer ones count as that,
// in three significant digits.
const (
	shortest = 1
	longest  = int64(10 * time.Minute / time.Microsecond)
	digits   = 3
)

// recorder counts answers and their latencies. Connections share a few shards, so that they
// seldom wait for each other.
type recorder struct {
	shards [8]shard

	// Only the goroutine of tick uses these until the load has ended.
	total   counted
	series  []Second
	scratch *hdrhistogram.Histogram
}

// shard counts since the last call of turn.
type shard struct {
	mu sync.Mutex
	counted
	_ [64]byte // keeps two shards out of one cache line
}

// counted are answers by outcome.
type counted struct {
	sent          int
	done, refused *hdrhistogram.Histogram // latencies of answers in 2xx; what those in another status took after their requests were sent
	errors        map[string]int
}

func newCounted() counted {
	return counted{done: newHistogram(), refused: newHistogram(), errors: map[string]int{}}
}

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(shortest, longest, digits) }

func newRecorder() *recorder {
	r := &recorder{total: newCounted(), scratch: newHistogram()}
	for i := range r.shards {
		r.shards[i].counted = newCounted()
	}
	return r
}

// take counts one request, which was carried out where its status is the expected one. latency
// counts from when the request was due, sent from when it was sent.
func (s *shard) take(status int, err error, expected bool, latency, sent time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent++
	switch {
	case err == nil && expected:
		record(s.done, latency)
		return
	case err == nil:
		record(s.refused, sent)
	}
	s.errors[kindOf(status, err)]++
}

func record(h *hdrhistogram.Histogram, d time.Duration) {
	_ = h.RecordValue(min(max(d.Microseconds(), shortest), longest)) // fails only beyond the histogram's range
}

// turn adds what the shards have counted to the total, empties them, and returns what they had.
func (r *recorder) turn() *Second {
	r.scratch.Reset()
	s := &Second{}
	for i := range r.shards {
		h := &r.shards[i]
		h.mu.Lock()
		r.scratch.Merge(h.done)
		r.total.refused.Merge(h.refused)
		r.total.sent += h.sent
		s.Errors += h.sent - int(h.done.TotalCount())
		for kind, n := range h.errors {
			r.total.errors[kind] += n
		}
		h.sent = 0
		h.done.Reset()
		h.refused.Reset()
		clear(h.errors)
		h.mu.Unlock()
	}
	r.total.done.Merge(r.scratch)
	s.Done = int(r.scratch.TotalCount())
	s.P50, s.P99, s.Max = r.scratch.ValueAtQuantile(50), r.scratch.ValueAtQuantile(99), r.scratch.Max()
	return s
}

// Result has the figures of one load.
type Result struct {
	Sent        int            // requests
	Done        int            // answers in 2xx
	Errors      map[string]int // other outcomes by kind; see Count
	Elapsed     time.Duration  // from the first request to the last answer
	Connections int            // most that were open at once
	CPU         time.Duration  // processor time of this process
	Series      []Second

	done, refused *hdrhistogram.Histogram
}

func (r *recorder) result(elapsed time.Duration, connections int, cpu time.Duration) *Result {
	return &Result{
		Sent: r.total.sent, Done: int(r.total.done.TotalCount()), Errors: r.total.errors, Elapsed: elapsed, Connections: connections, CPU: cpu,
		Series: r.series, done: r.total.done, refused: r.total.refused,
	}
}

// PerSecond returns the number of answers in 2xx per second.
func (r *Result) PerSecond() float64 { return float64(r.Done) / r.Elapsed.Seconds() }

// counts returns the errors by kind, most frequent first.
func (r *Result) counts() []Count {
	all := make([]Count, 0, len(r.Errors))
	for kind, n := range r.Errors {
		all = append(all, Count{kind, n})
	}
	slices.SortFunc(all, func(a, b Count) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Kind, b.Kind)) })
	return all
}

// latencyOf returns the quantiles that a report has.
func latencyOf(h *hdrhistogram.Histogram) Latency {
	return Latency{
		P50: h.ValueAtQuantile(50), P90: h.ValueAtQuantile(90), P99: h.ValueAtQuantile(99), P999: h.ValueAtQuantile(99.9), Max: h.Max(),
	}
}

// distributionOf returns the latency at quantiles that come ever closer to 1.
func distributionOf(h *hdrhistogram.Histogram) []Quantile {
	if h.TotalCount() == 0 {
		return []Quantile{}
	}
	var all []Quantile
	for _, b := range h.CumulativeDistributionWithTicks(5) {
		all = append(all, Quantile{Q: b.Quantile / 100, Latency: b.ValueAt})
	}
	return all
}
