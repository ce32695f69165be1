package provider

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// Provider is the scheme in another process.
type Provider struct {
	client   *client
	bookPage int // see Options.BookPage

	pageWithin time.Duration // see Options.PageWithin
}

var _ scheme.Scheme = (*Provider)(nil)

// pageWithin is the least time for a page of the book: one may have 20,000 accounts.
const pageWithin = 30 * time.Second

// New returns a provider at o.URL. It sends no request yet.
func New(o Options) (*Provider, error) {
	c, err := newClient(o, ToScheme)
	if err != nil {
		return nil, err
	}
	return &Provider{c, cmp.Or(o.BookPage, bookPage), max(o.PageWithin, pageWithin)}, nil
}

// Close ends the calls that travel in groups, and closes idle connections.
func (p *Provider) Close() { p.client.close() }

// RegisterKey implements scheme.Scheme.
func (p *Provider) RegisterKey(ctx context.Context, k pix.Key, a pix.AccountID) error {
	return p.tellKey(ctx, PathRegister, "register", k, a)
}

// DeregisterKey implements scheme.Scheme.
func (p *Provider) DeregisterKey(ctx context.Context, k pix.Key, a pix.AccountID) error {
	return p.tellKey(ctx, PathDeregister, "deregister", k, a)
}

// tellKey sends a message about a key; verb says for the error what the message asks for.
func (p *Provider) tellKey(ctx context.Context, path, verb string, k pix.Key, a pix.AccountID) error {
	var done Done
	if err := p.ask(ctx, path, Registration{keyOf(k), a.String()}, &done, MaxBody); err != nil {
		return fmt.Errorf("scheme: %s a key of %v: %w", verb, a, err)
	}
	return nil
}

// Lookup implements scheme.Scheme.
func (p *Provider) Lookup(ctx context.Context, q scheme.Query) (pix.Party, error) {
	var found Found
	err := p.ask(ctx, PathLookup, Lookup{q.Tx.String(), q.EndToEnd, q.Account.String(), keyOf(q.Key)}, &found, MaxBody)
	var owner pix.Party
	if err == nil {
		owner, err = found.Owner.parse()
	}
	if err != nil {
		return pix.Party{}, fmt.Errorf("scheme: look up for %v: %w", q.Tx, err)
	}
	return owner, nil
}

// Submit implements scheme.Scheme.
func (p *Provider) Submit(ctx context.Context, s scheme.Payment) (scheme.State, error) {
	return p.askState(ctx, PathSubmit, paymentOf(s), "submit", s.Tx)
}

// Ask implements scheme.Scheme.
func (p *Provider) Ask(ctx context.Context, tx pix.TxID, endToEnd string) (scheme.State, error) {
	return p.askState(ctx, PathAsk, Question{tx.String(), endToEnd}, "ask for", tx)
}

// askState sends a message about a transaction whose answer is the transaction's state; verb says
// for the error what the message asks for.
func (p *Provider) askState(ctx context.Context, path string, message any, verb string, tx pix.TxID) (state scheme.State, err error) {
	var t Reported
	if err = p.ask(ctx, path, message, &t, MaxBody); err == nil {
		state, err = t.State.parse()
	}
	if err != nil {
		return scheme.State{}, fmt.Errorf("scheme: %s %v: %w", verb, tx, err)
	}
	return state, nil
}

// ask sends a message and reads its answer of at most longest bytes, or the provider's refusal.
func (p *Provider) ask(ctx context.Context, path string, message, into any, longest int) error {
	status, answer, err := p.client.post(ctx, path, message, longest)
	if err != nil {
		return err
	}
	return p.answered(ctx, status, answer, into, longest)
}

// answered reads a signed answer, or the provider's refusal.
func (p *Provider) answered(ctx context.Context, status int, answer []byte, into any, longest int) error {
	switch status {
	case http.StatusOK:
		if err := decodeUpTo(longest, answer, into, true); err != nil {
			return fmt.Errorf("answer %d cannot be read: %w", status, err)
		}
		return nil
	case http.StatusUnprocessableEntity:
		var r Refusal
		if decode(answer, &r, true) == nil {
			if code, ok := ledger.ParseRefusal(r.Code); ok {
				return &scheme.Refused{Code: code}
			}
		}
	}
	return p.client.failed(ctx, unexpected(status, answer))
}
