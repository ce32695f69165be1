package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/registry"
	"pixd/wal"
)

// metaLastUsed begins the named values that say when an API key was last used:
// its client id follows, the value is the instant, 8 bytes.
const metaLastUsed = "last-used/"

// lastUsed keeps beside the journal when keys were last used, so that a restart
// does not forget which are out of use. It is no record: a kill costs what was
// used since the last round, and no money hangs on it.
type lastUsed struct {
	registry *registry.Registry
	store    *wal.Store
	ops      []wal.Op // of the batch that is being filled
}

// load takes in what earlier processes kept.
func (l *lastUsed) load() error {
	lo := wal.MetaKey(metaLastUsed)
	err := l.store.Scan(lo, wal.PrefixEnd(lo), func(k, v []byte) (bool, error) {
		if len(v) != 8 {
			return false, fmt.Errorf("%q has %d bytes", k, len(v))
		}
		l.registry.Remember(string(k[len(lo):]), ledger.Millis(binary.BigEndian.Uint64(v)))
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("read when keys were last used: %w", err)
	}
	return nil
}

const (
	// keepUsesEvery is how often the newest uses are written: what a kill may cost.
	keepUsesEvery = time.Minute
	// usesAtOnce bounds what one batch writes. Each waits for the one before, so
	// that payments come between.
	usesAtOnce = 1000
)

// run writes the newest uses at intervals until the context ends; the last
// round is the close's.
func (l *lastUsed) run(ctx context.Context, log *slog.Logger) {
	ticker := time.NewTicker(keepUsesEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := l.keep(); err != nil {
				log.Error("last uses of keys not written", "error", err)
			}
		}
	}
}

// keep writes the instants that have changed; where none has, nothing.
func (l *lastUsed) keep() error {
	err := l.registry.NewUses(func(clientID string, at ledger.Millis) error {
		l.ops = append(l.ops, wal.Op{
			Kind: wal.OpSet, Key: wal.MetaKey(metaLastUsed + clientID),
			Value: binary.BigEndian.AppendUint64(nil, uint64(at)),
		})
		if len(l.ops) < usesAtOnce {
			return nil
		}
		return l.flush()
	})
	if err == nil {
		err = l.flush()
	}
	if err != nil {
		return fmt.Errorf("write when keys were last used: %w", err)
	}
	return nil
}

// flush writes the batch and waits for it.
func (l *lastUsed) flush() error {
	if len(l.ops) == 0 {
		return nil
	}
	ops := l.ops
	l.ops = nil
	return write(l.store, shared, ops...)
}
