package engine

import (
	"context"
	"log/slog"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/registry"
	"pixd/actors/scheme"
)

// registrar registers our PIX keys with the scheme: each key when it is reserved, and at
// intervals again the keys that the scheme has not taken yet.
type registrar struct {
	registry *registry.Registry
	scheme   scheme.Scheme
	log      *slog.Logger
	timeout  time.Duration
	// forgetful says that the scheme may lose its registered keys while this process runs.
	forgetful bool
}

// register registers one key with the scheme. It returns true once the scheme has taken the
// key and the registry's record of that is durable.
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

// retryEvery is the time between two attempts to register keys that the scheme has not taken.
// If there are none and the scheme may lose keys, each attempt registers the keys of the next
// remindAtOnce accounts again, in rotation; registering a key again is harmless.
const (
	retryEvery   = 5 * time.Second
	remindAtOnce = 100
)

// run registers keys until ctx ends. It begins with every key that the scheme took from
// earlier processes.
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

// some returns those keys of the next remindAtOnce accounts that the scheme has taken, and
// the position with which the next call goes on.
func (r *registrar) some(from int) (keys []*registry.PixKey, next int) {
	ids, next := r.registry.Accounts(from, remindAtOnce)
	for _, id := range ids {
		keys = append(keys, r.taken(id)...)
	}
	return keys, max(next, 0)
}

// taken returns those keys of an account that the scheme has taken.
func (r *registrar) taken(id ledger.AccountID) (keys []*registry.PixKey) {
	a, _ := r.registry.Account(id)
	for _, key := range a.PixKeys {
		if k, ok := r.registry.PixKey(key); ok && k.Registered {
			keys = append(keys, k)
		}
	}
	return keys
}

// giveUp is the number of failed keys in a row after which a pass ends.
const giveUp = 3

// pass calls tell for each key and returns the keys for the next pass: first the keys that
// this pass did not reach, then the keys that failed, so that a few keys which the scheme
// refuses do not delay the other keys.
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

// known returns all keys that the scheme has taken earlier.
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

// remind registers a key again that the scheme has taken before.
func (r *registrar) remind(ctx context.Context, k *registry.PixKey) bool {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	if err := r.scheme.RegisterKey(ctx, ledger.Key{Type: k.Type, Value: k.Key}, k.Account); err != nil {
		r.log.Warn("PIX key not registered with the scheme again", "key", k.Key, "error", err)
		return false
	}
	return true
}
