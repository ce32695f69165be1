package engine

import (
	"context"
	"log/slog"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/registry"
	"pixd/actors/scheme"
)

// registrar makes our PIX keys known to the scheme: each when it is claimed,
// and again at intervals what the scheme has not taken yet.
type registrar struct {
	registry *registry.Registry
	scheme   scheme.Scheme
	log      *slog.Logger
	timeout  time.Duration
}

// register tells the scheme one key; true once it took it and that is durable.
func (r *registrar) register(a ledger.AccountID, k ledger.Key) bool {
	ctx, cancel := context.WithTimeout(context.Background(), r.timeout)
	defer cancel()
	if err := r.scheme.RegisterKey(ctx, k, a); err != nil {
		r.log.Warn("PIX key not registered with the scheme yet", "key", k.Value, "error", err)
		return false
	}
	if err := r.registry.RegisteredPixKey(k.Value); err != nil {
		r.log.Error("PIX key's registration not noted", "key", k.Value, "error", err)
		return false
	}
	return true
}

// retryEvery is how often keys that the scheme has not taken are tried again.
const retryEvery = 30 * time.Second

// run retries until the context ends. The first pass also tells the scheme the
// keys that it took before: it may have lost its book, and the same again is
// harmless.
func (r *registrar) run(ctx context.Context) {
	r.remind(ctx)
	ticker := time.NewTicker(retryEvery)
	defer ticker.Stop()
	for {
		for _, k := range r.registry.Unregistered() {
			if ctx.Err() != nil {
				return
			}
			r.register(k.Account, ledger.Key{Type: k.Type, Value: k.Key})
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (r *registrar) remind(ctx context.Context) {
	for from := 0; from >= 0 && ctx.Err() == nil; {
		var ids []ledger.AccountID
		ids, from = r.registry.Accounts(from, 1000)
		for _, id := range ids {
			a, _ := r.registry.Account(id)
			for _, key := range a.PixKeys {
				k, _ := r.registry.PixKey(key)
				if !k.Registered {
					continue // its turn comes right after
				}
				if err := r.scheme.RegisterKey(ctx, ledger.Key{Type: k.Type, Value: k.Key}, id); err != nil {
					r.log.Warn("PIX key not registered with the scheme again", "key", key, "error", err)
					return
				}
			}
		}
	}
}
