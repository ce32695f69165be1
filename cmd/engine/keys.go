package engine

import (
	"context"
	"log/slog"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/registry"
	"pixd/actors/scheme"
)

// registrar makes our PIX keys known to the scheme: each when it is reserved,
// and again at intervals what the scheme has not taken yet.
type registrar struct {
	registry *registry.Registry
	scheme   scheme.Scheme
	log      *slog.Logger
	timeout  time.Duration
	// forgetful: the scheme may lose its book while this process runs.
	forgetful bool
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

// retryEvery is how often keys that the scheme has not taken are tried again, and
// remindAtOnce the accounts whose keys it is told again then, in rotation: it may
// have lost its book, and the same again is harmless.
const (
	retryEvery   = 5 * time.Second
	remindAtOnce = 100
)

// run retries until the context ends. It begins with telling the scheme every key
// that it took before.
func (r *registrar) run(ctx context.Context) {
	left, from := r.known(ctx), 0
	ticker := time.NewTicker(retryEvery)
	defer ticker.Stop()
	for {
		left = r.pass(ctx, left, r.remind)
		r.pass(ctx, r.registry.Unregistered(), func(ctx context.Context, k *registry.PixKey) bool {
			return r.register(k.Account, ledger.Key{Type: k.Type, Value: k.Key})
		})
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if len(left) == 0 && r.forgetful {
			left, from = r.some(from)
		}
	}
}

// some are the keys of the next few accounts that the scheme has taken before, and
// where to go on.
func (r *registrar) some(from int) (keys []*registry.PixKey, next int) {
	ids, next := r.registry.Accounts(from, remindAtOnce)
	for _, id := range ids {
		keys = append(keys, r.taken(id)...)
	}
	return keys, max(next, 0)
}

// taken are an account's keys that the scheme has.
func (r *registrar) taken(id ledger.AccountID) (keys []*registry.PixKey) {
	a, _ := r.registry.Account(id)
	for _, key := range a.PixKeys {
		if k, ok := r.registry.PixKey(key); ok && k.Registered {
			keys = append(keys, k)
		}
	}
	return keys
}

// giveUp is how many keys in a row are tried in vain before the scheme is left
// alone until the next pass.
const giveUp = 3

// pass tells the scheme keys and gives those that are left for the next pass:
// what it did not reach, and at their end what failed, so that a few keys that
// the scheme does not take keep no others waiting.
func (r *registrar) pass(ctx context.Context, keys []*registry.PixKey, tell func(context.Context, *registry.PixKey) bool) []*registry.PixKey {
	var failed []*registry.PixKey
	for i, row := 0, 0; i < len(keys); i++ {
		if ctx.Err() != nil || row == giveUp {
			return append(keys[i:], failed...)
		}
		if tell(ctx, keys[i]) {
			row = 0
			continue
		}
		row++
		failed = append(failed, keys[i])
	}
	return failed
}

// known are all keys that the scheme has taken before.
func (r *registrar) known(ctx context.Context) (keys []*registry.PixKey) {
	for from := 0; from >= 0 && ctx.Err() == nil; {
		var ids []ledger.AccountID
		ids, from = r.registry.Accounts(from, 1000)
		for _, id := range ids {
			keys = append(keys, r.taken(id)...)
		}
	}
	return keys
}

// remind tells the scheme a key that it took before.
func (r *registrar) remind(ctx context.Context, k *registry.PixKey) bool {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	if err := r.scheme.RegisterKey(ctx, ledger.Key{Type: k.Type, Value: k.Key}, k.Account); err != nil {
		r.log.Warn("PIX key not registered with the scheme again", "key", k.Key, "error", err)
		return false
	}
	return true
}
