package metrics

import "github.com/prometheus/client_golang/prometheus"

// NewAlerts returns the counter of alerts by kind.
func NewAlerts() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pixd_alerts_total", Help: "Alerts by kind; each is also a log line with the field alert.",
	}, []string{"kind"})
}
