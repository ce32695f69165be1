package engine

import (
	"strconv"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"

	"pixd/actors/account"
	"pixd/actors/catchup"
	"pixd/actors/due"
	"pixd/actors/ledger"
	"pixd/actors/webhook"
	"pixd/cmd/overload"
	"pixd/cmd/snapshots"
	"pixd/httpapi"
)

// alertKinds are all kinds of alert.
var alertKinds = append(ledger.AlertKinds(), due.AlertUnreachable, account.AlertQuarantine, account.AlertDamage,
	webhook.AlertDead, webhook.AlertDelayed, overload.AlertLowDisk, alertClock, snapshots.AlertFailed, account.AlertRefused, catchup.AlertAside, catchup.AlertLostKey, alertDiffers,
	AlertNodeGone, AlertNodeBehind, AlertTookOver, AlertLogMismatch, AlertLogFull)

// meters are the metrics of /metrics.
type meters struct {
	registry *prometheus.Registry
	alerts   *prometheus.CounterVec

	merchant, admin, scheme traffic
}

func newMeters() *meters {
	m := &meters{
		alerts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pixd_alerts_total", Help: "Alerts by kind; each is also a log line with the field alert.",
		}, []string{"kind"}),
		merchant: traffic{listener: "merchant"}, admin: traffic{listener: "operator"}, scheme: traffic{listener: "scheme", rare: true},
	}
	for _, kind := range alertKinds {
		m.alerts.WithLabelValues(kind)
	}
	m.registry = ofProcess(&m.merchant, &m.admin, &m.scheme)
	m.registry.MustRegister(m.alerts)
	return m
}

// handler serves the metrics.
func (m *meters) handler() fasthttp.RequestHandler { return showing(m.registry) }

func showing(r *prometheus.Registry) fasthttp.RequestHandler {
	return fasthttpadaptor.NewFastHTTPHandler(promhttp.HandlerFor(r, promhttp.HandlerOpts{}))
}

// ofProcess returns a registry with the metrics of the process and of some listeners.
func ofProcess(l ...*traffic) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), listeners(l))
	return r
}

// traffic counts a listener's requests by their outcome.
type traffic struct {
	listener string
	rare     bool // shown in /metrics only if the listener is open
	inHand   atomic.Int64
	answers  [600]atomic.Uint64 // answers by status; 0: the connection was cut without an answer
	open     func() int64       // number of open connections; nil until the listener is open
}

// count wraps a handler and counts its requests and their answers.
func (t *traffic) count(h fasthttp.RequestHandler) fasthttp.RequestHandler {
	over := func() { t.inHand.Add(-1) }
	return func(ctx *fasthttp.RequestCtx) {
		t.inHand.Add(1)
		defer httpapi.AfterWork(ctx, over)
		h(ctx)
		if ctx.Hijacked() {
			t.answered(0)
		} else {
			t.answered(ctx.Response.StatusCode())
		}
	}
}

// watch counts a server's requests, and shows the number of its open connections.
func (t *traffic) watch(s *fasthttp.Server, l *httpapi.Connections) {
	s.Handler = t.count(s.Handler)
	unreadable := s.ErrorHandler
	s.ErrorHandler = func(ctx *fasthttp.RequestCtx, err error) {
		unreadable(ctx, err)
		t.answered(ctx.Response.StatusCode())
	}
	t.open = l.Open
}

func (t *traffic) answered(status int) {
	if status >= 0 && status < len(t.answers) {
		t.answers[status].Add(1)
	}
}

// listeners collects the metrics of several listeners.
type listeners []*traffic

var (
	requestsTotal = prometheus.NewDesc("pixd_http_requests_total",
		"Requests answered and connections turned away, by listener and status; status 0: cut without an answer.", []string{"listener", "status"}, nil)
	requestsInHand = prometheus.NewDesc("pixd_http_requests_in_hand",
		"Requests that are being worked on.", []string{"listener"}, nil)
	openConnections = prometheus.NewDesc("pixd_http_open_connections",
		"Connections that are open.", []string{"listener"}, nil)
)

// Describe implements prometheus.Collector.
func (l listeners) Describe(out chan<- *prometheus.Desc) {
	out <- requestsTotal
	out <- requestsInHand
	out <- openConnections
}

// Collect implements prometheus.Collector.
func (l listeners) Collect(out chan<- prometheus.Metric) {
	for _, t := range l {
		if t.rare && t.open == nil {
			continue
		}
		for status := range t.answers {
			if n := t.answers[status].Load(); n > 0 {
				out <- prometheus.MustNewConstMetric(requestsTotal, prometheus.CounterValue, float64(n), t.listener, strconv.Itoa(status))
			}
		}
		out <- prometheus.MustNewConstMetric(requestsInHand, prometheus.GaugeValue, float64(t.inHand.Load()), t.listener)
		if t.open != nil {
			out <- prometheus.MustNewConstMetric(openConnections, prometheus.GaugeValue, float64(t.open()), t.listener)
		}
	}
}
