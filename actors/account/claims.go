package account

import (
	"slices"
	"time"

	"pixd/actors/keyed"
	"pixd/actors/layout"
	"pixd/actors/pix"
	"pixd/wal"
)

// NewClaims returns filters over idempotency claims, each of so many bytes, for a process that
// starts now. They are complete from the next full hour on: claims of this hour may have been
// made before the start, by a process whose clock was ahead; a stamp has that process's time.
func NewClaims(now pix.Reading, bytes int) *keyed.Hours {
	const hour = pix.Millis(time.Hour / time.Millisecond)
	return keyed.NewHours(int64(now.Time/hour), bytes)
}

const (
	keptDays     = 3 // today and the two days before
	keptClaims   = pix.Millis(24 * time.Hour / time.Millisecond)
	claimsAtOnce = 100_000 // claims that are read for one entry
)

// OldestClaimDay returns the first day whose claims are kept at the given time (see
// layout.BucketOf); 0: the claims of all days are kept. Claims are dropped by whole days.
func OldestClaimDay(at pix.Millis) uint16 {
	today := layout.BucketOf(at)
	if today < keptDays {
		return 0
	}
	return today - keptDays + 1
}

// ScanFunc calls fn for each row with a key in [lo, hi), in ascending order, until fn returns
// false for more. k and v are valid only during the call of fn.
type ScanFunc = func(lo, hi []byte, visit layout.Visit) error

// DropClaims removes the claims of the days before OldestClaimDay, if they are 24 h old by the
// rule of layout.IdempotencyRow's Age, by which a request finds them. newest is the time of the
// journal's newest record; the earlier of it and engine time decides the days. While engine time
// is doubted, DropClaims removes none. write makes deletions durable; its errors and those of
// scan end the call, and the next call removes what is left.
func DropClaims(scan ScanFunc, now pix.Reading, newest pix.Millis, write func(...wal.Op) error) error {
	until := OldestClaimDay(min(now.Clock, newest))
	if now.Doubted || until == 0 {
		return nil
	}
	lo, hi := layout.IdempotencyBefore(until)
	if now.Clock-now.Start >= keptClaims {
		some := false
		if err := scan(lo, hi, func(_, _ []byte) (bool, error) { some = true; return false, nil }); err != nil || !some {
			return err
		}
		return write(wal.Op{Kind: wal.OpDeleteRange, Key: lo, Value: hi})
	}
	for lo != nil {
		var ops []wal.Op
		var err error
		if ops, lo, err = agedClaims(scan, lo, hi, now, claimsAtOnce); err != nil {
			return err
		}
		if len(ops) > 0 {
			if err := write(ops...); err != nil {
				return err
			}
		}
	}
	return nil
}

// agedClaims reads at most limit claims from lo on and deletes those that are 24 h old. In the
// first 24 h of a process the claims that were stamped under doubt are not: their age counts
// from its start. next is where the next call begins; nil: the claims up to hi were read.
func agedClaims(scan ScanFunc, lo, hi []byte, now pix.Reading, limit int) (ops []wal.Op, next []byte, err error) {
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
		row, err := layout.DecodeIdempotencyRow(v)
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
