package simulation

import (
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// waits checks that the time for which a payout waits is the one that the flags set, in
// engine time, and that no payout of an inactive account leaves the queue or is approved.
func (c *chronicle) waits(l *life, r *ledger.Record, old *ledger.Transaction, made written) {
	t, long := r.Tx, pix.Millis(0)
	switch r.Kind {
	case ledger.PayoutSending, ledger.PayoutApproved:
		if !made.active {
			l.fail("%v goes out (%v), and its account is not active", t.ID, r.Kind)
		}
		long = made.terms.OrphanAfter
	case ledger.PayoutHeld, ledger.PayoutAccepted, ledger.PayoutSent:
		long = made.terms.OrphanAfter
	case ledger.PayoutQueued, ledger.PayoutRequeued:
		if first := old.Payout.QueueEnds == 0; first && t.Payout.QueueEnds != made.clock+made.terms.QueueTTL || !first && t.Payout.QueueEnds != old.Payout.QueueEnds {
			l.fail("%v may stay in the queue for %d ms", t.ID, t.Payout.QueueEnds-made.clock)
		}
		long = max(0, t.Payout.QueueEnds-made.clock)
	case ledger.PayoutPending:
		long = made.terms.ApprovalTTL
	default:
		return
	}
	if t.Transfer.Doubt {
		long = 3_000
	}
	if r.Kind == ledger.PayoutAccepted && !t.Transfer.Doubt {
		return // the due row of the hold stays; an earlier process with other flags may have written it
	}
	if t.Transfer.DueAt > made.clock+long || (r.Kind == ledger.PayoutQueued || r.Kind == ledger.PayoutRequeued) && t.Transfer.DueAt != made.clock+long {
		l.fail("%v (%v) waits for %d ms", t.ID, r.Kind, t.Transfer.DueAt-made.clock)
	}
}

// gaveUp checks two rules for a payout that was voided or has expired: its whole time limit
// had passed in simulated time, and engine time was not doubted.
func (p *chronicled) gaveUp(l *life, made written) {
	since, limit := pix.Millis(0), pix.Millis(0)
	switch p.tx.ReasonCode {
	case ledger.ReasonVoided:
		if p.tx.ID.Time() <= made.terms.RestoredAt {
			return // the scheme does not know it: see report
		}
		since, limit = p.sent, made.terms.OrphanAfter
	case ledger.ReasonQueueTimeout:
		since, limit = p.queued.at, p.queued.terms.QueueTTL
	case ledger.ReasonExpired:
		if since, limit = p.hold, terms.ApprovalTTL; p.tx.Payout.OwnEndToEnd { // an end-to-end id that the merchant chose may become too old before ApprovalTTL ends
			since, limit = min(p.hold, expiryOf(p.tx.EndToEnd)-12*3_600_000), 11*3_600_000
		}
	default:
		return
	}
	if made.doubted {
		l.fail("%v is given up (%s) while the clock is doubted", p.tx.ID, p.tx.ReasonCode)
	}
	if p.tx.Doubted && p.tx.ReasonCode != ledger.ReasonVoided {
		return // its due time was set while engine time was doubted, so it may be wrong
	}
	if made.at-since < limit-l.slack() {
		l.fail("%v is given up (%s) %v ms after its time began", p.tx.ID, p.tx.ReasonCode, made.at-since)
	}
}
