package ledger

import (
	"fmt"
	"slices"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

const (
	hour = pix.Millis(60 * 60 * 1000)
	day  = 24 * hour
)

// stampTime stamps the claim with the time at which it is made.
func (c *Claim) stampTime(now pix.Reading) {
	c.At, c.Bucket, c.Doubted = now.Time, layout.BucketOf(now.Time), now.Doubted
}

// Earlier is what is known about an earlier request under the same idempotency claim.
type Earlier struct {
	Stored  *Stored      // the answer of the earlier request; nil while it has none
	Other   bool         // the body of the earlier request was different
	Tx      *Transaction // the payout of the earlier request, set only where the request has no answer and no child actor carries the payout
	Payout  pix.TxID     // id of the payout of the earlier request
	Carried bool         // a child actor carries that payout

	mayBeBack bool // Tx is a refund that must not be sent again
}

// decision gives a request the stored answer of the earlier request, or lets it wait for
// the outcome of the earlier request's payout. A payout or refund whose child actor was lost gets a
// new one.
func (e *Earlier) decision(t *Terms) Decision {
	out := Decision{Earlier: e}
	if e.Tx != nil {
		out.Launch = []Launch{{e.Tx, t.goOnWith(e.Tx, e.mayBeBack)}}
	}
	return out
}

// earlier looks for an earlier request under the same claim that is less than 24 h old.
// While engine time is doubted, a claim of any age counts.
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
		row, err := layout.DecodeIdempotencyRow(v)
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

// claimed reads the row of the claim on one day (bucket). It asks the filters over claims
// first, unless anyDay is true: the filters know a claim only by its hour.
func (g *gathering) claimed(bucket uint16, c *Claim, anyDay bool) ([]byte, bool, error) {
	key := layout.IdempotencyKey(bucket, g.account.ID, c.Scope)
	if anyDay {
		return g.Get(key)
	}
	from, to := pix.Millis(bucket)*day, pix.Millis(bucket)*day+day-1
	if bucket == c.Bucket || bucket == c.Bucket-1 {
		from, to = max(from, c.At-day), min(to, c.At)
	}
	return g.Claim(key, from, to)
}

// claimDays returns the days on which an earlier request under the claim may have been
// made, the newest first: if two are found, the newer one counts. anyDay is true where
// engine time cannot tell the day, so that every day with claims is searched.
func (g *gathering) claimDays(c *Claim, now pix.Reading) (days []uint16, anyDay bool, err error) {
	switch {
	case now.Doubted || now.Clock < c.At: // the claim's day was computed from a time that may be wrong
		days, err = layout.ClaimDays(g)
		return newestFirst([]uint16{c.Bucket, c.Bucket - 1}, days), true, err
	case now.Clock-now.Start < day:
		// In the first 24 h of a process a claim of an earlier process, whose engine time was
		// doubted, counts whatever its day is.
		return newestFirst([]uint16{c.Bucket + 1, c.Bucket, c.Bucket - 1, c.Bucket - 2, c.Bucket - 3}, g.stamp.Terms.ClaimDays), false, nil
	}
	return []uint16{c.Bucket, c.Bucket - 1}, false, nil
}

// newestFirst returns all of the days, each once, the newest first.
func newestFirst(days, others []uint16) []uint16 {
	for _, d := range others {
		if !slices.Contains(days, d) {
			days = append(days, d)
		}
	}
	slices.SortFunc(days, func(a, b uint16) int { return int(b) - int(a) })
	return days
}

// again reads the earlier request that the row of a claim leads to.
func (g *gathering) again(c *Claim, row layout.IdempotencyRow) (*Earlier, error) {
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
	if e.Tx.Status != pix.StatusHeld {
		return nil, fmt.Errorf("payout %v is %v, and its claim has no answer", row.Tx, e.Tx.Status)
	}
	if e.Tx.Kind == pix.TxRefund {
		e.mayBeBack, err = g.mayBeBack(e.Tx)
	}
	return e, err
}

// KeepAnswer stores the answer to a request that changes nothing, so that a repeat of the
// request under the same claim gets the same answer.
type KeepAnswer struct {
	Claim  *Claim // the claim to store the answer under; not nil
	Stored Stored
}

func (c KeepAnswer) traits() Traits { return Traits{Claim: c.Claim} }

func (c KeepAnswer) gather(g *gathering) (decider, error) { return g.needsNoFacts(c) }

func (c KeepAnswer) decide(d *draft) Decision {
	d.mustAdd(AnswerKept, Body{Claim: c.Claim, Stored: &c.Stored})
	out := d.done(nil)
	out.Stored = &c.Stored
	return out
}

// Recall reads the answer that is stored under a claim, if there is one.
type Recall struct{ Claim *Claim }

func (c Recall) traits() Traits { return Traits{Claim: c.Claim} }

func (c Recall) gather(g *gathering) (decider, error) { return g.needsNoFacts(c) }

func (Recall) decide(*draft) Decision { return Decision{} }
