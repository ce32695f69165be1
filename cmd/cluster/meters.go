package cluster

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"

	"pixd/cmd/metrics"
	"pixd/wal"
)

// meters are the metrics about the node.
type meters struct {
	takeovers prometheus.Counter
	forwarded prometheus.Counter
	appended  prometheus.Histogram
	alerts    *prometheus.CounterVec // of a node without an engine
	*metrics.Journal
	look func() (role string, lag time.Duration, bytes int64) // set before anything is collected
}

var (
	roleDesc  = prometheus.NewDesc("pixd_cluster_role", "1 for the role that this node has: owner, standby or joining.", []string{"role"}, nil)
	lagDesc   = prometheus.NewDesc("pixd_cluster_lag_seconds", "For how long this node has lacked batches that the owner has.", nil, nil)
	bytesDesc = prometheus.NewDesc("pixd_cluster_log_bytes", "Size of the log's database in bytes; 0 where it does not answer.", nil, nil)
)

func newMeters() *meters {
	return &meters{
		Journal:   metrics.NewJournal(),
		alerts:    metrics.NewAlerts(),
		takeovers: prometheus.NewCounter(prometheus.CounterOpts{Name: "pixd_cluster_takeovers_total", Help: "How often this process has become the owner."}),
		forwarded: prometheus.NewCounter(prometheus.CounterOpts{Name: "pixd_cluster_forwarded_total", Help: "Requests that this node has forwarded to the owner."}),
		appended: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "pixd_cluster_append_seconds", Help: "How long it took until a majority of the nodes had a batch.",
			Buckets: []float64{.0005, .001, .002, .004, .008, .016, .032, .064, .128, .256, .512, 1, 2, 4},
		}),
	}
}

// timed is a log whose appends are measured.
type timed struct {
	wal.Log
	m *meters
}

// Append implements wal.Log.
func (t timed) Append(ctx context.Context, log uint16, after uint64, batch []byte) error {
	began := time.Now()
	err := t.Log.Append(ctx, log, after, batch)
	if err == nil {
		t.m.appended.Observe(time.Since(began).Seconds())
	}
	return err
}

// Describe implements prometheus.Collector.
func (m *meters) Describe(out chan<- *prometheus.Desc) {
	out <- roleDesc
	out <- lagDesc
	out <- bytesDesc
	for _, c := range []prometheus.Collector{m.takeovers, m.forwarded, m.appended, m.Journal} {
		c.Describe(out)
	}
}

// Collect implements prometheus.Collector.
func (m *meters) Collect(out chan<- prometheus.Metric) {
	role, lag, bytes := m.look()
	for _, r := range []string{roleOwner, roleStandby, roleJoining} {
		is := 0.0
		if r == role {
			is = 1
		}
		out <- prometheus.MustNewConstMetric(roleDesc, prometheus.GaugeValue, is, r)
	}
	out <- prometheus.MustNewConstMetric(lagDesc, prometheus.GaugeValue, lag.Seconds())
	out <- prometheus.MustNewConstMetric(bytesDesc, prometheus.GaugeValue, float64(bytes))
	for _, c := range []prometheus.Collector{m.takeovers, m.forwarded, m.appended, m.Journal} {
		c.Collect(out)
	}
}

// handler serves the metrics of a node that is not the owner.
func (s *Served) metrics() fasthttp.RequestHandler {
	r := metrics.OfProcess()
	r.MustRegister(s.meters, s.meters.alerts, ofNode{s})
	return metrics.Handler(r)
}

// ofNode collects what an owner's engine shows of a node's own folders.
type ofNode struct{ *Served }

// Describe implements prometheus.Collector. It names nothing, because the node may not have begun.
func (ofNode) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (o ofNode) Collect(out chan<- prometheus.Metric) {
	if n := o.node.Load(); n != nil {
		n.maker.Collect(out)
		metrics.CollectFree(out, n.store.Free)
	}
}
