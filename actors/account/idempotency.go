package account

import (
	"fmt"

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

// recall looks for an earlier request under the claim, in today's bucket and in
// yesterday's, younger than 24 h: one that was answered is replayed, one that
// is being worked on is waited for.
func (m *Machine) recall(f facts, c *ledger.Claim) (Effects, bool, error) {
	for _, bucket := range [...]uint16{c.Bucket, c.Bucket - 1} {
		v, ok, err := m.claim(f, bucket, c)
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
		if c.At-row.At >= day {
			continue
		}
		e, err := m.again(f, c, row)
		return e, true, err
	}
	return Effects{}, false, nil
}

// claim is what a bucket has under the claim's scope. Most requests are new: the
// store is asked only where the claims of this process's hours do not rule it out.
func (m *Machine) claim(f facts, bucket uint16, c *ledger.Claim) ([]byte, bool, error) {
	key := ledger.IdempotencyKey(bucket, f.account, c.Scope)
	if r, ok := f.overlay.rows[string(key)]; ok {
		return r.value, r.value != nil, nil
	}
	first, last := int64(bucket)*24, int64(bucket)*24+23
	first, last = max(first, hourOf(c.At-day)), min(last, hourOf(c.At))
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
	if m.work[row.Tx] == nil {
		m.start(&e, r.Tx, payout.Resume)
	}
	return e, nil
}
