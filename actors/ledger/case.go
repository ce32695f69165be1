package ledger

import (
	"pixd/actors/layout"
	"pixd/actors/pix"
)

// Case is a special-return case (MED): a payer has reported a payment that the account
// received, and the institution must decide whether the money goes back. Every record about
// a case contains the whole case, in its state after the record.
type Case struct {
	ID         pix.CaseID `cbor:"1,keyasint"`
	Ordinal    uint64     `cbor:"2,keyasint"` // position among the account's cases in the order of opening, from 1
	Infraction string     `cbor:"3,keyasint"` // the scheme's id of the report
	Original   pix.TxID   `cbor:"4,keyasint"` // transaction id of the reported payment
	EndToEnd   string     `cbor:"5,keyasint"` // end-to-end id of the reported payment

	Amount   pix.Amount `cbor:"6,keyasint"`           // the disputed amount as reported, base units
	Held     pix.Amount `cbor:"7,keyasint,omitempty"` // what the case holds of the account's money, whether there is so much or not
	Covered  pix.Amount `cbor:"8,keyasint,omitempty"` // the part of Held for which there was money right after the record
	Refunded pix.Amount `cbor:"9,keyasint,omitempty"` // what the engine's refunds for this case have returned

	Situation  string         `cbor:"10,keyasint"` // the directory's word for the fraud
	Status     pix.CaseStatus `cbor:"11,keyasint"`
	Result     pix.CaseResult `cbor:"12,keyasint,omitempty"`
	Details    string         `cbor:"13,keyasint,omitempty"` // the analyst's words
	Defense    *Defense       `cbor:"14,keyasint,omitempty"`
	OpenedAt   pix.Millis     `cbor:"15,keyasint"`
	DeadlineAt pix.Millis     `cbor:"16,keyasint"` // engine time until which the merchant may defend the case
	AnalysisAt pix.Millis     `cbor:"17,keyasint"` // engine time until which the institution should decide
	ClosedAt   pix.Millis     `cbor:"18,keyasint,omitempty"`
	ReleaseAt  pix.Millis     `cbor:"19,keyasint"`           // engine time at which what an agreed case still holds is released
	DueAt      pix.Millis     `cbor:"20,keyasint,omitempty"` // engine time of the case's due row; 0: it has none
	Stopped    bool           `cbor:"21,keyasint,omitempty"` // a refund for this case failed for good: the engine makes no further one until an operator says so
	Doubted    bool           `cbor:"22,keyasint,omitempty"` // engine time was doubted at the opening, and the time limits were not counted anew since; see ends
	Short      pix.Amount     `cbor:"23,keyasint,omitempty"` // what the case disputes beyond Held, refunds in flight for it, and Refunded: the rest of the payment was smaller
	Parts      uint64         `cbor:"24,keyasint,omitempty"` // number of refunds that the engine has made for the case
	Operator   string         `cbor:"25,keyasint,omitempty"` // the operator who last let the engine go on with the case
	Unsure     pix.Millis     `cbor:"26,keyasint,omitempty"` // engine time until which a failed refund for the case may still settle; 0: there is none
	Epoch      uint64         `cbor:"27,keyasint,omitempty"` // Terms.Epoch when the case was opened, or when an operator last let it go on after a restore
	Awaits     bool           `cbor:"28,keyasint,omitempty"` // the journal was restored since Epoch: the engine does nothing for the case before an operator lets it go on

	// The record that contains this state of the case; not stored, because it is that record.
	at  uint64 // sequence of the record; 0: the case has no record yet
	was state  // state of the case in that record
}

// state is the part of a case's state on which the totals and rows of its next record
// depend.
type state struct {
	status     pix.CaseStatus
	held, owed pix.Amount
	short      pix.Amount
	due        pix.Millis
}

// Defense is a merchant's defence of a case.
type Defense struct {
	Justification string         `cbor:"1,keyasint"` // 1 to 2,000 characters
	Result        pix.CaseResult `cbor:"2,keyasint"` // what the merchant proposes
	Contact       string         `cbor:"3,keyasint,omitempty"`
	SubmittedAt   pix.Millis     `cbor:"4,keyasint"`
}

// epochOf is the epoch of a case about a payment. A payment from before the acceptance of a gap
// may have been refunded in it, so a report that comes later awaits an operator too.
func (t *Terms) epochOf(o *Transaction) uint64 {
	before := o.BookedAt <= t.GapEnd || pix.ValidEndToEnd(o.EndToEnd) && minuteOf(o.EndToEnd) < t.GapEnd
	if t.Epoch > 0 && before {
		return t.Epoch - 1
	}
	return t.Epoch
}

// defendableUntil is the instant before which a case from before a restore is not closed because nobody has
// defended it: its merchant may have done so since, which is lost. The merchant has a day, or Terms.MEDDeadline
// where that is less; 0: the case is from after the restore.
func (t *Terms) defendableUntil(c *Case) pix.Millis {
	if t.RestoredAt == 0 || c.OpenedAt > t.RestoredAt {
		return 0
	}
	return t.RestoredAt + min(t.MEDDeadline, day)
}

// Owed is what the engine still has to refund for a case that was closed as agreed: it makes
// a refund as soon as there is money.
func (c *Case) Owed() pix.Amount {
	if c.Status == pix.CaseClosed && !c.Stopped && !c.Awaits {
		return c.Held // only an agreed case still holds money after its end
	}
	return 0
}

// AwaitsOperator tells whether a case is from before a restore whose gap was accepted. Then the
// scheme may have carried out refunds of its payment that the journal lacks, so the engine
// neither ends the case nor refunds anything for it before an operator lets it go on. A case for
// which nothing can be refunded any more awaits nothing.
func (c *Case) AwaitsOperator(t *Terms) bool {
	owes := !c.Status.Decided() || c.Result == pix.Agreed && c.Refunded < c.Amount
	return c.Epoch < t.Epoch && owes && c.Status != pix.CaseCancelled
}

// ends returns the engine time at which something ends that was to end, as seen at the
// opening, at the time limit. If engine time was doubted at the opening, the case counts as
// opened at the start of this process at the earliest: see Reading.since.
func (c *Case) ends(limit pix.Millis, now pix.Reading) pix.Millis {
	return limit + now.Since(c.OpenedAt, c.Doubted) - c.OpenedAt
}

// redate sets the case's time limits to when they end, which is done once: later restarts do
// not move them again.
func (c *Case) redate(now pix.Reading) {
	for _, at := range []*pix.Millis{&c.DeadlineAt, &c.AnalysisAt, &c.ReleaseAt, &c.DueAt} {
		if *at != 0 {
			*at = c.ends(*at, now)
		}
	}
	c.Doubted = false
}

// standsAt says that the record seq contains this state of the case.
func (c *Case) standsAt(seq uint64) {
	c.at, c.was = seq, state{c.Status, c.Held, c.Owed(), c.Short, c.DueAt}
}

// room is what of the disputed amount is neither refunded nor held nor lacked: what refunds in flight
// have of it, except where one that had failed has settled late.
func (c *Case) room() pix.Amount { return c.Amount - c.Refunded - c.Held - c.Short }

// Lacks is what a case disputes and does not hold, because other cases held it, or refunds
// had returned it or were in flight, when the hold was computed. As soon as that part of the
// payment is free, the case holds it. A case that was opened by an earlier version of the
// engine has no Short before its next record.
func (c *Case) Lacks() pix.Amount {
	if c.Status.Decided() {
		return c.Short
	}
	return max(0, c.Amount-c.Held-c.Refunded)
}

// over tells whether the scheme takes no more returns of the case's payment, by a clock that
// is not doubted.
func (c *Case) over(now pix.Reading) bool {
	return !now.Doubted && now.Clock >= c.ends(c.ReleaseAt, now)
}

// settle sets the due time of a decided case: it waits for the end of the time for returns as
// long as it holds money or may come to hold some. After the refund of the whole payment, whose
// sums s are, it lacks nothing.
func (c *Case) settle(s *layout.RefundSums) {
	if s.Settled >= s.Amount {
		c.Short = 0
	}
	if c.DueAt = 0; c.Held > 0 || c.Short > 0 {
		c.DueAt = c.ReleaseAt
	}
}

// Record returns the sequence of the record that contains this state of the case.
func (c *Case) Record() uint64 { return c.at }

// OwnedCase is a case together with the account that it belongs to.
type OwnedCase struct {
	Account pix.AccountID
	Case    *Case
}

// Payment is the transaction_id of the payment that a case is about. The prefix is the
// same for a charge's payment and any other.
func (c *Case) Payment() string { return c.Original.Public(pix.TxReceipt) }
