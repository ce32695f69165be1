package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"time"

	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/wal"
)

// metaLastUsed begins the key of the row that says when an API key was last used. The key
// goes on with the client id; the value is the time in 8 bytes.
const metaLastUsed = "last-used/"

// lastUsed keeps beside the journal when API keys were last used, so that unused keys can be
// recognised after a restart. These times are not records, because no money depends on them:
// a killed process loses the times since it last wrote them.
type lastUsed struct {
	registry *registry.Registry
	store    *wal.Store
	ops      []wal.Op // operations of the next batch
}

// load reads the times that earlier processes wrote.
func (l *lastUsed) load() error {
	lo := wal.MetaKey(metaLastUsed)
	err := l.store.Scan(lo, wal.PrefixEnd(lo), func(k, v []byte) (bool, error) {
		if len(v) != 8 {
			return false, fmt.Errorf("%q has %d bytes", k, len(v))
		}
		l.registry.Remember(string(k[len(lo):]), pix.Millis(binary.BigEndian.Uint64(v)))
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("read when keys were last used: %w", err)
	}
	return nil
}

const (
	// keepUsesEvery is the time between two writes of new times of use, and so the longest
	// span of which a killed process loses the times.
	keepUsesEvery = time.Minute
	// usesAtOnce is the number of times of use in one batch. Each batch waits until the batch
	// before it is durable, so that payments' entries can come between two batches.
	usesAtOnce = 1000
)

// run writes new times of use at intervals until ctx ends; Close writes the last ones.
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

// keep writes the times of use that have changed since the last call, if any.
func (l *lastUsed) keep() error {
	err := l.registry.NewUses(func(clientID string, at pix.Millis) error {
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

// flush writes the batch and waits until it is durable.
func (l *lastUsed) flush() error {
	if len(l.ops) == 0 {
		return nil
	}
	ops := l.ops
	l.ops = nil
	return write(l.store, shared, ops...)
}
