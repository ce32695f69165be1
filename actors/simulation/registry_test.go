package simulation

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"pixd/actors/pix"
	"pixd/actors/registry"
)

// entries are the changes that the registry has confirmed. A change that a crash interrupted
// is not among them.
type entries struct {
	pixKeys map[string]pix.AccountID
	apiKeys map[string]registry.APIKey
	turned  map[pix.AccountID]bool   // whether each account is active
	own     map[string]pix.AccountID // end-to-end ids that accounts have chosen, with the account that chose each id
}

func newEntries() entries {
	return entries{map[string]pix.AccountID{}, map[string]registry.APIKey{}, map[pix.AccountID]bool{}, map[string]pix.AccountID{}}
}

// administer makes one random change to the registry.
func (l *life) administer() {
	id := l.someone()
	switch l.rng.IntN(3) {
	case 0:
		l.reservePixKey(id)
	case 1:
		l.numbers++
		name := fmt.Sprintf("client%d", l.numbers)
		k, err := l.registry.MakeAPIKey(registry.APIKey{
			ClientID: name, Account: id, Whitelist: l.drawAddresses(), SecretHash: [32]byte{byte(l.numbers)}, Permissions: registry.PixRead, Signing: l.odds(2),
		})
		l.confirmed(name, k, err)
		l.count("registry: a key made")
	case 2:
		for name := range sorted(l.apiKeys) {
			if l.odds(2) {
				continue
			}
			delete(l.apiKeys, name)
			expires, active := l.now()+pix.Millis(l.rng.IntN(2))*day, l.odds(2)
			addresses := l.drawAddresses()
			k, err := l.registry.ChangeAPIKey(name, func(k *registry.APIKey) {
				k.Whitelist = addresses
				k.Permissions, k.Active, k.ExpiresAt = k.Permissions^registry.PixWrite, active, expires
			})
			if err == nil && (k.Active != active || k.ExpiresAt != expires) {
				l.fail("API key %s was changed, and is %+v", name, *k)
			}
			l.confirmed(name, k, err)
			l.count("registry: a key changed")
			return
		}
	}
}

var addresses = []string{"127.0.0.1", "10.0.0.7", "2001:db8::1"}

// drawAddresses returns a random list of addresses from which a credential may be used.
func (l *life) drawAddresses() (from []string) {
	for _, a := range addresses {
		if l.odds(2) {
			from = append(from, a)
		}
	}
	return from
}

// confirmed notes a credential that the registry has made durable.
func (l *life) confirmed(name string, k *registry.APIKey, err error) {
	if err != nil {
		l.fail("API key %s: %v", name, err)
		return
	}
	l.apiKeys[name] = *k
}

// reservePixKey reserves one of six PIX keys for an account: each key may belong to one
// account only.
func (l *life) reservePixKey(id pix.AccountID) {
	key := l.someKeyName()
	k, err := l.registry.ReservePixKey(id, pix.Key{Type: pix.KeyEmail, Value: key})
	owner, known := l.pixKeys[key]
	switch {
	case known && owner != id:
		l.count("registry: a key of another's")
		if !errors.Is(err, registry.ErrKeyTaken) {
			l.fail("%v claims %s, which is %v's: %v", id, key, owner, err)
		}
	case known && err != nil:
		l.fail("%v claims its own %s: %v", id, key, err)
	case err == nil:
		if k.Account != id {
			l.fail("%v has claimed %s, which is %v's", id, key, k.Account)
		}
		l.pixKeys[key] = id
		if !l.keys.happen {
			l.outside.register(pix.Key{Type: pix.KeyEmail, Value: key}, id)
		}
	}
}

// ownID reserves an end-to-end id that an account has chosen. It returns false if the
// registry refuses the id.
func (l *life) ownID(id pix.AccountID, own string) bool {
	mine, err := l.registry.ReserveEndToEnd(id, own)
	if err != nil {
		l.fail("%v claims %s: %v", id, own, err)
		return false
	}
	owner, known := l.own[own]
	if known && mine != (owner == id) {
		l.fail("%v may have %s: %v, and it is %v's", id, own, mine, owner)
	}
	if !mine {
		l.say("%v may not have %s", id, own)
		l.count("refused: an id of another's")
		return false
	}
	l.own[own] = id
	return true
}

// setActive makes an account active or inactive.
func (l *life) setActive(id pix.AccountID, active bool) {
	delete(l.turned, id)
	if err := l.registry.SetActive(id, active); err != nil {
		l.fail("set active: %v", err)
	}
	l.turned[id] = active
	l.say("%v is active: %v", id, active)
	l.entriesKept()
}

// entriesKept checks that the registry still has every change that it has confirmed.
func (l *life) entriesKept() {
	for key, owner := range l.pixKeys {
		k, ok := l.registry.PixKey(key)
		a, there := l.registry.Account(owner)
		if !ok || k.Account != owner || !there || !slices.Contains(a.PixKeys, key) {
			l.fail("%s is %v's, and the registry has %+v", key, owner, k)
		}
	}
	for name, want := range l.apiKeys {
		k, ok := l.registry.APIKey(name)
		if !ok || k.Account != want.Account || k.SecretHash != want.SecretHash || k.Permissions != want.Permissions ||
			k.Active != want.Active || k.ExpiresAt != want.ExpiresAt || k.Signing != want.Signing || k.CreatedAt != want.CreatedAt {
			l.fail("API key %s is %+v, and the registry has %+v", name, want, k)
			continue
		}
		for _, address := range addresses {
			if k.Allows(netip.MustParseAddr(address)) != slices.Contains(want.Whitelist, address) {
				l.fail("API key %s may be used from %v, and %s is let in: %v", name, want.Whitelist, address, k.Allows(netip.MustParseAddr(address)))
			}
		}
	}
	for id, want := range l.turned {
		if l.registry.Active(id) != want {
			l.fail("%v was made active: %v, and is not so", id, want)
		}
	}
	if listed, next := l.registry.Accounts(0, int(l.known)+1); len(listed) != int(l.known) || next != -1 {
		l.fail("%d accounts are listed (next %d) of %d", len(listed), next, l.known)
	}
}
