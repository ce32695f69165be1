package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Journal has the figures of a journal's writes: AroundSync and AroundCommit are for wal.Options.
type Journal struct{ Syncs, Commits, Batches prometheus.Histogram }

// diskBuckets are bounds of the time that a disk takes, in seconds.
var diskBuckets = []float64{
	50e-6, 100e-6, 150e-6, 200e-6, 300e-6, 400e-6, 600e-6, 800e-6,
	1e-3, 1.5e-3, 2e-3, 3e-3, 4e-3, 6e-3, 8e-3, 10e-3, 15e-3, 20e-3, 30e-3, 50e-3,
	100e-3, 200e-3, 500e-3, 1, 2, 5, 10,
}

// NewJournal returns figures of nothing yet.
func NewJournal() *Journal {
	return &Journal{
		Syncs: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "pixd_journal_sync_seconds", Help: "How long syncs of the journal's log took. Each answer to a write waits for one or more.",
			Buckets: diskBuckets,
		}),
		Commits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "pixd_journal_commit_seconds", Help: "How long batches took from the start of their write until they were durable: their sync, and in a cluster the other nodes.",
			Buckets: diskBuckets,
		}),
		Batches: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "pixd_journal_batch_records", Help: "Records of the journal's batches. Under load more records share a sync.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 9), // to 256, the most that a batch has
		}),
	}
}

// AroundSync measures a sync.
func (j *Journal) AroundSync(sync func()) {
	began := time.Now()
	sync()
	j.Syncs.Observe(time.Since(began).Seconds())
}

// AroundCommit measures a batch of so many records.
func (j *Journal) AroundCommit(records int, commit func()) {
	began := time.Now()
	commit()
	j.Commits.Observe(time.Since(began).Seconds())
	j.Batches.Observe(float64(records))
}

// Describe implements prometheus.Collector.
func (j *Journal) Describe(out chan<- *prometheus.Desc) {
	j.Syncs.Describe(out)
	j.Commits.Describe(out)
	j.Batches.Describe(out)
}

// Collect implements prometheus.Collector.
func (j *Journal) Collect(out chan<- prometheus.Metric) {
	j.Syncs.Collect(out)
	j.Commits.Collect(out)
	j.Batches.Collect(out)
}
