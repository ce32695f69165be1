package control

import (
	"runtime"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"
)

// Probes adds the endpoints that need no token. They say whether the process is alive,
// whether it accepts requests, and which version it is.
func Probes(r *router.Router, b Build, ready func() bool) {
	r.GET("/healthz", func(ctx *fasthttp.RequestCtx) {
		Answer(ctx, fasthttp.StatusOK, map[string]string{"status": "ok"})
	})
	r.GET("/readyz", func(ctx *fasthttp.RequestCtx) {
		if !ready() {
			NotReady(ctx)
			return
		}
		Answer(ctx, fasthttp.StatusOK, map[string]string{"status": "ready"})
	})
	r.GET("/version", func(ctx *fasthttp.RequestCtx) {
		Answer(ctx, fasthttp.StatusOK, map[string]string{"version": b.Version, "commit": b.Commit, "go": runtime.Version()})
	})
}
