package registry

import (
	"pixd/actors/pix"
)

// When an API key was last used is not in any record: a journal entry for every request
// would cost too much. From time to time the engine stores these times beside the journal.
// It uses the two methods below for that.

// Remember sets when an API key was last used, as an earlier process stored it. An unknown
// client id is ignored.
func (g *Registry) Remember(clientID string, at pix.Millis) {
	if k, ok := g.apiKeys.Get(clientID); ok {
		k.uses.last.Store(int64(at))
		k.uses.reported.Store(int64(at))
	}
}

// NewUses calls tell for every API key that was used since NewUses last reported it, in no
// particular order. It stops at the first error of tell and returns that error. tell may
// block, because no lock is held. NewUses must not be called concurrently.
func (g *Registry) NewUses(tell func(clientID string, at pix.Millis) error) error {
	var err error
	g.apiKeys.Each(func(id string, k *APIKey) bool {
		at := k.uses.last.Load()
		if at == k.uses.reported.Load() {
			return true
		}
		if err = tell(id, pix.Millis(at)); err == nil {
			k.uses.reported.Store(at)
		}
		return err == nil
	})
	return err
}
