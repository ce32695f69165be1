package metrics

import (
	"math"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"pixd/actors/pix"
	"pixd/httpapi/console"
)

// TestFigures checks the console's figures against metrics that are set: rates and quantiles since the reading before,
// and sums of the series that count.
func TestFigures(t *testing.T) {
	requests := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "pixd_http_request_duration_seconds", Buckets: []float64{.001, .01, .1}}, []string{"listener", "route"})
	commits := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "pixd_journal_commit_seconds", Buckets: []float64{.001, .01}})
	moved := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pixd_transactions_total"}, []string{"kind", "outcome"})
	gauges := map[string]*prometheus.GaugeVec{}
	of := []prometheus.Collector{requests, commits, moved}
	for name, label := range map[string]string{
		"pixd_transfers_waiting": "for", "pixd_webhook_subscriptions": "state", "pixd_cluster_role": "role", "pixd_alerts_total": "kind", "pixd_med_cases_waiting": "none",
		"pixd_webhook_oldest_pending_seconds": "none", "pixd_disk_free_bytes": "none", "pixd_snapshot_newest_seconds": "none", "pixd_cluster_lag_seconds": "none",
	} {
		gauges[name] = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name}, []string{label})
		of = append(of, gauges[name])
	}
	costly := gauges["pixd_transfers_waiting"]
	of = slices.DeleteFunc(of, func(c prometheus.Collector) bool { return c == prometheus.Collector(costly) })
	set := func(name, value string, n float64) { gauges[name].WithLabelValues(value).Set(n) }
	add := func(kind, outcome string, n float64) { moved.WithLabelValues(kind, outcome).Add(n) }
	add("payout", "asked", 1000)
	for range 100 {
		requests.WithLabelValues("merchant", "a").Observe(5)
	}
	f := NewFigures([]prometheus.Collector{costly}, of...)
	var reader Since
	first, err := f.Read(1_000_000, &reader)
	if err != nil || !math.IsNaN(first.Payouts) || first.P50 != 100 || !math.IsNaN(first.Commit) || !math.IsNaN(first.Snapshot) || first.Role != "" {
		t.Errorf("%+v %v", first, err)
	}
	add("payout", "asked", 30)
	add("payout", "settled", 29)
	add("payment", "settled", 20)
	add("payment", "other", 7)
	add("refund", "asked", 10)
	for range 98 {
		requests.WithLabelValues("merchant", "a").Observe(.0005)
	}
	for range 2 {
		requests.WithLabelValues("merchant", "b").Observe(.05)
	}
	requests.WithLabelValues("operator", "a").Observe(5)
	commits.Observe(.002)
	for i, name := range []string{"sending", "settlement", "doubt", "capacity", "approval"} {
		set("pixd_transfers_waiting", name, float64(i+1))
	}
	set("pixd_webhook_subscriptions", "failing", 6)
	set("pixd_webhook_subscriptions", "due", 60)
	set("pixd_cluster_role", "standby", 0)
	set("pixd_cluster_role", "owner", 1)
	set("pixd_alerts_total", "clock", 3)
	set("pixd_alerts_total", "damage", 4)
	for i, name := range []string{"pixd_med_cases_waiting", "pixd_webhook_oldest_pending_seconds", "pixd_disk_free_bytes", "pixd_cluster_lag_seconds"} {
		set(name, "", float64(8+i))
	}
	set("pixd_snapshot_newest_seconds", "", 940)
	got, err := f.Read(1_010_000, &reader)
	want := console.Figures{
		At: 1_010_000, Payments: 2, Payouts: 3, Refunds: 1, P50: 1000 * .001 * 50 / 98, P99: 1000 * (.01 + .09*.5), Commit: 1000 * (.001 + .009*.99),
		Sending: 1, Settling: 2, Doubt: 3, Queued: 4, Approval: 5, Cases: 8, Backlog: 9, Failing: 6, Alerts: 7, DiskFree: 10, Snapshot: 70, Role: "owner", Lag: 11,
	}
	for _, n := range []*float64{&got.P50, &want.P50, &got.P99, &want.P99, &got.Commit, &want.Commit} {
		*n = math.Round(*n * 1e6)
	}
	if err != nil || got != want {
		t.Errorf("%v\n got %+v\nwant %+v", err, got, want)
	}
	set("pixd_transfers_waiting", "doubt", 33)
	set("pixd_webhook_subscriptions", "failing", 66)
	for at, doubt := range []float64{3, 33} {
		if got, err = f.Read(1_010_000+1+pix.Millis(at)*countsEvery, &reader); err != nil || got.Doubt != doubt || got.Failing != 66 {
			t.Errorf("costly figures: %v %v, others: %v", got.Doubt, err, got.Failing)
		}
	}
}
