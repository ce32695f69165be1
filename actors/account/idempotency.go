package account

import (
	"fmt"

	"pixd/actors/ledger"
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
	}
	if claim != nil {
		claim.At, claim.Bucket = now, uint16(now/day)
	}
	return claim
}

// recall looks for an earlier request under the claim, in today's bucket and in
// yesterday's, younger than 24 h: one that was answered is replayed, one that
// is being worked on is waited for.
func (m *Machine) recall(f facts, c *ledger.Claim) (Effects, bool, error) {
	for _, bucket := range [...]uint16{c.Bucket, c.Bucket - 1} {
		v, ok, err := f.get(ledger.IdempotencyKey(bucket, f.account, c.Scope))
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
		if c.At-row.At >= day && row.Answered {
			continue
		}
		e, err := m.again(f, c, row)
		return e, true, err
	}
	return Effects{}, false, nil
}

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
		m.start(&e, r.Tx, true)
	}
	return e, nil
}
