package sim

import (
	"context"
	"errors"
	"log/slog"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/scheme/provider"
	"pixd/actors/scheme/sim"
	"pixd/docs/openapi"
	"pixd/httpapi/control"
	"pixd/httpapi/reference"
	"pixd/httpapi/signed"
)

// Options are the parts and settings of a simulator in a process of its own.
type Options struct {
	Sim   *sim.Sim
	Guard *provider.Guard
	Token string // the bearer token for /sim

	Metrics      fasthttp.RequestHandler
	GuardMetrics bool // /metrics needs the token too

	Build control.Build
	Ready func() bool
	Now   func() pix.Millis
	Log   *slog.Logger
}

// New returns the whole handler of a simulator in a process of its own.
func New(o Options) fasthttp.RequestHandler {
	r := router.New()
	control.Strict(r)
	control.Probes(r, o.Build, o.Ready)
	reference.Routes(r, openapi.Simulator, openapi.Scheme)
	Routes(r, o.Sim, o.Now, o.Log)
	Provide(r, o.Sim, o.Guard, o.Log)
	r.GET("/metrics", o.Metrics)
	guarded := []string{"/sim"}
	if o.GuardMetrics {
		guarded = append(guarded, "/metrics")
	}
	return control.Contain(o.Log, control.Guard(control.Tokens{Root: o.Token, Now: o.Now}, r.Handler, guarded...))
}

// Provide adds the endpoints of the scheme protocol that an engine in another process calls
// to a router. Requests must be signed.
func Provide(r *router.Router, s scheme.Scheme, g *provider.Guard, log *slog.Logger) {
	v := &peer{scheme: s}
	payments := map[string]signed.Serve{
		provider.PathLookup: answering(message(provider.ReadLookup, v.lookup)), provider.PathSubmit: answering(message(provider.ReadPayment, v.submit)),
		provider.PathReturn: answering(message(provider.ReadReturn, v.giveBack)), provider.PathAsk: answering(v.ask),
	}
	for path, serve := range payments {
		r.POST(path, signed.Handle(g, log, serve))
	}
	for path, serve := range map[string]signed.Serve{
		provider.PathRegister: answering(keyChange(s.RegisterKey)), provider.PathDeregister: answering(keyChange(s.DeregisterKey)),
		provider.PathReturned: answering(v.returned), provider.PathBook: answering(message(provider.ReadBookQuestion, v.book)),
		provider.PathMovements: answering(message(provider.ReadMovementsQuestion, v.movements)), provider.PathCapabilities: signed.Capable,
	} {
		r.POST(path, signed.Handle(g, log, serve))
	}
	r.POST(provider.PathGroup, signed.HandleGroup(g, log, payments))
}

// answering returns a Serve that limits the time of a message and sends the result of serve.
func answering(serve func(context.Context, []byte) (any, error)) signed.Serve {
	return func(body []byte, end func(bool)) (int, any, error) {
		within, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		answer, err := serve(within, body)
		var refused *scheme.Refused
		if errors.As(err, &refused) {
			end(true)
			return fasthttp.StatusUnprocessableEntity, provider.Refusal{Code: refused.Code.String()}, nil
		}
		end(err == nil)
		return fasthttp.StatusOK, answer, err
	}
}

// peer reads the messages of an engine and passes them to the scheme.
type peer struct {
	scheme   scheme.Scheme
	readings readings
}

// message returns the handler of a message that read reads and serve carries out.
func message[M any](read func([]byte) (M, error), serve func(context.Context, M) (any, error)) func(context.Context, []byte) (any, error) {
	return func(ctx context.Context, body []byte) (any, error) {
		m, err := read(body)
		if err != nil {
			return nil, control.Bad("%v", err)
		}
		return serve(ctx, m)
	}
}

// keyChange returns the handler of a message about a key.
func keyChange(change func(context.Context, pix.Key, pix.AccountID) error) func(context.Context, []byte) (any, error) {
	return func(ctx context.Context, body []byte) (any, error) {
		k, account, err := provider.ReadRegistration(body)
		if err != nil {
			return nil, control.Bad("%v", err)
		}
		return provider.Done{}, change(ctx, k, account)
	}
}

func (d *peer) lookup(ctx context.Context, q scheme.Query) (any, error) {
	owner, err := d.scheme.Lookup(ctx, q)
	return provider.Found{Owner: provider.Owner(owner)}, err
}

func (d *peer) submit(ctx context.Context, p scheme.Payment) (any, error) {
	state, err := d.scheme.Submit(ctx, p)
	return provider.TellState(state), err
}

func (d *peer) giveBack(ctx context.Context, r scheme.Refund) (any, error) {
	state, err := d.scheme.Return(ctx, r)
	return provider.TellState(state), err
}

func (d *peer) ask(ctx context.Context, body []byte) (any, error) {
	tx, endToEnd, err := provider.ReadQuestion(body)
	if err != nil {
		return nil, control.Bad("%v", err)
	}
	state, err := d.scheme.Ask(ctx, tx, endToEnd)
	return provider.TellState(state), err
}

func (d *peer) returned(ctx context.Context, body []byte) (any, error) {
	account, endToEnd, err := provider.ReadReturnedQuestion(body)
	if err != nil {
		return nil, control.Bad("%v", err)
	}
	all, err := d.scheme.Returns(ctx, account, endToEnd)
	return provider.TellReturned(all), err
}

func (d *peer) movements(ctx context.Context, q provider.MovementsQuestion) (any, error) {
	page, err := d.scheme.Movements(ctx, q.SinceOf(), q.After, q.Limit)
	return provider.TellMovements(page), problem(err)
}

func (d *peer) book(ctx context.Context, q provider.BookQuestion) (any, error) {
	if q.After != "" {
		return d.readings.later(q)
	}
	b, err := d.scheme.Book(ctx)
	if err != nil {
		return nil, err
	}
	return d.readings.first(b, q.Limit), nil
}
