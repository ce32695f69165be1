package metrics

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"

	"pixd/httpapi"
)

// answerBuckets are bounds of the time that an answer takes, in seconds: payouts may take 10 s and more.
var answerBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// Requests counts a process's requests by listener, method, route and class of status, and
// measures how long they take.
type Requests struct {
	times *prometheus.HistogramVec
	log   *slog.Logger
}

// NewRequests returns figures of nothing yet. At level debug, log gets a line for each request.
func NewRequests(log *slog.Logger) *Requests {
	return &Requests{log: log, times: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "pixd_http_request_duration_seconds",
		Help:    "How long requests took from their last byte to the last of the answer that was written, by route and class of the status; none: no such route, or cut without an answer.",
		Buckets: answerBuckets,
	}, []string{"listener", "method", "route", "class"})}
}

// Describe implements prometheus.Collector.
func (r *Requests) Describe(out chan<- *prometheus.Desc) { r.times.Describe(out) }

// Collect implements prometheus.Collector.
func (r *Requests) Collect(out chan<- prometheus.Metric) { r.times.Collect(out) }

// Timed wraps the handler of a listener's requests, forwarded ones too.
func (r *Requests) Timed(listener string, h fasthttp.RequestHandler) fasthttp.RequestHandler {
	times := r.times.MustCurryWith(prometheus.Labels{"listener": listener})
	return func(ctx *fasthttp.RequestCtx) {
		began := time.Now()
		defer httpapi.AfterWork(ctx, func() {
			took := time.Since(began)
			method, route := routeOf(ctx)
			times.WithLabelValues(method, route, classOf(ctx)).Observe(took.Seconds())
			r.tell(ctx, listener, took)
		})
		h(ctx)
	}
}

const none = "none"

// routeOf returns a request's method and route, of which there are few, whatever clients send.
func routeOf(ctx *fasthttp.RequestCtx) (method, route string) {
	if route = httpapi.RouteOf(ctx); route == "" {
		return none, none
	}
	for _, m := range []string{fasthttp.MethodGet, fasthttp.MethodPost, fasthttp.MethodPut, fasthttp.MethodPatch, fasthttp.MethodDelete} {
		if string(ctx.Method()) == m {
			return m, route
		}
	}
	return none, route
}

var classes = [...]string{none, "1xx", "2xx", "3xx", "4xx", "5xx"}

// classOf returns the class of the answer's status.
func classOf(ctx *fasthttp.RequestCtx) string {
	class := ctx.Response.StatusCode() / 100
	if ctx.Hijacked() || class >= len(classes) {
		return none
	}
	return classes[class]
}

// tell logs a request: neither query nor headers nor body, which have secrets and personal data.
func (r *Requests) tell(ctx *fasthttp.RequestCtx, listener string, took time.Duration) {
	if r.log.Enabled(ctx, slog.LevelDebug) {
		method, route := routeOf(ctx)
		r.log.Debug("http: request", "request_id", httpapi.RequestID(ctx), "listener", listener, "method", method, "route", route,
			"status", ctx.Response.StatusCode(), "seconds", took.Seconds())
	}
}
