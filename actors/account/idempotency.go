package account

import (
	"fmt"
	"math"
	"slices"

	"pixd/actors/ledger"
	"pixd/actors/payout"
)

const day = ledger.Millis(24 * 60 * 60 * 1000)

// claimOf is the command's idempotency claim, with its instant and bucket
// filled in; nil where it has none.
func claimOf(c ledger.Command, now ledger.Millis) *ledger.Claim {
	var claim *ledger.Claim
	switch c := c.(type) {
	case ledger.CreateCharge:
		claim = c.Claim
	case ledger.RequestPayout:
		claim = c.Claim
	case ledger.Recall:
		claim = c.Claim
	case ledger.KeepAnswer:
		claim = c.Claim
	}
	if claim != nil {
		claim.At, claim.Bucket = now, ledger.BucketOf(now)
	}
	return claim
}

// recall looks for an earlier request under the claim, younger than 24 h: one that was
// answered is replayed, one that is being worked on is waited for. No claim grows too
// old while the clock is doubted.
func (m *Machine) recall(f facts, c *ledger.Claim, now ledger.Reading) (Effects, bool, error) {
	days := []uint16{c.Bucket, c.Bucket - 1}
	c.Doubted = now.Doubted
	anyDay := now.Doubted || now.Clock < c.At // a claim's day is as doubtful as the clock
	if !anyDay && now.Clock-now.Start < day {
		// Claims of an earlier process, whose clock may have been doubted.
		days = []uint16{c.Bucket + 1, c.Bucket, c.Bucket - 1, c.Bucket - 2, c.Bucket - 3}
	}
	if anyDay {
		var err error
		if days, err = f.claimDays(days); err != nil {
			return Effects{}, false, fmt.Errorf("account %v: days of claims: %w", f.account, err)
		}
	}
	for _, bucket := range days {
		v, ok, err := m.claim(f, bucket, c, anyDay)
		if err != nil {
			return Effects{}, false, fmt.Errorf("account %v: claim: %w", f.account, err)
		}
		if !ok {
			continue
		}
		row, err := ledger.DecodeIdempotencyRow(v)
		if err != nil {
			return Effects{}, false, err
		}
		if !now.Doubted && row.Age(now) >= day {
			continue
		}
		e, err := m.again(f, c, row)
		return e, true, err
	}
	return Effects{}, false, nil
}

// claimDays are the days given and those that have claims, the newest first: of two
// claims of one key the later one counts.
func (f facts) claimDays(days []uint16) ([]uint16, error) {
	for from := 0; from >= 0; {
		lo, hi := ledger.IdempotencyFrom(uint16(from))
		from = -1
		err := f.store.Scan(lo, hi, func(k, _ []byte) (bool, error) {
			d, err := ledger.DecodeIdempotencyDay(k)
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

// claim is what a bucket has under the claim's scope. Most requests are new: the
// store is asked only where the claims of this process's hours do not rule it out,
// or where the claim may be of any day.
func (m *Machine) claim(f facts, bucket uint16, c *ledger.Claim, anyDay bool) ([]byte, bool, error) {
	key := ledger.IdempotencyKey(bucket, f.account, c.Scope)
	if r, ok := f.overlay.rows[string(key)]; ok {
		return r.value, r.value != nil, nil
	}
	if anyDay {
		return f.store.Get(key)
	}
	first, last := int64(bucket)*24, int64(bucket)*24+23
	if bucket == c.Bucket || bucket == c.Bucket-1 {
		first, last = max(first, hourOf(c.At-day)), min(last, hourOf(c.At))
	}
	if !m.config.Claims.MayHave(first, last, claimant(key)) {
		return nil, false, nil
	}
	return f.store.Get(key)
}

// claimant is the part of an idempotency key that says who claims what: without
// its tag and day.
func claimant(key []byte) []byte { return key[3:] }

func hourOf(t ledger.Millis) int64 { return int64(t / (60 * 60 * 1000)) }

func (m *Machine) again(f facts, c *ledger.Claim, row ledger.IdempotencyRow) (Effects, error) {
	r, err := f.record(f.account, row.Seq)
	if err != nil {
		return Effects{}, fmt.Errorf("account %v: answer under a claim: %w", f.account, err)
	}
	other := row.BodyHash != c.BodyHash
	if row.Answered {
		return Effects{Answer: &ledger.Answer{Stored: r.Stored, Replay: true, Mismatch: other}}, nil
	}
	e := Effects{Await: row.Tx, Join: true, Other: other}
	if m.work[row.Tx] != nil {
		return e, nil
	}
	t, err := f.state(row.Tx, row.Seq)
	if err == nil && t.Status != ledger.StatusHeld {
		err = fmt.Errorf("payout %v is %v, and its claim has no answer", row.Tx, t.Status)
	}
	if err != nil {
		return Effects{}, fmt.Errorf("account %v: %w", f.account, err)
	}
	m.start(&e, t, payout.Resume)
	return e, nil
}
