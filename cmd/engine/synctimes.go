package engine

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// newSyncTimes returns the metric of how long the journal's syncs take. Its bounds are close to
// each other, because a load test reads quantiles off them.
func newSyncTimes() prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "pixd_journal_sync_seconds", Help: "How long syncs of the journal's log took. Each answer to a write waits for one or more.",
		Buckets: []float64{
			50e-6, 100e-6, 150e-6, 200e-6, 300e-6, 400e-6, 600e-6, 800e-6,
			1e-3, 1.5e-3, 2e-3, 3e-3, 4e-3, 6e-3, 8e-3, 10e-3, 15e-3, 20e-3, 30e-3, 50e-3,
			100e-3, 200e-3, 500e-3, 1, 2, 5, 10,
		},
	})
}

// timed observes how long each sync takes.
func timed(times prometheus.Observer) func(sync func()) {
	return func(sync func()) {
		began := time.Now()
		sync()
		times.Observe(time.Since(began).Seconds())
	}
}
