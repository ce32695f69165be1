package ledger

import (
	"fmt"

	"pixd/actors/pix"
)

// DefendCase is a merchant's defence of a case.
type DefendCase struct {
	ID            pix.CaseID
	Justification string // 1 to 2,000 characters
	Result        pix.CaseResult
	Contact       string
	Claim         *Claim
}

func (c DefendCase) traits() Traits { return Traits{Claim: c.Claim} }

func (c DefendCase) gather(g *gathering) (decider, error) { return c, g.caseByID(c.ID) }

// decide keeps the merchant's defence, whose fields the caller has checked. The
// refusals here are, in order: unknown case, case that can no longer be defended.
func (c DefendCase) decide(d *draft) Decision {
	if d.facts.Case == nil {
		return refuseWith(refuse(RefuseUnknownCase, "case not found"))
	}
	k := *d.facts.Case
	k.DeadlineAt = max(k.DeadlineAt, d.stamp.Terms.defendableUntil(&k))
	switch {
	case k.Status == pix.CaseDefended:
		return refuseWith(refuse(RefuseCaseOver, "the case was defended already"))
	case k.Status.Decided():
		return refuseWith(refuse(RefuseCaseOver, "the case is "+k.Status.String()))
	case !d.stamp.Doubted && d.stamp.Clock >= k.ends(k.DeadlineAt, d.stamp.Reading):
		return refuseWith(refuse(RefuseCaseOver, "the deadline for a defense has passed"))
	}
	k.Status, k.DueAt = pix.CaseDefended, k.AnalysisAt
	k.Defense = &Defense{Justification: c.Justification, Result: c.Result, Contact: c.Contact, SubmittedAt: d.stamp.Time}
	d.mustAddCase(CaseWasDefended, &k, Body{Claim: c.Claim})
	return d.doneCase(&k)
}

// CloseCase is the decision of the institution's analyst on a case.
type CloseCase struct {
	ID      pix.CaseID
	Result  pix.CaseResult
	Details string // at most 2,000 characters
}

func (c CloseCase) gather(g *gathering) (decider, error) {
	g.stakes.frees = true
	return c, g.caseByID(c.ID)
}

// decide carries out the analyst's decision. Refusals, in order: unknown case, case that
// was decided otherwise or withdrawn.
func (c CloseCase) decide(d *draft) Decision {
	if d.facts.Case == nil {
		return refuseWith(refuse(RefuseUnknownCase, "case not found"))
	}
	k := *d.facts.Case
	switch {
	case k.Status == pix.CaseClosed && k.Result == c.Result:
		return d.unchangedCase(&k)
	case k.Status == pix.CaseClosed:
		return refuseWith(refuse(RefuseCaseResult, "the case was closed as "+k.Result.String()))
	case k.Status == pix.CaseCancelled:
		return refuseWith(refuse(RefuseCaseResult, "the case is cancelled"))
	}
	k.Details = c.Details
	return d.closeAs(k, c.Result)
}

// closeAs closes a case. As agreed it goes on holding its money, which completeCases refunds as
// far as there is any, and goes on lacking what it lacks, unless all of the payment went back;
// as disagreed it releases it.
func (d *draft) closeAs(k Case, result pix.CaseResult) Decision {
	sums := d.sumsOf(k.Original)
	k.Short = k.Lacks()
	k.Status, k.Result, k.ClosedAt = pix.CaseClosed, result, d.stamp.Time
	if k.settle(&sums); result == pix.Agreed && k.DueAt != 0 {
		d.mustAddCase(CaseWasClosed, &k, Body{Events: []pix.EventKind{pix.EventCaseClosed}})
		if k.Awaits && k.Held > 0 {
			d.alertAwaits(&k)
		}
	} else {
		d.release(CaseWasClosed, &k, pix.EventCaseClosed)
	}
	return d.doneCase(&k)
}

// release adds a record after which the case holds nothing and waits for nothing.
func (d *draft) release(kind RecordKind, k *Case, events ...pix.EventKind) {
	sums := d.sumsOf(k.Original)
	sums.Held -= k.Held
	k.Held, k.Short, k.DueAt = 0, 0, 0
	d.mustAddCase(kind, k, Body{Sums: &sums, Events: events})
}

// releaseUnrefunded releases what an agreed case still holds when the scheme takes no more
// returns of its payment.
func (d *draft) releaseUnrefunded(k *Case) {
	if k.Held > 0 {
		d.alertCase(AlertUnrefunded, k, fmt.Sprintf("%v of what %v holds was not refunded in the %d days in which the scheme takes returns: it is released", k.Held, k.ID, returnDays))
	}
	d.release(CaseReleased, k)
}

// dueCase is the decision about a case whose due time has come.
type dueCase struct{}

// gatherDueCase reads the case of a due task, which must exist.
func (g *gathering) gatherDueCase(id pix.CaseID) (decider, error) {
	g.stakes.frees = true
	err := g.caseByID(id)
	if err == nil && g.cases.Case == nil {
		err = fmt.Errorf("%v is due and has no row", id)
	}
	return dueCase{}, err
}

// decide looks after a case whose due time has come. While engine time is doubted,
// nothing ends.
func (dueCase) decide(d *draft) Decision {
	k, now, out := *d.facts.Case, d.stamp.Clock, Decision{}
	redated := k.Doubted && !d.stamp.Doubted
	if redated {
		k.redate(d.stamp.Reading)
	}
	switch {
	case k.DueAt == 0:
		return Decision{Attended: &Attended{Skipped: true}}
	case k.Status == pix.CaseOpen && now >= k.DueAt && now < d.stamp.Terms.defendableUntil(&k) && !d.stamp.Doubted:
		k.DeadlineAt = d.stamp.Terms.defendableUntil(&k)
		k.DueAt = k.DeadlineAt
		d.mustAddCase(CaseWaits, &k, Body{})
		out = d.doneCase(&k)
	case k.AwaitsOperator(&d.stamp.Terms) && now >= k.DueAt && !d.stamp.Doubted:
		k.DueAt = 0
		d.mustAddCase(CaseAwaits, &k, Body{})
		d.alert(AlertUndecided, d.facts.Original, k.ID.String()+" is from before the restore, and its time is over: it stays as it is until an operator lets it go on (pixd med resume)")
		out = d.doneCase(&k)
	case now < k.DueAt && redated:
		d.mustAddCase(CaseWaits, &k, Body{})
		out = d.doneCase(&k)
	case now < k.DueAt:
		return Decision{Attended: &Attended{Again: k.DueAt}}
	case d.stamp.Doubted:
		return Decision{Attended: &Attended{}}
	case k.Status == pix.CaseClosed:
		d.releaseUnrefunded(&k)
		out = d.doneCase(&k)
	case k.Status == pix.CaseOpen && !d.stamp.Terms.MEDWaits:
		out = d.closeAs(k, pix.Agreed)
	case now < k.AnalysisAt:
		k.DueAt = k.AnalysisAt
		d.mustAddCase(CaseWaits, &k, Body{})
		out = d.doneCase(&k)
	default:
		k.DueAt = 0
		d.mustAddCase(CaseWaits, &k, Body{})
		d.alert(AlertUndecided, d.facts.Original, k.ID.String()+" is undecided at the end of the time for its analysis")
		out = d.doneCase(&k)
	}
	out.Attended = &Attended{}
	return out
}
