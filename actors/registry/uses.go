package registry

import "pixd/actors/ledger"

// When a key was last used is no record: a journal entry for every request
// would be work without a question. The engine keeps it beside the journal now
// and then; what it needs for that is here.

// Remember takes in when a key was last used, as it was kept by an earlier
// process. A key that is not there is nobody's.
func (g *Registry) Remember(clientID string, at ledger.Millis) {
	if k, ok := g.apiKeys.Get(clientID); ok {
		k.uses.last.Store(int64(at))
		k.uses.reported.Store(int64(at))
	}
}

// NewUses tells of every key whose newest use it has not told yet, in no order,
// and ends at the first error of tell, which it returns. tell may wait: nothing
// is locked. One caller at a time.
func (g *Registry) NewUses(tell func(clientID string, at ledger.Millis) error) error {
	var err error
	g.apiKeys.Each(func(id string, k *APIKey) bool {
		at := k.uses.last.Load()
		if at == k.uses.reported.Load() {
			return true
		}
		if err = tell(id, ledger.Millis(at)); err == nil {
			k.uses.reported.Store(at)
		}
		return err == nil
	})
	return err
}
