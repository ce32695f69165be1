package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/redact"
	"pixd/actors/registry"
	"pixd/actors/scheme"
)

// registrar tells the scheme which PIX keys are ours: it registers each key when it is
// reserved and deregisters it when it is removed. What the scheme has not acknowledged is
// tried again at intervals. The registry's records are the truth.
type registrar struct {
	registry *registry.Registry
	scheme   scheme.Scheme
	log      *slog.Logger
	timeout  time.Duration
	// forgetful says that the scheme may lose its registered keys while this process runs.
	forgetful bool
	// telling has the keys of which the scheme is being told. There is one call about a key at
	// a time, so that the scheme never hears of a removal and of a registration in the wrong
	// order.
	telling sync.Map
}

// tell tells the scheme what it has not acknowledged about one key. It returns true once the
// scheme has acknowledged everything and the registry's records of that are durable; false
// where it must be tried again.
func (r *registrar) tell(key string) bool {
	return r.update(context.Background(), key, false)
}

// update is tell. With again it also registers a key that the scheme has taken already. A
// removal goes first, because the key may have been reserved anew since. It is read after the
// key: readers see a removal before any later reservation of the key.
func (r *registrar) update(ctx context.Context, key string, again bool) bool {
	if _, busy := r.telling.LoadOrStore(key, true); busy {
		return false
	}
	defer r.telling.Delete(key)
	for {
		k, ok := r.registry.PixKey(key)
		removed, open := r.registry.Removal(key)
		if !open {
			return !ok || k.Registered && !again || r.register(ctx, k)
		}
		if !r.deregister(ctx, removed) {
			return false
		}
	}
}

// register registers a key with the scheme.
func (r *registrar) register(ctx context.Context, k *registry.PixKey) bool {
	within, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	if err := r.scheme.RegisterKey(within, ledger.Key{Type: k.Type, Value: k.Key}, k.Account); err != nil {
		r.log.Warn("PIX key not registered with the scheme yet", "account", k.Account.String(), "key", redact.Text(k.Key), "error", err)
		return false
	}
	if k.Registered {
		return true
	}
	if err := r.registry.RegisteredPixKey(k); err != nil {
		r.log.Error("PIX key's registration not noted", "account", k.Account.String(), "key", redact.Text(k.Key), "error", err)
		return false
	}
	return true
}

// deregister tells the scheme of a removal.
func (r *registrar) deregister(ctx context.Context, k *registry.PixKey) bool {
	within, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	if err := r.scheme.DeregisterKey(within, ledger.Key{Type: k.Type, Value: k.Key}, k.Account); err != nil {
		r.log.Warn("scheme not told yet that a PIX key was removed", "account", k.Account.String(), "error", err)
		return false
	}
	if err := r.registry.UnlistedPixKey(k); err != nil {
		r.log.Error("PIX key's removal at the scheme not noted", "account", k.Account.String(), "error", err)
		return false
	}
	return true
}

// retryEvery is the time between two attempts to tell the scheme of keys. If there is nothing
// to tell and the scheme may lose keys, each attempt registers the keys of the next
// remindAtOnce accounts again, in rotation; registering a key again is harmless.
const (
	retryEvery   = 5 * time.Second
	remindAtOnce = 100
)

// run tells the scheme of keys until ctx ends. It begins with every key that the scheme took
// from earlier processes.
func (r *registrar) run(ctx context.Context) {
	left, from := r.known(ctx), 0
	var removals, unregistered []*registry.PixKey
	ticker := time.NewTicker(retryEvery)
	defer ticker.Stop()
	for {
		left = r.pass(ctx, left, r.remind)
		removals = r.pass(ctx, inTurn(removals, r.registry.Removals()), r.news)
		unregistered = r.pass(ctx, inTurn(unregistered, r.registry.Unregistered()), r.news)
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

// inTurn returns the keys that wait: first those that an earlier pass left, in its order,
// then the others.
func inTurn(left, waiting []*registry.PixKey) (keys []*registry.PixKey) {
	fresh := map[string]*registry.PixKey{}
	for _, k := range waiting {
		fresh[k.Key] = k
	}
	for _, k := range left {
		if now := fresh[k.Key]; now != nil {
			keys = append(keys, now)
			delete(fresh, k.Key)
		}
	}
	for _, k := range waiting {
		if fresh[k.Key] != nil {
			keys = append(keys, k)
		}
	}
	return keys
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
func (r *registrar) pass(ctx context.Context, keys []*registry.PixKey, tell func(ctx context.Context, key string) bool) []*registry.PixKey {
	var failed []*registry.PixKey
	for i, row := 0, 0; i < len(keys); i++ {
		if ctx.Err() != nil || row == giveUp {
			return append(keys[i:], failed...)
		}
		if tell(ctx, keys[i].Key) {
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

// news is tell within a pass.
func (r *registrar) news(ctx context.Context, key string) bool { return r.update(ctx, key, false) }

// remind registers a key again that the scheme has taken before, unless it was removed since.
func (r *registrar) remind(ctx context.Context, key string) bool { return r.update(ctx, key, true) }
