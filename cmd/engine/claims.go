package engine

import (
	"context"
	"slices"
	"time"

	"pixd/actors/clock"
	"pixd/actors/keyed"
	"pixd/actors/ledger"
	"pixd/wal"
)

// claimsFilter is the size, in bytes, of the filter over one hour's idempotency claims. There
// are at most 26 such filters, each made with the first claim of its hour: 104 MiB at most.
// For a new key 25 filters are asked. With a million claims in each hour one new key in a
// hundred is looked up in the store in vain, with three million one in four, with 5.4 million
// (1,500 a second, around the clock) three in four. The filters of the store's tables answer
// all but one in fifty of these lookups from memory.
const claimsFilter = 4 << 20

// newClaims returns filters over claims that are complete from the next full hour on. Claims
// of this hour may have been made before the start, by a process whose clock was ahead; the
// journal has that process's time.
func newClaims(c *clock.Clock) *keyed.Hours {
	const hour = ledger.Millis(time.Hour / time.Millisecond)
	return keyed.NewHours(int64(c.Stamp()/hour), claimsFilter)
}

// Claims older than 24 h are dropped by whole days: the claims of a day are dropped within an
// hour after that day has become the third before today. A claim that was stamped under doubt
// by an earlier process stays until this process is 24 h old.
const (
	dropEvery = time.Hour
	keptDays  = 3
)

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
		if now := e.Clock.Read(); !now.Doubted {
			if err := e.refusals.drop(now.Clock); err != nil && ctx.Err() == nil {
				e.Config.Log.Error("old refusals of payments not dropped", "error", err)
			}
		}
	}
}

// oldestKept returns the first day whose claims are kept at the given time; 0: the claims of
// all days are kept.
func oldestKept(at ledger.Millis) uint16 {
	today := ledger.BucketOf(at)
	if today < keptDays {
		return 0
	}
	return today - keptDays + 1
}

// dropClaims removes the claims of the days before oldestKept, if they are 24 h old by the rule
// of ledger.IdempotencyRow's Age, by which a request finds them. The time that decides the days
// is the earlier of engine time and the time of the journal's newest record. It removes none
// while engine time is doubted.
func (e *Engine) dropClaims() error {
	_, newest, _ := e.Store.Head()
	now := e.Clock.Read()
	until := oldestKept(min(now.Clock, ledger.Millis(newest)))
	if now.Doubted || until == 0 {
		return nil
	}
	lo, hi := ledger.IdempotencyBefore(until)
	if now.Clock-now.Start >= keptClaims {
		some := false
		if err := e.Store.Scan(lo, hi, func(_, _ []byte) (bool, error) { some = true; return false, nil }); err != nil || !some {
			return err
		}
		return write(e.Store, local, wal.Op{Kind: wal.OpDeleteRange, Key: lo, Value: hi})
	}
	for lo != nil {
		var ops []wal.Op
		var err error
		if ops, lo, err = agedClaims(e.Store.Scan, lo, hi, now, claimsAtOnce); err != nil {
			return err
		}
		if len(ops) > 0 {
			if err := write(e.Store, local, ops...); err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	keptClaims   = ledger.Millis(24 * time.Hour / time.Millisecond)
	claimsAtOnce = 100_000 // claims that are read for one entry
)

// agedClaims reads at most limit claims from lo on and deletes those that are 24 h old. In the
// first 24 h of a process the claims that were stamped under doubt are not: their age counts
// from its start. next is where the next call begins; nil: the claims up to hi were read.
func agedClaims(
	scan func(lo, hi []byte, fn func(k, v []byte) (bool, error)) error, lo, hi []byte, now ledger.Reading, limit int,
) (ops []wal.Op, next []byte, err error) {
	var begin []byte // the first claim of a range to delete; nil: there is none
	end := func(at []byte) {
		if begin != nil {
			ops, begin = append(ops, wal.Op{Kind: wal.OpDeleteRange, Key: begin, Value: slices.Clone(at)}), nil
		}
	}
	n := 0
	err = scan(lo, hi, func(k, v []byte) (bool, error) {
		if n++; n > limit {
			next = slices.Clone(k)
			return false, nil
		}
		row, err := ledger.DecodeIdempotencyRow(v)
		if err != nil {
			return false, err
		}
		if row.Age(now) < keptClaims {
			end(k)
		} else if begin == nil {
			begin = slices.Clone(k)
		}
		return true, nil
	})
	if next != nil {
		end(next)
	} else {
		end(hi)
	}
	return ops, next, err
}
