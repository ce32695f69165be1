package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"pixd/actors/fair"
)

// Pools collects the figures of bounds that accounts share, by the bound's name: docs/bounds.md
// says what is counted for each.
type Pools map[string]func() fair.Counts

var (
	poolInUse = prometheus.NewDesc("pixd_pool_in_use",
		"What is in use of a bound that all accounts share.", []string{"pool"}, nil)
	poolWaiting = prometheus.NewDesc("pixd_pool_waiting",
		"What waits for a place of a pool.", []string{"pool"}, nil)
	poolRefused = prometheus.NewDesc("pixd_pool_refused_total",
		"What was refused because a bound was reached, or because a wait for a place took too long.", []string{"pool"}, nil)
)

// Describe implements prometheus.Collector.
func (p Pools) Describe(out chan<- *prometheus.Desc) {
	out <- poolInUse
	out <- poolWaiting
	out <- poolRefused
}

// Collect implements prometheus.Collector.
func (p Pools) Collect(out chan<- prometheus.Metric) {
	for name, counts := range p {
		c := counts()
		out <- prometheus.MustNewConstMetric(poolInUse, prometheus.GaugeValue, float64(c.InUse), name)
		out <- prometheus.MustNewConstMetric(poolWaiting, prometheus.GaugeValue, float64(c.Waiting), name)
		out <- prometheus.MustNewConstMetric(poolRefused, prometheus.CounterValue, float64(c.Refused), name)
	}
}
