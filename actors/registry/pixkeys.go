package registry

import (
	"cmp"
	"slices"

	"pixd/actors/keyed"
	"pixd/actors/pix"
)

// ReservePixKey gives a PIX key to an account; ErrKeyTaken where the key belongs to another
// account.
func (g *Registry) ReservePixKey(id pix.AccountID, key pix.Key) (*PixKey, error) {
	err := g.change(func(m *Machine, now pix.Millis) ([]Record, error) {
		return m.ReservePixKey(PixKey{Key: key.Value, Type: key.Type, Account: id, CreatedAt: now})
	})
	if err != nil {
		return nil, err
	}
	k, ok := g.PixKey(key.Value)
	if !ok || k.Account != id {
		return nil, ErrNoKey // it was removed since
	}
	return k, nil
}

// RegisteredPixKey records that the scheme has registered a PIX key. It changes nothing if
// the key was removed since k was read, even if it was reserved again.
func (g *Registry) RegisteredPixKey(k *PixKey) error {
	return g.change(func(m *Machine, _ pix.Millis) ([]Record, error) { return m.RegisteredPixKey(k) })
}

// RemovePixKey takes a PIX key, in the directory's spelling, from an account, and returns the
// key's last entry. Any account may reserve the key from then on. ErrNoKey: the account does
// not have the key; ErrLastKey: it has no other.
func (g *Registry) RemovePixKey(id pix.AccountID, key string) (*PixKey, error) {
	var removed *PixKey
	err := g.change(func(m *Machine, _ pix.Millis) ([]Record, error) {
		records, err := m.RemovePixKey(id, key)
		if err == nil {
			removed = records[0].PixKey
		}
		return records, err
	})
	if err != nil {
		return nil, err
	}
	return removed, nil
}

// UnlistedPixKey records that the scheme has heard of a removal that Removal or Removals
// returned.
func (g *Registry) UnlistedPixKey(k *PixKey) error {
	return g.change(func(m *Machine, _ pix.Millis) ([]Record, error) { return m.UnlistedPixKey(k) })
}

// PixKey finds a PIX key, in the directory's spelling; false where no account here has the
// key. A key that the scheme has not registered yet is found too.
func (g *Registry) PixKey(key string) (*PixKey, bool) { return g.pixKeys.Get(key) }

// Holds reports whether one of our accounts has a PIX key that the scheme has registered. A
// payout to such a key would stay in this institution. A key that the scheme has not taken may
// be a stranger's, whatever an operator typed.
func (g *Registry) Holds(key string) bool {
	k, ok := g.PixKey(key)
	return ok && k.Registered
}

// KeyOwner returns the account that has a PIX key, registered or not; false where no account
// here has it.
func (g *Registry) KeyOwner(key string) (pix.AccountID, bool) {
	k, ok := g.PixKey(key)
	if !ok {
		return 0, false
	}
	return k.Account, true
}

// Moved reports whether a PIX key was removed from an account, this or another, before its
// owner reserved it: a payment to it may have been credited then.
func (g *Registry) Moved(key string) bool {
	k, ok := g.PixKey(key)
	return ok && k.moved
}

// Removal returns the entry of a removed PIX key, as it was before its removal, if the scheme
// has not heard of the removal. Another account may have the key by now: the scheme must hear
// of the removal first.
func (g *Registry) Removal(key string) (*PixKey, bool) { return g.removals.Get(key) }

// Unregistered lists the PIX keys that the scheme has not registered yet, the first reserved
// first.
func (g *Registry) Unregistered() []*PixKey {
	return listed(&g.pixKeys, func(k *PixKey) bool { return !k.Registered })
}

// Removals lists the removed PIX keys of whose removal the scheme has not heard, the first
// reserved first.
func (g *Registry) Removals() []*PixKey {
	return listed(&g.removals, func(*PixKey) bool { return true })
}

func listed(all *keyed.Map[string, *PixKey], wanted func(*PixKey) bool) (keys []*PixKey) {
	all.Each(func(_ string, k *PixKey) bool {
		if wanted(k) {
			keys = append(keys, k)
		}
		return true
	})
	slices.SortFunc(keys, func(a, b *PixKey) int { return cmp.Compare(a.reserved, b.reserved) })
	return keys
}
