package provider

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// Provider is the scheme in another process.
type Provider struct {
	client   *client
	bookPage int // see Options.BookPage
}

var _ scheme.Scheme = (*Provider)(nil)

// New returns a provider at o.URL. It sends no request yet.
func New(o Options) (*Provider, error) {
	c, err := newClient(o, ToScheme)
	if err != nil {
		return nil, err
	}
	return &Provider{c, cmp.Or(o.BookPage, bookPage)}, nil
}

// Close closes idle connections.
func (p *Provider) Close() { p.client.close() }

// RegisterKey implements scheme.Scheme.
func (p *Provider) RegisterKey(ctx context.Context, k pix.Key, a pix.AccountID) error {
	var done Done
	if err := p.ask(ctx, PathRegister, Registration{keyOf(k), a.String()}, &done); err != nil {
		return fmt.Errorf("scheme: register a key of %v: %w", a, err)
	}
	return nil
}

// DeregisterKey implements scheme.Scheme.
func (p *Provider) DeregisterKey(ctx context.Context, k pix.Key, a pix.AccountID) error {
	var done Done
	if err := p.ask(ctx, PathDeregister, Registration{keyOf(k), a.String()}, &done); err != nil {
		return fmt.Errorf("scheme: deregister a key of %v: %w", a, err)
	}
	return nil
}

// Lookup implements scheme.Scheme.
func (p *Provider) Lookup(ctx context.Context, q scheme.Query) (pix.Party, error) {
	var found Found
	err := p.ask(ctx, PathLookup, Lookup{q.Tx.String(), q.EndToEnd, q.Account.String(), keyOf(q.Key)}, &found)
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
	state, err := p.reported(ctx, PathSubmit, paymentOf(s))
	if err != nil {
		return scheme.State{}, fmt.Errorf("scheme: submit %v: %w", s.Tx, err)
	}
	return state, nil
}

// Ask implements scheme.Scheme.
func (p *Provider) Ask(ctx context.Context, tx pix.TxID, endToEnd string) (scheme.State, error) {
	state, err := p.reported(ctx, PathAsk, Question{tx.String(), endToEnd})
	if err != nil {
		return scheme.State{}, fmt.Errorf("scheme: ask for %v: %w", tx, err)
	}
	return state, nil
}

func (p *Provider) reported(ctx context.Context, path string, message any) (scheme.State, error) {
	var t Reported
	if err := p.ask(ctx, path, message, &t); err != nil {
		return scheme.State{}, err
	}
	return t.State.parse()
}

// ask sends a message and reads its answer, or the provider's refusal.
func (p *Provider) ask(ctx context.Context, path string, message, into any) error {
	return p.askFor(ctx, path, message, into, MaxBody)
}

// askFor is ask for an answer whose length may be up to longest bytes.
func (p *Provider) askFor(ctx context.Context, path string, message, into any, longest int) error {
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
