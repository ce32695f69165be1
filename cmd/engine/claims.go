package engine

import (
	"context"
	"time"

	"pixd/actors/account"
	"pixd/actors/pix"
	"pixd/wal"
)

// claimsFilter is the size, in bytes, of the filter over one hour's idempotency claims. There
// are at most 26 such filters, each made with the first claim of its hour: 104 MiB at most.
// For a new key 25 filters are asked. With a million claims in each hour one new key in a
// hundred is looked up in the store in vain, with three million one in four, with 5.4 million
// (1,500 a second, around the clock) three in four. The filters of the store's tables answer
// all but one in fifty of these lookups from memory.
const claimsFilter = 4 << 20

// Claims older than 24 h are dropped by whole days: the claims of a day are dropped within an
// hour after that day has become the third before today. A claim that was stamped under doubt
// by an earlier process stays until this process is 24 h old.
const dropEvery = time.Hour

// keepClaims drops claims, and refusals of payments, that are too old to be kept.
func (e *Engine) keepClaims(ctx context.Context) {
	ticker := time.NewTicker(dropEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := e.dropClaims(); err != nil && ctx.Err() == nil {
			e.Config.Log.Error("claims of past days not dropped", "error", err)
		}
		if err := e.refusals.Drop(e.Clock.Read(), e.drop); err != nil && ctx.Err() == nil {
			e.Config.Log.Error("old refusals of payments not dropped", "error", err)
		}
	}
}

// dropClaims removes claims that are too old to be kept.
func (e *Engine) dropClaims() error {
	_, newest, _ := e.Store.Head()
	return account.DropClaims(e.Store.Scan, e.Clock.Read(), pix.Millis(newest), e.drop)
}

// drop makes deletions of rows durable that every machine decides for itself.
func (e *Engine) drop(ops ...wal.Op) error { return write(e.Store, local, ops...) }
