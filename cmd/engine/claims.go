package engine

import (
	"context"
	"time"

	"pixd/actors/keyed"
	"pixd/actors/ledger"
	"pixd/wal"
)

// claimsFilter is the size, in bytes, of the filter over one hour's idempotency
// claims; there are at most 26 of them, each made with its hour's first claim:
// 104 MiB at most. A new key asks 25 of them. At a million claims in each hour one
// new key in a hundred is looked for in vain, at three million one in four, at 5.4
// million (1 500 a second, around the clock) three in four. What is looked for in
// vain, the tables' own filters answer from memory, save one in fifty.
const claimsFilter = 4 << 20

// newClaims witnesses claims from the next hour on: those of this hour may have
// been made before the start, and a clock that was ahead then is in the journal.
func newClaims(s *wal.Store) *keyed.Hours {
	_, newest, _ := s.Head()
	const hour = ledger.Millis(time.Hour / time.Millisecond)
	return keyed.NewHours(int64(max(now(), ledger.Millis(newest))/hour), claimsFilter)
}

// Claims older than 24 h are dropped by the day, at most an hour after the day
// has become the third before today.
const (
	dropEvery = time.Hour
	keptDays  = 3
)

func (e *Engine) keepClaims(ctx context.Context) {
	ticker := time.NewTicker(dropEvery)
	defer ticker.Stop()
	started := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		// Since goes by the machine's own count: a clock that is set forward while
		// the process runs makes no claim old.
		if err := e.dropClaims(started.Add(time.Since(started))); err != nil && ctx.Err() == nil {
			e.Config.Log.Error("claims of past days not dropped", "error", err)
		}
	}
}

// oldestKept is the first day whose claims are kept at an instant; 0: all are.
func oldestKept(at ledger.Millis) uint16 {
	today := ledger.BucketOf(at)
	if today < keptDays {
		return 0
	}
	return today - keptDays + 1
}

// dropClaims removes the claims of days that nobody asks for any more, by the
// earliest of the time that has passed, the clock and the journal's time.
func (e *Engine) dropClaims(passed time.Time) error {
	_, newest, _ := e.Store.Head()
	until := oldestKept(min(ledger.Millis(passed.UnixMilli()), now(), ledger.Millis(newest)))
	if until == 0 {
		return nil
	}
	lo, hi := ledger.IdempotencyBefore(until)
	some := false
	if err := e.Store.Scan(lo, hi, func(_, _ []byte) (bool, error) { some = true; return false, nil }); err != nil || !some {
		return err
	}
	return write(e.Store, wal.Op{Kind: wal.OpDeleteRange, Key: lo, Value: hi})
}
