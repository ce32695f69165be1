package engine

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// schemeCalls wraps the scheme and counts its calls.
type schemeCalls struct {
	scheme.Scheme
	counts [len(callNames)][len(outcomeNames)]atomic.Uint64
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
func (s *schemeCalls) Describe(out chan<- *prometheus.Desc) { out <- schemeCallsTotal }

// Collect implements prometheus.Collector.
func (s *schemeCalls) Collect(out chan<- prometheus.Metric) {
	for call := range s.counts {
		for outcome := range s.counts[call] {
			out <- prometheus.MustNewConstMetric(schemeCallsTotal, prometheus.CounterValue,
				float64(s.counts[call][outcome].Load()), callNames[call], outcomeNames[outcome])
		}
	}
}

// count counts one call by its outcome.
func (s *schemeCalls) count(call int, err error) {
	outcome := 0
	if err != nil {
		outcome = 2
		if errors.As(err, new(*scheme.Refused)) {
			outcome = 1
		}
	}
	s.counts[call][outcome].Add(1)
}

// lookups returns the number of directory lookups.
func (s *schemeCalls) lookups() (n uint64) {
	for i := range s.counts[callLookup] {
		n += s.counts[callLookup][i].Load()
	}
	return n
}

// RegisterKey implements scheme.Scheme.
func (s *schemeCalls) RegisterKey(ctx context.Context, k pix.Key, a pix.AccountID) error {
	err := s.Scheme.RegisterKey(ctx, k, a)
	s.count(callRegister, err)
	return err
}

// DeregisterKey implements scheme.Scheme.
func (s *schemeCalls) DeregisterKey(ctx context.Context, k pix.Key, a pix.AccountID) error {
	err := s.Scheme.DeregisterKey(ctx, k, a)
	s.count(callDeregister, err)
	return err
}

// Lookup implements scheme.Scheme.
func (s *schemeCalls) Lookup(ctx context.Context, q scheme.Query) (pix.Party, error) {
	o, err := s.Scheme.Lookup(ctx, q)
	s.count(callLookup, err)
	return o, err
}

// Submit implements scheme.Scheme.
func (s *schemeCalls) Submit(ctx context.Context, p scheme.Payment) (scheme.State, error) {
	state, err := s.Scheme.Submit(ctx, p)
	s.count(callSubmit, err)
	return state, err
}

// Return implements scheme.Scheme.
func (s *schemeCalls) Return(ctx context.Context, r scheme.Refund) (scheme.State, error) {
	state, err := s.Scheme.Return(ctx, r)
	s.count(callReturn, err)
	return state, err
}

// Ask implements scheme.Scheme.
func (s *schemeCalls) Ask(ctx context.Context, tx pix.TxID, endToEnd string) (scheme.State, error) {
	state, err := s.Scheme.Ask(ctx, tx, endToEnd)
	s.count(callAsk, err)
	return state, err
}
