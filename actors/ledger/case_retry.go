package ledger

import (
	"pixd/actors/pix"
)

// RetryCase is an operator's word that the engine may try the refunds of a case again, after
// one had failed for good.
type RetryCase struct {
	ID       pix.CaseID
	Operator string // 1 to 100 characters
}

func (c RetryCase) gather(g *gathering) (decider, error) { return c, g.caseByID(c.ID) }

// decide lets the engine try the refunds of a case again. The refusals are, in order:
// unknown case, no refund that failed for good, one that may still settle.
func (c RetryCase) decide(d *draft) Decision {
	if d.facts.Case == nil {
		return refuseWith(refuse(RefuseUnknownCase, "case not found"))
	}
	k := *d.facts.Case
	switch {
	case k.AwaitsOperator(&d.stamp.Terms):
		return refuseWith(refuse(RefuseNotFailed, "the case is from before a restore: an operator must let it go on first (pixd med resume)"))
	case !k.Stopped || k.Held == 0:
		return refuseWith(refuse(RefuseNotFailed, "no refund for the case has failed for good"))
	case d.mayStillSettle(&k):
		return refuseWith(refuse(RefuseNotFailed, "a refund for the case that has failed may still settle until "+d.mayStillSettleUntil(&k).String()))
	}
	k.Stopped, k.Unsure, k.Operator = false, 0, c.Operator
	d.mustAddCase(CaseRetried, &k, Body{})
	return d.doneCase(&k)
}

// mayStillSettleUntil is engine time until which a failed refund for a case may still settle. Versions of the
// engine that did not count their refunds did not note it: then it is 12 h from the start.
func (d *draft) mayStillSettleUntil(k *Case) pix.Millis {
	if k.Stopped && k.Parts == 0 {
		return max(k.Unsure, d.stamp.Start+MaxRepeatWindow)
	}
	return k.Unsure
}

// mayStillSettle tells whether a failed refund for a case may still settle.
func (d *draft) mayStillSettle(k *Case) bool {
	until := d.mayStillSettleUntil(k)
	return until != 0 && (d.stamp.Doubted && k.Unsure != 0 || d.stamp.Clock < until)
}
