// Package notices receives the notices of a scheme in another process.
package notices

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pixd/actors/fair"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/scheme/provider"
	"pixd/httpapi/control"
	"pixd/httpapi/signed"
)

// Options are the parts and settings that receiving notices needs.
type Options struct {
	Guard *provider.Guard
	Feed  scheme.Feed
	Whose func(scheme.Notice) pix.AccountID // the account that a notice is about, as far as memory tells, or 0; nil: the one that it names
	Wait  time.Duration                     // the longest wait for a notice's effect to be durable; 0: 10 s
	Open  *Open                             // counts the notices that are being worked on; nil: they are counted by themselves
	Log   *slog.Logger
}

// Open counts the notices that were passed to Feed and have no outcome yet, by the account that
// they are about.
type Open = fair.Pool[pix.AccountID]

// The largest numbers of such notices: of all, and of those about one account, or about one that
// is not known yet.
// One that is refused is sent again.
const (
	openAtOnce = 4096
	openShare  = 1024
)

// NewInProgress returns the count of the notices that are being worked on: at most openAtOnce of them,
// and openShare about one account. It is empty.
func NewInProgress() *Open {
	return fair.New[pix.AccountID](fair.Bounds{Places: openAtOnce, Share: openShare})
}

type service struct {
	Options
	strange atomic.Int64 // number of notices that were refused because of their kind
}

// tellEvery says how often a notice that is refused because of its kind is logged: once in so
// many such notices. The scheme sends each of them again for ever.
const tellEvery = 100

// refused logs the error of a notice that cannot be taken. Of the notices refused because
// of their kind it logs only one in tellEvery.
func (s *service) refused(err error) {
	if errors.Is(err, provider.ErrKind) && s.strange.Add(1)%tellEvery != 1 {
		return
	}
	s.Log.Warn("scheme: notice refused", "error", err)
}

// Routes adds the endpoints for notices, single ones and groups, to a router.
func Routes(r *router.Router, o Options) {
	if o.Wait == 0 {
		o.Wait = 10 * time.Second
	}
	if o.Open == nil {
		o.Open = NewInProgress()
	}
	s := &service{Options: o}
	r.POST(provider.PathNotices, signed.Handle(o.Guard, o.Log, s.acknowledge))
	r.POST(provider.PathNoticeCapabilities, signed.Handle(o.Guard, o.Log, signed.Capable))
	r.POST(provider.PathNoticeGroup, signed.HandleGroup(o.Guard, o.Log, map[string]signed.Serve{provider.PathNotices: s.acknowledge}))
}

// New returns a whole handler for notices, for a listener of its own.
func New(o Options) fasthttp.RequestHandler {
	r := router.New()
	control.Strict(r)
	Routes(r, o)
	return control.Contain(o.Log, r.Handler)
}

// acknowledge acknowledges a notice once its effect is durable, and refuses a payment that the feed
// refuses for good; a repeat of a refused message is refused again, never acknowledged. If that takes longer than Wait, the
// answer tells the scheme to send the notice again. The notice is still being handled then,
// and a repeat of it is not acknowledged before the first copy has an outcome.
func (s *service) acknowledge(body []byte, end func(bool)) (int, any, error) {
	n, err := provider.ReadNotice(body)
	if err != nil {
		end(false)
		s.refused(err)
		if errors.Is(err, provider.ErrKind) {
			return 0, nil, control.Refuse(fasthttp.StatusUnprocessableEntity, "%v", err)
		}
		return 0, nil, control.Bad("%v", err)
	}
	whose := n.Account
	if s.Whose != nil {
		whose = s.Whose(n)
	}
	if s.Open.Take(context.Background(), whose) != nil { // at once: nobody waits in it
		end(false)
		return 0, nil, control.Refuse(fasthttp.StatusServiceUnavailable, "too many notices are being worked on: send it again")
	}
	done := make(chan error, 1)
	s.Feed(n, func(err error) {
		s.Open.Give(whose)
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
		if errors.Is(err, scheme.ErrNoPayee) {
			return fasthttp.StatusUnprocessableEntity, provider.Refusal{Code: provider.RefusedPayee}, nil
		}
		s.Log.Warn("scheme: notice not taken", "transaction", n.Tx.String(), "end_to_end_id", n.EndToEnd, "error", err)
		return 0, nil, control.Refuse(fasthttp.StatusServiceUnavailable, "not taken: send it again")
	case <-timer.C:
		return 0, nil, control.Refuse(fasthttp.StatusServiceUnavailable, "not durable yet: send it again")
	}
}
