package engine

import (
	"github.com/prometheus/client_golang/prometheus"

	"pixd/actors/restored"
	"pixd/snapshot"
)

// snapshotMetrics collects the figures of snapshots, and the journal's epoch.
type snapshotMetrics struct{ of *snapshots }

var (
	snapshotsEnded = prometheus.NewDesc("pixd_snapshots_total",
		"Snapshots since the start that were finished, or failed.", []string{"result"}, nil)
	snapshotNewest = prometheus.NewDesc("pixd_snapshot_newest_seconds",
		"When the newest snapshot in the folder was made, in seconds since 1970; 0: there is none.", nil, nil)
	journalEpoch = prometheus.NewDesc("pixd_journal_epoch",
		"How often the journal was restored from a snapshot and taken into use.", nil, nil)
)

// Describe implements prometheus.Collector.
func (m snapshotMetrics) Describe(out chan<- *prometheus.Desc) {
	out <- snapshotsEnded
	out <- snapshotNewest
	out <- journalEpoch
}

// Collect implements prometheus.Collector.
func (m snapshotMetrics) Collect(out chan<- prometheus.Metric) {
	m.of.mu.Lock()
	made, unmade := m.of.made, m.of.unmade
	m.of.mu.Unlock()
	out <- prometheus.MustNewConstMetric(snapshotsEnded, prometheus.CounterValue, float64(made), "finished")
	out <- prometheus.MustNewConstMetric(snapshotsEnded, prometheus.CounterValue, float64(unmade), "failed")
	c := &m.of.e.Config
	if at, ok, err := snapshot.Newest(c.files(), c.snapshotDir()); err == nil {
		seconds := 0.0
		if ok {
			seconds = float64(at.Unix())
		}
		out <- prometheus.MustNewConstMetric(snapshotNewest, prometheus.GaugeValue, seconds)
	}
	if n, err := restored.Epoch(m.of.e.Store); err == nil {
		out <- prometheus.MustNewConstMetric(journalEpoch, prometheus.GaugeValue, float64(n))
	}
}
