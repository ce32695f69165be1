package metrics

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// SchemeCalls wraps a scheme, and counts its calls and how long they take.
type SchemeCalls struct {
	scheme.Scheme
	counts [len(callNames)][len(outcomeNames)]atomic.Uint64
	times  *prometheus.HistogramVec
	took   [len(callNames)]prometheus.Observer // of times, by call
}

// NewSchemeCalls wraps a scheme.
func NewSchemeCalls(under scheme.Scheme) *SchemeCalls {
	s := &SchemeCalls{Scheme: under, times: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "pixd_scheme_call_duration_seconds", Help: "How long calls to the scheme took, whatever came of them.", Buckets: answerBuckets,
	}, []string{"call"})}
	for call, name := range callNames {
		s.took[call] = s.times.WithLabelValues(name)
	}
	return s
}

var (
	callNames    = [...]string{"register_key", "lookup", "submit", "return", "ask", "deregister_key"}
	outcomeNames = [...]string{"answered", "refused", "failed"}
)

const (
	callRegister = iota
	callLookup
	callSubmit
	callReturn
	callAsk
	callDeregister
)

var schemeCallsTotal = prometheus.NewDesc("pixd_scheme_calls_total",
	"Calls to the scheme by what was asked and how it came out; failed: no answer that can be relied on.", []string{"call", "outcome"}, nil)

// Describe implements prometheus.Collector.
func (s *SchemeCalls) Describe(out chan<- *prometheus.Desc) {
	out <- schemeCallsTotal
	s.times.Describe(out)
}

// Collect implements prometheus.Collector.
func (s *SchemeCalls) Collect(out chan<- prometheus.Metric) {
	s.times.Collect(out)
	for call := range s.counts {
		for outcome := range s.counts[call] {
			out <- prometheus.MustNewConstMetric(schemeCallsTotal, prometheus.CounterValue,
				float64(s.counts[call][outcome].Load()), callNames[call], outcomeNames[outcome])
		}
	}
}

// count counts one call by its outcome.
func (s *SchemeCalls) count(call int, began time.Time, err error) {
	s.took[call].Observe(time.Since(began).Seconds())
	outcome := 0
	if err != nil {
		outcome = 2
		if errors.As(err, new(*scheme.Refused)) {
			outcome = 1
		}
	}
	s.counts[call][outcome].Add(1)
}

// Lookups returns the number of directory lookups.
func (s *SchemeCalls) Lookups() (n uint64) {
	for i := range s.counts[callLookup] {
		n += s.counts[callLookup][i].Load()
	}
	return n
}

// RegisterKey implements scheme.Scheme.
func (s *SchemeCalls) RegisterKey(ctx context.Context, k pix.Key, a pix.AccountID) error {
	began := time.Now()
	err := s.Scheme.RegisterKey(ctx, k, a)
	s.count(callRegister, began, err)
	return err
}

// DeregisterKey implements scheme.Scheme.
func (s *SchemeCalls) DeregisterKey(ctx context.Context, k pix.Key, a pix.AccountID) error {
	began := time.Now()
	err := s.Scheme.DeregisterKey(ctx, k, a)
	s.count(callDeregister, began, err)
	return err
}

// Lookup implements scheme.Scheme.
func (s *SchemeCalls) Lookup(ctx context.Context, q scheme.Query) (pix.Party, error) {
	began := time.Now()
	o, err := s.Scheme.Lookup(ctx, q)
	s.count(callLookup, began, err)
	return o, err
}

// Submit implements scheme.Scheme.
func (s *SchemeCalls) Submit(ctx context.Context, p scheme.Payment) (scheme.State, error) {
	began := time.Now()
	state, err := s.Scheme.Submit(ctx, p)
	s.count(callSubmit, began, err)
	return state, err
}

// Return implements scheme.Scheme.
func (s *SchemeCalls) Return(ctx context.Context, r scheme.Refund) (scheme.State, error) {
	began := time.Now()
	state, err := s.Scheme.Return(ctx, r)
	s.count(callReturn, began, err)
	return state, err
}

// Ask implements scheme.Scheme.
func (s *SchemeCalls) Ask(ctx context.Context, tx pix.TxID, endToEnd string) (scheme.State, error) {
	began := time.Now()
	state, err := s.Scheme.Ask(ctx, tx, endToEnd)
	s.count(callAsk, began, err)
	return state, err
}
