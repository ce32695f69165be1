package ledger

// retryCase lets the engine try the refunds of a case again. The refusals are, in order:
// unknown case, no refund that failed for good, one that may still settle.
func (d *draft) retryCase(c RetryCase, f Facts) Decision {
	if f.Case == nil {
		return Decision{Refusal: refuse(RefuseUnknownCase, "case not found")}
	}
	k := *f.Case
	switch {
	case k.AwaitsOperator(&d.stamp.Terms):
		return Decision{Refusal: refuse(RefuseNotFailed, "the case is from before a restore: an operator must let it go on first (pixd med resume)")}
	case !k.Stopped || k.Held == 0:
		return Decision{Refusal: refuse(RefuseNotFailed, "no refund for the case has failed for good")}
	case k.Unsure != 0 && (d.stamp.Doubted || d.stamp.Clock < k.Unsure):
		return Decision{Refusal: refuse(RefuseNotFailed, "a refund for the case that has failed may still settle until "+k.Unsure.String())}
	}
	k.Stopped, k.Unsure, k.Operator = false, 0, c.Operator
	d.mustAddCase(CaseRetried, &k, Body{})
	return d.doneCase(&k)
}
