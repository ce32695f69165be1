package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"pixd/actors/webhook"
)

// Webhooks collects the figures of the merchants' webhooks. No label names a webhook,
// because there may be any number of them.
type Webhooks struct{ Of *webhook.Dispatcher }

var (
	webhookAttempts = prometheus.NewDesc("pixd_webhook_attempts_total",
		"Attempts to deliver a webhook, by result: the class of the HTTP status, or error where no answer came.", []string{"result"}, nil)
	webhookEnded = prometheus.NewDesc("pixd_webhook_deliveries_ended_total",
		"Deliveries that were acknowledged, or are dead.", []string{"status"}, nil)
	webhookRunning = prometheus.NewDesc("pixd_webhook_attempts_running",
		"Attempts that run now, by pool: of receivers that answer well, of those that fail, and slow ones.", []string{"pool"}, nil)
	webhookPlaces = prometheus.NewDesc("pixd_webhook_attempts_limit",
		"Most attempts of a pool that may run at once; one account may have two thirds of them at most.", []string{"pool"}, nil)
	webhookInLine = prometheus.NewDesc("pixd_webhook_subscriptions_in_line",
		"Subscriptions that wait for a place in a pool.", []string{"pool"}, nil)
	webhookAside = prometheus.NewDesc("pixd_webhook_account_limit_total",
		"How often a subscription had to wait because its account had all the places of a pool that one account may have.", []string{"pool"}, nil)
	webhookSubscriptions = prometheus.NewDesc("pixd_webhook_subscriptions",
		"Subscriptions by state: due have a delivery that is due or runs, waiting one that is due later, and of failing ones the last attempt failed.", []string{"state"}, nil)
	webhookOldest = prometheus.NewDesc("pixd_webhook_oldest_pending_seconds",
		"Age of the oldest event of which a delivery waits for an attempt; 0: none waits.", nil, nil)
)

// Describe implements prometheus.Collector.
func (w Webhooks) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		webhookAttempts, webhookEnded, webhookRunning, webhookPlaces, webhookInLine, webhookAside, webhookSubscriptions, webhookOldest,
	} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (w Webhooks) Collect(out chan<- prometheus.Metric) {
	m := w.Of.Measure()
	for result, n := range m.Attempts {
		out <- prometheus.MustNewConstMetric(webhookAttempts, prometheus.CounterValue, float64(n), result)
	}
	out <- prometheus.MustNewConstMetric(webhookEnded, prometheus.CounterValue, float64(m.Delivered), "delivered")
	out <- prometheus.MustNewConstMetric(webhookEnded, prometheus.CounterValue, float64(m.Dead), "dead")
	gauge := func(d *prometheus.Desc, n float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, n, labels...)
	}
	for name, p := range m.Pools {
		gauge(webhookRunning, float64(p.Running), name)
		gauge(webhookPlaces, float64(p.Places), name)
		gauge(webhookInLine, float64(p.Waiting), name)
		out <- prometheus.MustNewConstMetric(webhookAside, prometheus.CounterValue, float64(p.Aside), name)
	}
	gauge(webhookSubscriptions, float64(m.Due), "due")
	gauge(webhookSubscriptions, float64(m.Waiting), "waiting")
	gauge(webhookSubscriptions, float64(m.Failing), "failing")
	if oldest, err := w.Of.Oldest(); err == nil {
		gauge(webhookOldest, float64(oldest)/1000)
	}
}
