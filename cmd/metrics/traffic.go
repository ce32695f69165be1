package metrics

import (
	"strconv"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"

	"pixd/httpapi"
)

// Handler serves the metrics of a registry.
func Handler(r *prometheus.Registry) fasthttp.RequestHandler {
	return fasthttpadaptor.NewFastHTTPHandler(promhttp.HandlerFor(r, promhttp.HandlerOpts{}))
}

// OfProcess returns a registry with the metrics of the process and of some listeners.
func OfProcess(l ...*Traffic) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), listeners(l))
	return r
}

// Traffic counts a listener's requests by their outcome.
type Traffic struct {
	Listener string
	Rare     bool // shown only once the listener is open
	InHand   atomic.Int64
	answers  [600]atomic.Uint64 // answers by status; 0: the connection was cut without an answer
	Open     func() int64       // number of open connections; nil until the listener is open
}

// Count wraps a handler and counts its requests and their answers.
func (t *Traffic) Count(h fasthttp.RequestHandler) fasthttp.RequestHandler {
	over := func() { t.InHand.Add(-1) }
	return func(ctx *fasthttp.RequestCtx) {
		t.InHand.Add(1)
		defer httpapi.AfterWork(ctx, over)
		h(ctx)
		if ctx.Hijacked() {
			t.Answered(0)
		} else {
			t.Answered(ctx.Response.StatusCode())
		}
	}
}

// Watch counts a server's requests, and shows the number of its open connections.
func (t *Traffic) Watch(s *fasthttp.Server, l *httpapi.Connections) {
	s.Handler = t.Count(s.Handler)
	unreadable := s.ErrorHandler
	s.ErrorHandler = func(ctx *fasthttp.RequestCtx, err error) {
		unreadable(ctx, err)
		t.Answered(ctx.Response.StatusCode())
	}
	t.Open = l.Open
}

// Answered counts an answer; status 0: the connection was cut without one.
func (t *Traffic) Answered(status int) {
	if status >= 0 && status < len(t.answers) {
		t.answers[status].Add(1)
	}
}

// listeners collects the metrics of several listeners.
type listeners []*Traffic

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
		if t.Rare && t.Open == nil {
			continue
		}
		for status := range t.answers {
			if n := t.answers[status].Load(); n > 0 {
				out <- prometheus.MustNewConstMetric(requestsTotal, prometheus.CounterValue, float64(n), t.Listener, strconv.Itoa(status))
			}
		}
		out <- prometheus.MustNewConstMetric(requestsInHand, prometheus.GaugeValue, float64(t.InHand.Load()), t.Listener)
		if t.Open != nil {
			out <- prometheus.MustNewConstMetric(openConnections, prometheus.GaugeValue, float64(t.Open()), t.Listener)
		}
	}
}
