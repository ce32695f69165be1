package registry

import (
	"encoding/binary"
	"fmt"

	"pixd/actors/layout"
	"pixd/actors/pix"
	"pixd/wal"
)

// metaLastUsed begins the key of the row that says when an API key was last used. The key
// goes on with the client id; the value is the time in 8 bytes.
const metaLastUsed = "last-used/"

// usesAtOnce is the number of times of use in one batch. Each batch waits until the batch
// before it is durable, so that payments' entries can come between two batches.
const usesAtOnce = 1000

// UseRows keeps, beside the journal, the rows that say when API keys were last used, so that
// unused keys can be recognised after a restart. The times are not records, because no money
// depends on them: a killed process loses those since it last wrote them.
type UseRows interface {
	Scan(lo, hi []byte, visit layout.Visit) error
	WriteRows(shared bool, ops ...wal.Op) error
}

// LoadUses reads the times of use that earlier processes wrote.
func (g *Registry) LoadUses(from UseRows) error {
	lo := wal.MetaKey(metaLastUsed)
	err := from.Scan(lo, wal.PrefixEnd(lo), func(k, v []byte) (bool, error) {
		if len(v) != 8 {
			return false, fmt.Errorf("%q has %d bytes", k, len(v))
		}
		g.remember(string(k[len(lo):]), pix.Millis(binary.BigEndian.Uint64(v)))
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("read when keys were last used: %w", err)
	}
	return nil
}

// WriteUses writes the times of use that have changed since the last call, if any, and returns
// once they are durable. It must not be called concurrently.
func (g *Registry) WriteUses(to UseRows) error {
	var ops []wal.Op
	err := g.newUses(func(clientID string, at pix.Millis) error {
		ops = append(ops, wal.Op{
			Kind: wal.OpSet, Key: wal.MetaKey(metaLastUsed + clientID),
			Value: binary.BigEndian.AppendUint64(nil, uint64(at)),
		})
		if len(ops) < usesAtOnce {
			return nil
		}
		full := ops
		ops = nil
		return to.WriteRows(wal.Shared, full...)
	})
	if err == nil && len(ops) > 0 {
		err = to.WriteRows(wal.Shared, ops...)
	}
	if err != nil {
		return fmt.Errorf("write when keys were last used: %w", err)
	}
	return nil
}

// remember sets when an API key was last used, as an earlier process stored it. An unknown
// client id is ignored.
func (g *Registry) remember(clientID string, at pix.Millis) {
	if k, ok := g.apiKeys.Get(clientID); ok {
		k.uses.last.Store(int64(at))
		k.uses.reported.Store(int64(at))
	}
}

// newUses calls tell for every API key that was used since newUses last reported it, in no
// particular order. It stops at the first error of tell and returns that error. tell may
// block, because no lock is held. newUses must not be called concurrently.
func (g *Registry) newUses(tell func(clientID string, at pix.Millis) error) error {
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
