package bench

import "time"

// Prepared is a Source of requests that were made beforehand. Each is sent once, and the answers
// are not looked at.
type Prepared [][]byte

// Request implements Source.
func (p Prepared) Request(b []byte, i int) []byte {
	if i >= len(p) {
		return b
	}
	return append(b, p[i]...)
}

// Answer implements Source.
func (Prepared) Answer(int, int, []byte) {}

// Repeated is a Source of one request that is sent again and again.
type Repeated []byte

// Request implements Source.
func (r Repeated) Request(b []byte, _ int) []byte { return append(b, r...) }

// Answer implements Source.
func (Repeated) Answer(int, int, []byte) {}

// Quantile returns the latency that a share q (0 to 1) of the answers in 2xx did not exceed.
func (r *Result) Quantile(q float64) time.Duration {
	return time.Duration(r.done.ValueAtQuantile(100*q)) * time.Microsecond
}

// Add adds another load's answers and latencies.
func (r *Result) Add(o *Result) {
	r.Sent, r.Done, r.Elapsed = r.Sent+o.Sent, r.Done+o.Done, r.Elapsed+o.Elapsed
	if r.done == nil {
		r.done, r.refused, r.Errors = newHistogram(), newHistogram(), map[string]int{}
	}
	r.done.Merge(o.done)
	r.refused.Merge(o.refused)
	for kind, n := range o.Errors {
		r.Errors[kind] += n
	}
}
