package snapshots

import (
	"github.com/prometheus/client_golang/prometheus"

	"pixd/actors/restored"
	"pixd/snapshot"
)

var (
	snapshotsEnded = prometheus.NewDesc("pixd_snapshots_total",
		"Snapshots since the start that were finished, or failed.", []string{"result"}, nil)
	snapshotNewest = prometheus.NewDesc("pixd_snapshot_newest_seconds",
		"When the newest snapshot in the folder was made, in seconds since 1970; 0: there is none.", nil, nil)
	journalEpoch = prometheus.NewDesc("pixd_journal_epoch",
		"How often the journal was restored from a snapshot and taken into use.", nil, nil)
)

// Counts returns how many snapshots were finished since the start, and how many failed.
func (s *Maker) Counts() (made, failed uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.made, s.unmade
}

// Describe implements prometheus.Collector: the figures of snapshots, and the journal's epoch.
func (s *Maker) Describe(out chan<- *prometheus.Desc) {
	out <- snapshotsEnded
	out <- snapshotNewest
	out <- journalEpoch
}

// Collect implements prometheus.Collector.
func (s *Maker) Collect(out chan<- prometheus.Metric) {
	made, unmade := s.Counts()
	out <- prometheus.MustNewConstMetric(snapshotsEnded, prometheus.CounterValue, float64(made), "finished")
	out <- prometheus.MustNewConstMetric(snapshotsEnded, prometheus.CounterValue, float64(unmade), "failed")
	if at, ok, err := snapshot.Newest(s.FS, s.Dir); err == nil {
		seconds := 0.0
		if ok {
			seconds = float64(at.Unix())
		}
		out <- prometheus.MustNewConstMetric(snapshotNewest, prometheus.GaugeValue, seconds)
	}
	if n, err := restored.Epoch(s.Store); err == nil {
		out <- prometheus.MustNewConstMetric(journalEpoch, prometheus.GaugeValue, float64(n))
	}
}
