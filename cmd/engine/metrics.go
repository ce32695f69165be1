package engine

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"

	"pixd/actors/account"
	"pixd/actors/alerts"
	"pixd/actors/catchup"
	"pixd/actors/due"
	"pixd/actors/ledger"
	"pixd/actors/webhook"
	"pixd/cmd/machine"
	"pixd/cmd/metrics"
	"pixd/cmd/overload"
	"pixd/cmd/snapshots"
)

// alertKinds are all kinds of alert.
var alertKinds = append(ledger.AlertKinds(), due.AlertUnreachable, account.AlertQuarantine, account.AlertDamage,
	webhook.AlertDead, webhook.AlertDelayed, overload.AlertLowDisk, AlertClock, snapshots.AlertFailed, account.AlertRefused, catchup.AlertAside, catchup.AlertLostKey, alertDiffers,
	AlertNodeGone, AlertNodeBehind, AlertTookOver, AlertLogMismatch, AlertLogFull)

// meters are the metrics of /metrics.
type meters struct {
	registry *prometheus.Registry
	alerts   *prometheus.CounterVec

	requests *metrics.Requests

	merchant, admin, scheme metrics.Traffic
}

func newMeters(log *slog.Logger) *meters {
	m := &meters{
		requests: metrics.NewRequests(log),
		alerts:   metrics.NewAlerts(),
		merchant: metrics.Traffic{Listener: "merchant"}, admin: metrics.Traffic{Listener: "operator"}, scheme: metrics.Traffic{Listener: "scheme", Rare: true},
	}
	for _, kind := range alertKinds {
		m.alerts.WithLabelValues(kind)
	}
	m.registry = metrics.OfProcess(&m.merchant, &m.admin, &m.scheme)
	m.registry.MustRegister(m.alerts, m.requests)
	return m
}

// handler serves the metrics.
func (m *meters) handler() fasthttp.RequestHandler { return metrics.Handler(m.registry) }

// newAlerts makes the alerts of the process.
func newAlerts(count *prometheus.CounterVec, log *slog.Logger) *alerts.Alerts {
	return alerts.New(alerts.Options{Count: count, Log: log, Wall: machine.Clocks().Wall, Secret: machine.Secret})
}
