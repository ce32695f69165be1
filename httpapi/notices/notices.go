// Package notices takes a scheme's notices from another process.
package notices

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pixd/actors/scheme"
	"pixd/actors/scheme/provider"
	"pixd/httpapi/control"
	"pixd/httpapi/signed"
)

// Options are what taking notices is made of.
type Options struct {
	Guard *provider.Guard
	Feed  scheme.Feed
	Wait  time.Duration // for a notice's effect to be durable; 0: 10 s
	Log   *slog.Logger
}

// openAtOnce bounds the notices that are taken and not durable yet.
const openAtOnce = 4096

type service struct {
	Options
	open    atomic.Int64
	strange atomic.Int64 // notices of kinds that are not taken
}

// tellEvery is how many notices of kinds not taken come to one line in the log:
// each of them comes again for ever.
const tellEvery = 100

// refused logs a notice that cannot be taken.
func (s *service) refused(err error) {
	if errors.Is(err, provider.ErrKind) && s.strange.Add(1)%tellEvery != 1 {
		return
	}
	s.Log.Warn("scheme: notice refused", "error", err)
}

// taken refuses the kinds that the protocol has and this version's accounts do
// not: like unknown ones, they are to come again.
func taken(n scheme.Notice) error {
	switch n.Kind {
	case scheme.InfractionOpened, scheme.InfractionCancelled:
		return fmt.Errorf("%w to this version: %s", provider.ErrKind, n.Kind)
	}
	return nil
}

// Routes adds the notices to a router.
func Routes(r *router.Router, o Options) {
	if o.Wait == 0 {
		o.Wait = 10 * time.Second
	}
	s := &service{Options: o}
	r.POST(provider.PathNotices, signed.Handle(o.Guard, o.Log, s.take))
}

// New is a whole handler, for a listener of its own.
func New(o Options) fasthttp.RequestHandler {
	r := router.New()
	control.Strict(r)
	Routes(r, o)
	return control.Contain(o.Log, r.Handler)
}

// take acknowledges a notice once its effect is durable. Where that takes too
// long it is told to come again, and is still on its way: only its outcome ends
// it, and a repeat of it meanwhile is not acknowledged.
func (s *service) take(ctx *fasthttp.RequestCtx, end func(bool)) (int, any, error) {
	n, err := provider.ReadNotice(ctx.PostBody())
	if err == nil {
		err = taken(n)
	}
	if err != nil {
		end(false)
		s.refused(err)
		if errors.Is(err, provider.ErrKind) {
			return 0, nil, control.Refuse(fasthttp.StatusUnprocessableEntity, "%v", err)
		}
		return 0, nil, control.Bad("%v", err)
	}
	if s.open.Add(1) > openAtOnce {
		s.open.Add(-1)
		end(false)
		return 0, nil, control.Refuse(fasthttp.StatusServiceUnavailable, "too many notices are being worked on: send it again")
	}
	done := make(chan error, 1)
	s.Feed(n, func(err error) {
		s.open.Add(-1)
		end(err == nil)
		done <- err
	})
	timer := time.NewTimer(s.Wait)
	defer timer.Stop()
	select {
	case err := <-done:
		if err == nil {
			return fasthttp.StatusOK, provider.Done{}, nil
		}
		s.Log.Warn("scheme: notice not taken", "transaction", n.Tx.String(), "end_to_end_id", n.EndToEnd, "error", err)
		return 0, nil, control.Refuse(fasthttp.StatusServiceUnavailable, "not taken: send it again")
	case <-timer.C:
		return 0, nil, control.Refuse(fasthttp.StatusServiceUnavailable, "not durable yet: send it again")
	}
}
