package ledger

import "slices"

// resumeCase lets the engine go on with a case that awaits it since a restore. Returns of the
// payment that the scheme has settled and the journal lacks are debited and counted first, so
// that nothing is refunded twice. The refusals are, in order: unknown case, a case that awaits
// nothing, a return that is under way at the scheme and not known here, a refund of the payment from
// before the restore that is on its way here and not known at the scheme; what becomes of them decides
// how much is left to refund, and a return of the gap may stand for such a refund.
func (d *draft) resumeCase(c ResumeCase, f Facts) Decision {
	if f.Case == nil {
		return Decision{Refusal: refuse(RefuseUnknownCase, "case not found")}
	}
	if !f.Case.AwaitsOperator(&d.stamp.Terms) {
		return Decision{Refusal: refuse(RefuseNotAwaiting, "the case does not wait for an operator since a restore")}
	}
	for _, r := range f.Found {
		if refused := r.refuses(); refused != nil {
			return Decision{Refusal: refused}
		}
	}
	if t := f.Unnamed; t != nil {
		return Decision{Refusal: refuse(RefuseReturnOpen, "the refund "+t.Public()+" of the payment is on its way since before the restore, and the scheme does not know it: try again when it has ended")}
	}
	for _, r := range f.Found {
		if refused := d.countFound(r); refused != nil {
			return Decision{Refusal: refused}
		}
	}
	k := d.newest(f.Case)
	k.Epoch, k.Operator = d.stamp.Terms.Epoch, c.Operator
	d.schedule(k)
	d.mustAddCase(CaseResumed, k, Body{})
	return d.doneCase(k)
}

// refuses returns the refusal of a resume for a return whose end, or whose part in the books, is
// not known yet; nil: there is none.
func (r *FoundReturn) refuses() *Refusal {
	switch {
	case r.Foreign:
		return refuse(RefuseReturnOpen, "the scheme's return "+printable(r.ReturnID)+" has the ids of something else here")
	case r.Open && (r.Tx == nil || !r.Tx.Status.InFlight()):
		return refuse(RefuseReturnOpen, "the return "+r.ReturnID+" is under way at the scheme: try again when it has ended")
	case !r.Open && r.Tx != nil && r.Tx.Status == StatusFailed && !r.Tx.Voided():
		return refuse(RefuseReturnOpen, "the return "+r.ReturnID+" has settled at the scheme, and failed here")
	}
	return nil
}

// schedule sets the due time of a case to that of its status, or to now where that has passed:
// the scanner of due times finds rows of the past only in its look back once a minute. The time
// limits of a case that was opened under doubt are set to when they end first, or while the doubt
// lasts left as they are: redate would move a due time of now.
func (d *draft) schedule(k *Case) {
	if k.Doubted && !d.stamp.Doubted {
		k.redate(d.stamp.Reading)
	}
	switch k.Status {
	case CaseOpen:
		k.DueAt = k.DeadlineAt
	case CaseDefended:
		k.DueAt = k.AnalysisAt
	case CaseClosed:
		sums := d.sumsOf(k.Original)
		k.settle(&sums)
	}
	if k.DueAt != 0 && !k.Doubted {
		k.DueAt = max(k.DueAt, d.stamp.Clock)
	}
}

// countFound counts a return that the scheme has settled. One that is in flight here gets its
// outcome from the scheme, and one that has settled here is counted.
func (d *draft) countFound(r FoundReturn) *Refusal {
	t := r.Tx
	switch {
	case r.Open:
		return nil
	case t == nil:
		return d.findRefund(r)
	case t.Voided():
		d.facts.Counted = r.Counted
		_, refused := d.settleRefundLate(*t)
		return refused
	}
	return nil
}

// findRefund adds the record of a refund that an engine made after the snapshot and that the
// restored journal lacks: it is debited under the ids that the scheme has.
func (d *draft) findRefund(r FoundReturn) *Refusal {
	t := d.refundOf(r.ID, "", originalOf(d.facts.Original), r.Amount)
	t.EndToEnd, t.Refund.Code, t.Transfer = r.ReturnID, r.Reason, TransferPart{}
	d.facts.Counted = nil
	if k, part := d.caseOfReturn(r); k != nil {
		k.Parts = max(k.Parts, part) // the next refund of the case gets another id
		d.cases = with(d.cases, k.Ordinal, k)
		d.facts.Counted = []*Case{k}
		owes := k.Amount - k.Refunded
		if part == 0 { // it is not instead of one that is on its way
			owes = k.Held + k.Lacks()
		}
		if r.Amount <= owes {
			t.Refund.Case = &k.ID
		} else if t.Refund.Counts = []CaseShare{{k.ID, owes}}; owes <= 0 { // the rest was for a case that the journal lacks
			t.Refund.Counts, d.facts.Counted = nil, nil
		}
	}
	sums := d.countBack(&t, CaseCounted)
	d.show(&t)
	d.book(&t, StatusSettled)
	if refused := d.add(RefundFound, Body{Tx: &t, Sums: sums, Events: []EventKind{EventRefundCompleted}}); refused != nil {
		return refused
	}
	d.alert(AlertLate, &t, "the scheme has settled a refund that the journal lacks since the restore: its amount is debited")
	return nil
}

// partsSought is how many refunds of one case are looked for beyond those that the journal has.
const partsSought = 256

// caseOfReturn finds the case for which a return was made, and which of the case's refunds it
// is; nil: none, the merchant requested it. The end of the id says it; a return for a fraud that
// no id explains counts towards the case in question.
func (d *draft) caseOfReturn(r FoundReturn) (*Case, uint64) {
	if r.Reason != fraudCode {
		return nil, 0
	}
	for _, k := range slices.Concat([]*Case{d.facts.Case}, d.facts.Rivals, d.facts.Lacking) {
		for part := k.Parts + 1; part <= k.Parts+partsSought; part++ {
			if r.ReturnID[len(r.ReturnID)-suffixChars:] == d.partSuffix(k, part) {
				return d.newest(k), part
			}
		}
	}
	return d.newest(d.facts.Case), 0
}
