package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"pixd/actors/fair"
	"pixd/actors/transfer"
)

// Lanes collects the figures of the lanes to a scheme in another process.
type Lanes struct{ Of *transfer.Lanes }

var (
	schemeRepeats = prometheus.NewDesc("pixd_scheme_repeats_waiting",
		"Payouts and refunds in doubt that wait until they may ask the scheme again.", nil, nil)
	schemeDown = prometheus.NewDesc("pixd_scheme_down",
		"1 since a call for a payout or refund brought no answer, until one is answered. Those in doubt ask again, one at a time; where there are none, nothing is called, and this stays 1 until the next payout or refund.", nil, nil)
)

// Describe implements prometheus.Collector.
func (l Lanes) Describe(out chan<- *prometheus.Desc) {
	out <- schemeRepeats
	out <- schemeDown
}

// Collect implements prometheus.Collector.
func (l Lanes) Collect(out chan<- prometheus.Metric) {
	c := l.Of.Counts()
	down := 0.0
	if c.Down {
		down = 1
	}
	out <- prometheus.MustNewConstMetric(schemeRepeats, prometheus.GaugeValue, float64(c.Repeats))
	out <- prometheus.MustNewConstMetric(schemeDown, prometheus.GaugeValue, down)
}

// Pools returns the figures of the lanes' places, by the lane's name.
func (l Lanes) Pools() Pools {
	return Pools{
		"payments":  func() fair.Counts { return l.Of.Counts().Payments },
		"questions": func() fair.Counts { return l.Of.Counts().Questions },
	}
}
