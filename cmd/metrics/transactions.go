package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"pixd/actors/account"
	"pixd/actors/ledger"
)

// Transactions collects the counters of what moved.
type Transactions struct{ Of *account.Moves }

var transactionsTotal = prometheus.NewDesc("pixd_transactions_total",
	"Payouts, payments that came in, refunds and credits since the process started, by what became of them; each is counted once for each outcome, when it is durable.", []string{"kind", "outcome"}, nil)

// Describe implements prometheus.Collector.
func (t Transactions) Describe(out chan<- *prometheus.Desc) { out <- transactionsTotal }

// Collect implements prometheus.Collector.
func (t Transactions) Collect(out chan<- prometheus.Metric) {
	t.Of.Each(func(m ledger.Move, n uint64) {
		kind, outcome := m.Names()
		out <- prometheus.MustNewConstMetric(transactionsTotal, prometheus.CounterValue, float64(n), kind, outcome)
	})
}
