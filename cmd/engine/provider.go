package engine

import (
	"cmp"
	"errors"

	"pixd/actors/scheme"
	"pixd/actors/scheme/provider"
	"pixd/cmd/forward"
	"pixd/cmd/machine"
	"pixd/cmd/serving"
	"pixd/httpapi"
	"pixd/httpapi/notices"
)

// noticeOptions returns the options with which a provider's notices are received.
func (s *Served) noticeOptions() (notices.Options, error) {
	secret, err := provider.NewSecret(s.Config.SchemeSecret)
	return notices.Options{
		Guard: provider.NewGuard(secret, provider.ToEngine, s.Clock.Now, s.stated), Feed: s.takeNotice, Whose: s.feed.Whose, Open: s.openNotices, Log: s.Config.Log,
	}, err
}

var errNotReady = errors.New("the engine is starting or ending")

// takeNotice takes a notice, or refuses it once the engine's end has begun, because the store
// is closing. The provider sends a refused notice again.
func (s *Served) takeNotice(n scheme.Notice, done func(error)) {
	if !s.ready.Load() {
		done(errNotReady)
		return
	}
	s.feed.Take(n, done)
}

// besideOperators returns the options for receiving notices on the operator API. It returns
// nil if notices have a listener of their own or come from the simulator in this process.
func (s *Served) besideOperators() (*notices.Options, error) {
	if s.Config.inProcess() || s.Config.SchemeListen != "" {
		return nil, nil
	}
	o, err := s.noticeOptions()
	return &o, err
}

// holdNotices opens the listener for notices, if the flags give it an address. Until everything is
// restored it refuses them for now, and the scheme sends them again.
func (s *Served) holdNotices(c Config) {
	if s.schemePort == nil {
		return
	}
	s.notices = httpapi.NewServer(onceReady(&s.take), httpapi.ServerOptions{Name: "scheme", NewRequestID: machine.RequestID, Log: c.Log})
	l := httpapi.Limit(s.schemePort, httpapi.ConnectionOptions{
		TLS: cmp.Or(s.certs[2], s.certs[1]).Config(), Total: serving.AdminConnections, PerIP: schemePerIP,
		Refused: s.meters.scheme.Answered, Log: c.Log,
	})
	s.meters.scheme.Watch(s.notices, l)
	go func() { s.failed <- s.notices.Serve(l) }()
}

// takeNotices begins to take notices on the listener of their own, if there is one.
func (s *Served) takeNotices() error {
	if s.schemePort == nil {
		return nil
	}
	o, err := s.noticeOptions()
	if err != nil {
		return err
	}
	h := s.door(forward.Scheme, s.meters.requests.Timed("scheme", notices.New(o)))
	s.take.Store(&h)
	return nil
}
