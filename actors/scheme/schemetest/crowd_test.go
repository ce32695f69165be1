package schemetest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/scheme/provider"
)

// watched wraps one side of the protocol. It answers each single message a little late, so that
// those that come meanwhile travel together, and counts the groups. A side of an earlier version
// does not know groups.
func watched(h fasthttp.RequestHandler, old bool, groups *atomic.Int64) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		switch string(ctx.Path()) {
		case provider.PathCapabilities, provider.PathNoticeCapabilities, provider.PathGroup, provider.PathNoticeGroup:
			if old {
				ctx.Error("no such path", fasthttp.StatusNotFound)
				return
			}
			isGroup := len(ctx.PostBody()) > len("{}")
			if h(ctx); groups != nil && isGroup && ctx.Response.StatusCode() == fasthttp.StatusOK {
				groups.Add(1)
			}
			return
		case provider.PathLookup, provider.PathNotices:
			time.Sleep(time.Millisecond)
		}
		h(ctx)
	}
}

// crowd is a scheme that is asked for other things beside each call about a payment.
type crowd struct{ scheme.Scheme }

// beside makes a call while other messages are under way.
func (c crowd) beside(ctx context.Context, call func()) {
	var others sync.WaitGroup
	for range 3 {
		others.Go(func() {
			_, _ = c.Scheme.Lookup(ctx, scheme.Query{Tx: bystander, EndToEnd: "E", Account: 7, Key: pix.Key{Type: pix.KeyEmail, Value: "beside@example.com"}})
		})
	}
	others.Go(call)
	others.Wait()
}

func (c crowd) Lookup(ctx context.Context, q scheme.Query) (p pix.Party, err error) {
	c.beside(ctx, func() { p, err = c.Scheme.Lookup(ctx, q) })
	return p, err
}

func (c crowd) Submit(ctx context.Context, p scheme.Payment) (s scheme.State, err error) {
	c.beside(ctx, func() { s, err = c.Scheme.Submit(ctx, p) })
	return s, err
}

func (c crowd) Return(ctx context.Context, r scheme.Refund) (s scheme.State, err error) {
	c.beside(ctx, func() { s, err = c.Scheme.Return(ctx, r) })
	return s, err
}

func (c crowd) Ask(ctx context.Context, tx pix.TxID, endToEnd string) (s scheme.State, err error) {
	c.beside(ctx, func() { s, err = c.Scheme.Ask(ctx, tx, endToEnd) })
	return s, err
}

func (c crowd) Returns(ctx context.Context, a pix.AccountID, endToEnd string) ([]ledger.Returned, error) {
	return c.Scheme.Returns(ctx, a, endToEnd)
}

// bystander is the transaction of the messages that only go beside others.
var bystander = pix.NewTxID(1, [10]byte{0xff})

// crowded wraps a feed so that other notices go beside each.
func crowded(feed scheme.Feed) scheme.Feed {
	return func(n scheme.Notice, done func(error)) {
		for range 3 {
			feed(scheme.Notice{Kind: scheme.PaymentSettled, Tx: bystander, EndToEnd: "E"}, func(error) {})
		}
		feed(n, done)
	}
}

// alone wraps a feed so that it gets no bystander.
func alone(feed scheme.Feed) scheme.Feed {
	return func(n scheme.Notice, done func(error)) {
		if n.Tx == bystander {
			done(nil)
			return
		}
		feed(n, done)
	}
}
