package metrics

import (
	"maps"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"pixd/actors/pix"
	"pixd/httpapi/console"
)

// Figures reads the figures of the console's overview off some metrics.
type Figures struct {
	often, rarely *prometheus.Registry
	counted       pix.Millis // when rarely was gathered
	counts        families   // what it said
}

// countsEvery is how old, in milliseconds, figures may be that are costly to gather.
const countsEvery = 10_000

// NewFigures reads figures off these collectors, and off others that are costly to gather.
func NewFigures(costly []prometheus.Collector, of ...prometheus.Collector) *Figures {
	f := &Figures{often: prometheus.NewRegistry(), rarely: prometheus.NewRegistry()}
	f.often.MustRegister(of...)
	f.rarely.MustRegister(costly...)
	return f
}

// gather adds the metrics of a registry by their names.
func (f families) gather(of *prometheus.Registry) error {
	all, err := of.Gather()
	for _, family := range all {
		f[family.GetName()] = family.GetMetric()
	}
	return err
}

// sums are the figures that only grow, at one instant.
type sums struct {
	at      pix.Millis
	moved   map[string]float64 // transactions by kind
	answers times              // of merchants' requests
	commits times
}

// times is a histogram: how many took no longer than each bound, in seconds.
type times struct {
	bounds []float64
	upTo   []uint64
	count  uint64
}

// Since is a reader of figures: those for a second are since the last time.
type Since struct{ before sums }

// Read returns the figures of this moment for a reader.
func (f *Figures) Read(now pix.Millis, reader *Since) (console.Figures, error) {
	if f.counts == nil || now-f.counted >= countsEvery {
		counts := families{}
		if err := counts.gather(f.rarely); err != nil {
			return console.Figures{}, err
		}
		f.counted, f.counts = now, counts
	}
	m := maps.Clone(f.counts)
	if err := m.gather(f.often); err != nil {
		return console.Figures{}, err
	}
	moved := m.by("pixd_transactions_total", "kind", "outcome", "asked")
	moved["payment"] = m.by("pixd_transactions_total", "kind", "outcome", "settled")["payment"]
	s := sums{now, moved, m.times("pixd_http_request_duration_seconds", "merchant"), m.times("pixd_journal_commit_seconds", "")}
	was := reader.before
	reader.before = s
	waits := m.by("pixd_transfers_waiting", "for", "", "")
	shown := console.Figures{
		At: now, Payments: s.rate(was, "payment"), Payouts: s.rate(was, "payout"), Refunds: s.rate(was, "refund"),
		P50: s.answers.since(was.answers).quantile(.5), P99: s.answers.since(was.answers).quantile(.99), Commit: s.commits.since(was.commits).quantile(.99),
		Alerts:  m.sum("pixd_alerts_total", "", ""),
		Sending: waits["sending"], Settling: waits["settlement"], Doubt: waits["doubt"], Queued: waits["capacity"], Approval: waits["approval"],
		Cases: m.sum("pixd_med_cases_waiting", "", ""), Backlog: m.sum("pixd_webhook_oldest_pending_seconds", "", ""),
		Failing: m.sum("pixd_webhook_subscriptions", "state", "failing"), DiskFree: m.sum("pixd_disk_free_bytes", "", ""),
		Snapshot: math.NaN(), Lag: m.sum("pixd_cluster_lag_seconds", "", ""),
	}
	if made := m.sum("pixd_snapshot_newest_seconds", "", ""); made > 0 {
		shown.Snapshot = max(0, float64(now)/1000-made)
	}
	for role, is := range m.by("pixd_cluster_role", "role", "", "") {
		if is > 0 {
			shown.Role = role
		}
	}
	return shown, nil
}

// rate is how many there were of a kind in a second since earlier sums; NaN where there are none.
func (s *sums) rate(was sums, kind string) float64 {
	took := (time.Duration(s.at-was.at) * time.Millisecond).Seconds()
	if was.at == 0 || took <= 0 {
		return math.NaN()
	}
	return (s.moved[kind] - was.moved[kind]) / took
}

// since returns the times that were counted after earlier ones.
func (t times) since(was times) times {
	d := times{bounds: t.bounds, count: t.count - was.count, upTo: append([]uint64(nil), t.upTo...)}
	for i := range min(len(was.upTo), len(d.upTo)) {
		d.upTo[i] -= was.upTo[i]
	}
	return d
}

// quantile is the time, in milliseconds, that the share q took no longer than: between two bounds as if times were
// spread evenly there. NaN: there were none.
func (t times) quantile(q float64) float64 {
	if t.count == 0 {
		return math.NaN()
	}
	want, low, below := q*float64(t.count), 0.0, 0.0
	for i, bound := range t.bounds {
		if n := float64(t.upTo[i]); n >= want && n > below {
			return 1000 * (low + (bound-low)*(want-below)/(n-below))
		}
		low, below = bound, float64(t.upTo[i])
	}
	return 1000 * low // longer than the last bound
}

// families are metrics by name.
type families map[string][]*dto.Metric

// sum adds a metric up, or its series with a label's value.
func (f families) sum(name, label, value string) (n float64) {
	for _, m := range f[name] {
		if label == "" || labelOf(m, label) == value {
			n += valueOf(m)
		}
	}
	return n
}

// by adds a metric up for each value of a label, of the series that have only as the value of another label; empty
// names no other.
func (f families) by(name, label, other, only string) map[string]float64 {
	n := map[string]float64{}
	for _, m := range f[name] {
		if other == "" || labelOf(m, other) == only {
			n[labelOf(m, label)] += valueOf(m)
		}
	}
	return n
}

// times adds histograms with the same bounds up, of one listener or of all.
func (f families) times(name, listener string) (t times) {
	for _, m := range f[name] {
		if listener != "" && labelOf(m, "listener") != listener {
			continue
		}
		h := m.GetHistogram()
		t.count += h.GetSampleCount()
		for i, b := range h.GetBucket() {
			if i == len(t.bounds) {
				t.bounds, t.upTo = append(t.bounds, b.GetUpperBound()), append(t.upTo, 0)
			}
			t.upTo[i] += b.GetCumulativeCount()
		}
	}
	return t
}

func labelOf(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

func valueOf(m *dto.Metric) float64 {
	return m.GetCounter().GetValue() + m.GetGauge().GetValue()
}
