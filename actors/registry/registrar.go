package registry

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"pixd/actors/pix"
	"pixd/actors/redact"
)

// Directory is the part of the scheme that has our PIX keys; see scheme.Scheme.
type Directory interface {
	RegisterKey(ctx context.Context, key pix.Key, account pix.AccountID) error
	DeregisterKey(ctx context.Context, key pix.Key, account pix.AccountID) error
}

// Registrar tells the scheme which PIX keys are ours: it registers each key when it is
// reserved and deregisters it when it is removed. What the scheme has not acknowledged is
// tried again at intervals. The registry's records are the truth. Run is called once; Tell may be
// called from any goroutine.
type Registrar struct {
	Registry *Registry
	Scheme   Directory
	Log      *slog.Logger
	Timeout  time.Duration // of one call to the scheme
	// Forgetful says that the scheme may lose its registered keys while this process runs.
	Forgetful bool

	left         []*PixKey // keys that the scheme took earlier and of which it is reminded
	from         int       // the account whose keys it is reminded of next
	removals     []*PixKey // what the last round left
	unregistered []*PixKey
	// telling has the keys of which the scheme is being told. There is one call about a key at
	// a time, so that the scheme never hears of a removal and of a registration in the wrong
	// order.
	telling sync.Map
}

// Tell tells the scheme what it has not acknowledged about one key. It returns true once the
// scheme has acknowledged everything and the registry's records of that are durable; false
// where it must be tried again.
func (r *Registrar) Tell(key string) bool {
	return r.update(context.Background(), key, false)
}

// update is Tell. With again it also registers a key that the scheme has taken already. A
// removal goes first, because the key may have been reserved anew since. It is read after the
// key: readers see a removal before any later reservation of the key.
func (r *Registrar) update(ctx context.Context, key string, again bool) bool {
	if _, busy := r.telling.LoadOrStore(key, true); busy {
		return false
	}
	defer r.telling.Delete(key)
	for {
		k, ok := r.Registry.PixKey(key)
		removed, open := r.Registry.Removal(key)
		if !open {
			return !ok || k.Registered && !again || r.register(ctx, k)
		}
		if !r.deregister(ctx, removed) {
			return false
		}
	}
}

// register registers a key with the scheme.
func (r *Registrar) register(ctx context.Context, k *PixKey) bool {
	within, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	if err := r.Scheme.RegisterKey(within, pix.Key{Type: k.Type, Value: k.Key}, k.Account); err != nil {
		r.Log.Warn("PIX key not registered with the scheme yet", "account", k.Account.String(), "key", redact.Text(k.Key), "error", err)
		return false
	}
	if k.Registered {
		return true
	}
	if err := r.Registry.RegisteredPixKey(k); err != nil {
		r.Log.Error("PIX key's registration not noted", "account", k.Account.String(), "key", redact.Text(k.Key), "error", err)
		return false
	}
	return true
}

// deregister tells the scheme of a removal.
func (r *Registrar) deregister(ctx context.Context, k *PixKey) bool {
	within, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	if err := r.Scheme.DeregisterKey(within, pix.Key{Type: k.Type, Value: k.Key}, k.Account); err != nil {
		r.Log.Warn("scheme not told yet that a PIX key was removed", "account", k.Account.String(), "error", err)
		return false
	}
	if err := r.Registry.UnlistedPixKey(k); err != nil {
		r.Log.Error("PIX key's removal at the scheme not noted", "account", k.Account.String(), "error", err)
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

// Run tells the scheme of keys until ctx ends.
func (r *Registrar) Run(ctx context.Context) {
	r.Begin(ctx)
	ticker := time.NewTicker(retryEvery)
	defer ticker.Stop()
	for {
		r.Round(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Begin begins with every key that the scheme took from earlier processes: it is reminded of
// them in the next rounds.
func (r *Registrar) Begin(ctx context.Context) { r.left = r.registeredKeys(ctx) }

// Round tells the scheme what it has not acknowledged, once: removals first, then new keys, and then what it took earlier; each
// for retryEvery at most, because there may be thousands.
func (r *Registrar) Round(ctx context.Context) {
	r.removals = r.pass(ctx, inTurn(r.removals, r.Registry.Removals()), r.news)
	r.unregistered = r.pass(ctx, inTurn(r.unregistered, r.Registry.Unregistered()), r.news)
	if len(r.left) == 0 && r.Forgetful {
		r.left, r.from = r.nextTakenKeys(r.from)
	}
	r.left = r.pass(ctx, r.left, r.remind)
}

// inTurn returns the keys that wait: first those that an earlier pass left, in its order,
// then the others.
func inTurn(left, waiting []*PixKey) (keys []*PixKey) {
	fresh := map[string]*PixKey{}
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

// nextTakenKeys returns those keys of the next remindAtOnce accounts that the scheme has taken, and
// the position with which the next call goes on.
func (r *Registrar) nextTakenKeys(from int) (keys []*PixKey, next int) {
	ids, next := r.Registry.Accounts(from, remindAtOnce)
	for _, id := range ids {
		keys = append(keys, r.taken(id)...)
	}
	return keys, max(next, 0)
}

// taken returns those keys of an account that the scheme has taken.
func (r *Registrar) taken(id pix.AccountID) (keys []*PixKey) {
	a, _ := r.Registry.Account(id)
	for _, key := range a.PixKeys {
		if k, ok := r.Registry.PixKey(key); ok && k.Registered {
			keys = append(keys, k)
		}
	}
	return keys
}

// giveUp is the number of failed keys in a row after which a pass ends.
const giveUp = 3

// pass calls tell for each key, for retryEvery, and returns the keys for the next pass: first the keys that
// this pass did not reach, then the keys that failed, so that a few keys which the scheme
// refuses do not delay the other keys.
func (r *Registrar) pass(ctx context.Context, keys []*PixKey, tell func(ctx context.Context, key string) bool) []*PixKey {
	turn, over := context.WithTimeout(ctx, retryEvery)
	defer over()
	var failed []*PixKey
	for i, row := 0, 0; i < len(keys); i++ {
		if turn.Err() != nil || row == giveUp {
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

// registeredKeys returns all keys that the scheme has taken earlier.
func (r *Registrar) registeredKeys(ctx context.Context) (keys []*PixKey) {
	for from := 0; from >= 0 && ctx.Err() == nil; {
		var ids []pix.AccountID
		ids, from = r.Registry.Accounts(from, 1000)
		for _, id := range ids {
			keys = append(keys, r.taken(id)...)
		}
	}
	return keys
}

// news is Tell within a pass.
func (r *Registrar) news(ctx context.Context, key string) bool { return r.update(ctx, key, false) }

// remind registers a key again that the scheme has taken before, unless it was removed since.
func (r *Registrar) remind(ctx context.Context, key string) bool { return r.update(ctx, key, true) }
