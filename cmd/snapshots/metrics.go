package snapshots

import (
	"time"

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

// folderEvery is the time between two looks at the folder for the figure of its newest snapshot. To read it takes 2 ms for each
// snapshot in it, and who asks for figures every few seconds waits for nothing.
const folderEvery = time.Minute

// watchFolder looks at the folder until the engine ends.
func (s *Maker) watchFolder() {
	ticker := time.NewTicker(folderEvery)
	defer ticker.Stop()
	for {
		s.lookAtFolder()
		select {
		case <-s.Ending.Done():
			return
		case <-ticker.C:
		}
	}
}

// lookAtFolder notes when the newest snapshot was made.
func (s *Maker) lookAtFolder() {
	at, _, err := snapshot.Newest(s.FS, s.Dir)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest, s.looked = at, err == nil
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
	s.mu.Lock()
	at, looked := s.latest, s.looked
	s.mu.Unlock()
	if looked {
		seconds := 0.0
		if !at.IsZero() {
			seconds = float64(at.Unix())
		}
		out <- prometheus.MustNewConstMetric(snapshotNewest, prometheus.GaugeValue, seconds)
	}
	if n, err := restored.Epoch(s.Store); err == nil {
		out <- prometheus.MustNewConstMetric(journalEpoch, prometheus.GaugeValue, float64(n))
	}
}
