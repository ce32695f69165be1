package engine

import (
	"github.com/prometheus/client_golang/prometheus"

	"pixd/actors/fair"
)

// pools collects the figures of the pools whose places accounts share, by the pool's name.
type pools map[string]func() fair.Counts

var (
	poolInUse = prometheus.NewDesc("pixd_pool_in_use",
		"Places in use of a pool that all accounts share.", []string{"pool"}, nil)
	poolWaiting = prometheus.NewDesc("pixd_pool_waiting",
		"Requests that wait for a place of a pool.", []string{"pool"}, nil)
	poolRefused = prometheus.NewDesc("pixd_pool_refused_total",
		"Requests refused because too many of their account waited for a place of a pool.", []string{"pool"}, nil)
)

// Describe implements prometheus.Collector.
func (p pools) Describe(out chan<- *prometheus.Desc) {
	out <- poolInUse
	out <- poolWaiting
	out <- poolRefused
}

// Collect implements prometheus.Collector.
func (p pools) Collect(out chan<- prometheus.Metric) {
	for name, counts := range p {
		c := counts()
		out <- prometheus.MustNewConstMetric(poolInUse, prometheus.GaugeValue, float64(c.InUse), name)
		out <- prometheus.MustNewConstMetric(poolWaiting, prometheus.GaugeValue, float64(c.Waiting), name)
		out <- prometheus.MustNewConstMetric(poolRefused, prometheus.CounterValue, float64(c.Refused), name)
	}
}
