package ledger

import (
	"fmt"
	"math"
	"slices"
)

const (
	hour = Millis(60 * 60 * 1000)
	day  = 24 * hour
)

// claimOf is the command's idempotency claim; nil where it has none.
func claimOf(c Command) *Claim {
	switch c := c.(type) {
	case CreateCharge:
		return c.Claim
	case RequestPayout:
		return c.Claim
	case Recall:
		return c.Claim
	case KeepAnswer:
		return c.Claim
	}
	return nil
}

// date fills in when the claim is made.
func (c *Claim) date(now Reading) {
	c.At, c.Bucket, c.Doubted = now.Time, BucketOf(now.Time), now.Doubted
}

// Earlier is a request that was made before under the same claim.
type Earlier struct {
	Stored  *Stored      // its answer; nil where it is still being worked on
	Other   bool         // its body was another
	Tx      *Transaction // what is being worked on, where no child carries it
	Payout  TxID         // what is being worked on
	Carried bool         // a child carries it
}

// decision answers a request as the earlier one was answered, or has it wait for the
// same outcome; a payout whose child was lost gets another.
func (e *Earlier) decision() Decision {
	out := Decision{Earlier: e}
	if e.Tx != nil {
		out.Launch = []Launch{{e.Tx, GoalResume}}
	}
	return out
}

// earlier looks for an earlier request under the claim, younger than 24 h. No claim
// grows too old while the clock is doubted.
func (g *gathering) earlier(c *Claim) (*Earlier, error) {
	now := g.stamp.Reading
	days, anyDay, err := g.claimDays(c, now)
	if err != nil {
		return nil, fmt.Errorf("days of claims: %w", err)
	}
	for _, bucket := range days {
		v, ok, err := g.claimed(bucket, c, anyDay)
		if err != nil {
			return nil, fmt.Errorf("claim: %w", err)
		}
		if !ok {
			continue
		}
		row, err := DecodeIdempotencyRow(v)
		if err != nil {
			return nil, err
		}
		if !now.Doubted && row.Age(now) >= day {
			continue
		}
		return g.again(c, row)
	}
	return nil, nil
}

// claimed is what a day has under the claim's scope.
func (g *gathering) claimed(bucket uint16, c *Claim, anyDay bool) ([]byte, bool, error) {
	key := IdempotencyKey(bucket, g.account.ID, c.Scope)
	if anyDay {
		return g.Row(key)
	}
	from, to := Millis(bucket)*day, Millis(bucket)*day+day-1
	if bucket == c.Bucket || bucket == c.Bucket-1 {
		from, to = max(from, c.At-day), min(to, c.At)
	}
	return g.Claim(key, from, to)
}

// claimDays are the days on which an earlier request may have been made, the newest
// first: of two claims of one key the later one counts. The second result says that
// it may be any day that has claims, because the clock cannot tell.
func (g *gathering) claimDays(c *Claim, now Reading) (days []uint16, anyDay bool, err error) {
	switch {
	case now.Doubted || now.Clock < c.At: // a claim's day is as doubtful as the clock
		days, err = g.daysThere([]uint16{c.Bucket, c.Bucket - 1})
		return days, true, err
	case now.Clock-now.Start < day:
		// Claims of an earlier process, whose clock may have been doubted.
		return []uint16{c.Bucket + 1, c.Bucket, c.Bucket - 1, c.Bucket - 2, c.Bucket - 3}, false, nil
	}
	return []uint16{c.Bucket, c.Bucket - 1}, false, nil
}

// daysThere are the days given and those that have claims on disk, the newest first.
func (g *gathering) daysThere(days []uint16) ([]uint16, error) {
	for from := 0; from >= 0; {
		lo, hi := IdempotencyFrom(uint16(from))
		from = -1
		err := g.Scan(lo, hi, func(k, _ []byte) (bool, error) {
			d, err := DecodeIdempotencyDay(k)
			if !slices.Contains(days, d) {
				days = append(days, d)
			}
			if d < math.MaxUint16 {
				from = int(d) + 1
			}
			return false, err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(days, func(a, b uint16) int { return int(b) - int(a) })
	return days, nil
}

// again is the earlier request that a claim's row names.
func (g *gathering) again(c *Claim, row IdempotencyRow) (*Earlier, error) {
	r, err := g.Record(g.account.ID, row.Seq)
	if err != nil {
		return nil, fmt.Errorf("answer under a claim: %w", err)
	}
	e := &Earlier{Other: row.BodyHash != c.BodyHash, Payout: row.Tx}
	if row.Answered {
		e.Stored = r.Stored
		return e, nil
	}
	if e.Carried = g.Carried(row.Tx) != nil; e.Carried {
		return e, nil
	}
	if e.Tx, err = g.state(row.Tx, row.Seq); err != nil {
		return nil, err
	}
	if e.Tx.Status != StatusHeld {
		return nil, fmt.Errorf("payout %v is %v, and its claim has no answer", row.Tx, e.Tx.Status)
	}
	return e, nil
}
