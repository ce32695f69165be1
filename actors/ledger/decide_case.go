package ledger

import "fmt"

// returnDays is the number of days after a payment within which the scheme takes its return.
// Source: PIX regulation, special return (MED), and DT05 of the SPI catalogue.
const returnDays = 90

// returnEnd is engine time until which the scheme takes returns of a received payment. It
// counts from the scheme's date of the payment where the payment was told a day late or more.
func returnEnd(t *Transaction, now Reading) Millis {
	if t.PaidAt > 0 {
		return t.PaidAt + returnDays*day
	}
	return now.since(max(t.BookedAt, t.ID.Time()), t.Doubted) + returnDays*day
}

// openCase opens a case and holds the disputed amount at once, as far as it was not refunded
// or held before, also where there is less money. A report under an id that was told before
// opens nothing.
func (d *draft) openCase(c OpenCase, f Facts) Decision {
	if first := f.Case; first != nil || f.Elsewhere {
		if f.Elsewhere || first.EndToEnd != c.EndToEnd {
			d.alert(AlertContradiction, f.Original, "the scheme reports it under "+printable(c.Infraction)+", which is the report of another payment; nothing is changed")
		}
		return Decision{Case: first, Repeat: true, Alerts: d.alerts}
	}
	o, sums, terms, now := f.Original, f.Sums, &d.stamp.Terms, d.stamp.Clock
	if d.stamp.Doubted {
		now = d.stamp.Time // the later of the two times that may be right
	}
	k := Case{
		ID: CaseID(d.stamp.ID), Ordinal: d.totals.Cases + 1, Infraction: c.Infraction, Original: o.ID, EndToEnd: o.EndToEnd,
		Amount: c.Amount, Held: min(c.Amount, sums.Left()), Situation: c.Situation, Status: CaseOpen,
		OpenedAt: d.stamp.Time, DeadlineAt: now + terms.MEDDeadline, AnalysisAt: now + terms.MEDAnalysis,
		ReleaseAt: returnEnd(o, d.stamp.Reading), Doubted: d.stamp.Doubted, Epoch: terms.epochOf(o),
	}
	k.DueAt = k.DeadlineAt
	sums.Held += k.Held
	if r := d.addCase(CaseOpened, &k, &sums, EventRefundRequested); r != nil {
		return Decision{Refusal: r}
	}
	return d.doneCase(&k)
}

// cancelCase ends a case whose report was withdrawn, and releases its hold.
func (d *draft) cancelCase(c CancelCase, f Facts) Decision {
	k := *f.Case
	switch {
	case k.EndToEnd != c.EndToEnd:
		d.alert(AlertContradiction, f.Original, "the scheme withdraws "+printable(c.Infraction)+" for another payment than it reported; nothing is changed")
		return Decision{Case: &k, Repeat: true, Alerts: d.alerts}
	case k.Status == CaseClosed && k.Result == Agreed:
		d.alert(AlertContradiction, f.Original, "the scheme withdraws the report of a case that was closed as agreed; nothing is changed")
		return Decision{Case: &k, Repeat: true, Alerts: d.alerts}
	case k.Status.Decided():
		return Decision{Case: &k, Repeat: true}
	}
	k.Status, k.ClosedAt = CaseCancelled, d.stamp.Time
	d.release(CaseWithdrawn, &k, EventCaseClosed)
	return d.doneCase(&k)
}

// defendCase keeps the merchant's defence. The fields were checked in DefenseForm.Parse. The
// refusals here are, in order: unknown case, case that can no longer be defended.
func (d *draft) defendCase(c DefendCase, f Facts) Decision {
	if f.Case == nil {
		return Decision{Refusal: refuse(RefuseUnknownCase, "case not found")}
	}
	k := *f.Case
	switch {
	case k.Status == CaseDefended:
		return Decision{Refusal: refuse(RefuseCaseOver, "the case was defended already")}
	case k.Status.Decided():
		return Decision{Refusal: refuse(RefuseCaseOver, "the case is "+k.Status.String())}
	case !d.stamp.Doubted && d.stamp.Clock >= k.ends(k.DeadlineAt, d.stamp.Reading):
		return Decision{Refusal: refuse(RefuseCaseOver, "the deadline for a defense has passed")}
	}
	k.Status, k.DueAt = CaseDefended, k.AnalysisAt
	k.Defense = &Defense{Justification: c.Justification, Result: c.Result, Contact: c.Contact, SubmittedAt: d.stamp.Time}
	d.mustAddCase(CaseWasDefended, &k, Body{Claim: c.Claim})
	return d.doneCase(&k)
}

// closeCase carries out the analyst's decision. Refusals, in order: unknown case, case that
// was decided otherwise or withdrawn.
func (d *draft) closeCase(c CloseCase, f Facts) Decision {
	if f.Case == nil {
		return Decision{Refusal: refuse(RefuseUnknownCase, "case not found")}
	}
	k := *f.Case
	switch {
	case k.Status == CaseClosed && k.Result == c.Result:
		return Decision{Case: &k, Repeat: true}
	case k.Status == CaseClosed:
		return Decision{Refusal: refuse(RefuseCaseResult, "the case was closed as "+k.Result.String())}
	case k.Status == CaseCancelled:
		return Decision{Refusal: refuse(RefuseCaseResult, "the case is cancelled")}
	}
	k.Details = c.Details
	return d.closeAs(k, c.Result)
}

// closeAs closes a case. As agreed it goes on holding its money, which afterCases refunds as
// far as there is any, and goes on lacking what it lacks, unless all of the payment went back;
// as disagreed it releases it.
func (d *draft) closeAs(k Case, result CaseResult) Decision {
	sums := d.sumsOf(k.Original)
	k.Short = k.Lacks()
	k.Status, k.Result, k.ClosedAt = CaseClosed, result, d.stamp.Time
	if k.settle(&sums); result == Agreed && k.DueAt != 0 {
		d.mustAddCase(CaseWasClosed, &k, Body{Events: []EventKind{EventCaseClosed}})
		if k.Awaits && k.Held > 0 {
			d.alertAwaits(&k)
		}
	} else {
		d.release(CaseWasClosed, &k, EventCaseClosed)
	}
	return d.doneCase(&k)
}

// release adds a record after which the case holds nothing and waits for nothing.
func (d *draft) release(kind RecordKind, k *Case, events ...EventKind) {
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

// attendCase looks after a case whose due time has come. While engine time is doubted,
// nothing ends.
func (d *draft) attendCase(f Facts) Decision {
	k, now, out := *f.Case, d.stamp.Clock, Decision{}
	redated := k.Doubted && !d.stamp.Doubted
	if redated {
		k.redate(d.stamp.Reading)
	}
	switch {
	case k.DueAt == 0:
		return Decision{Attended: &Attended{Skipped: true}}
	case k.AwaitsOperator(&d.stamp.Terms) && now >= k.DueAt && !d.stamp.Doubted:
		k.DueAt = 0
		d.mustAddCase(CaseAwaits, &k, Body{})
		d.alert(AlertUndecided, f.Original, k.ID.String()+" is from before the restore, and its time is over: it stays as it is until an operator lets it go on (pixd med resume)")
		out = d.doneCase(&k)
	case now < k.DueAt && redated:
		d.mustAddCase(CaseWaits, &k, Body{})
		out = d.doneCase(&k)
	case now < k.DueAt:
		return Decision{Attended: &Attended{Again: k.DueAt}}
	case d.stamp.Doubted:
		return Decision{Attended: &Attended{}}
	case k.Status == CaseClosed:
		d.releaseUnrefunded(&k)
		out = d.doneCase(&k)
	case k.Status == CaseOpen && !d.stamp.Terms.MEDWaits:
		out = d.closeAs(k, Agreed)
	case now < k.AnalysisAt:
		k.DueAt = k.AnalysisAt
		d.mustAddCase(CaseWaits, &k, Body{})
		out = d.doneCase(&k)
	default:
		k.DueAt = 0
		d.mustAddCase(CaseWaits, &k, Body{})
		d.alert(AlertUndecided, f.Original, k.ID.String()+" is undecided at the end of the time for its analysis")
		out = d.doneCase(&k)
	}
	out.Attended = &Attended{}
	return out
}

// addCase adds a record about a case that may change refund sums (nil: it does not).
func (d *draft) addCase(kind RecordKind, k *Case, sums *RefundSums, events ...EventKind) *Refusal {
	return d.addCaseBody(kind, k, Body{Sums: sums, Events: events})
}

// mustAddCase adds a record about a case that releases held money or moves none, so that its
// sums cannot overflow.
func (d *draft) mustAddCase(kind RecordKind, k *Case, b Body) {
	if r := d.addCaseBody(kind, k, b); r != nil {
		panic("ledger: " + r.Message)
	}
}

func (d *draft) addCaseBody(kind RecordKind, k *Case, b Body) *Refusal {
	if !k.Status.Decided() {
		k.Short = k.Lacks()
	}
	k.Awaits = k.AwaitsOperator(&d.stamp.Terms)
	k.Covered = d.covered(k)
	kept := *k
	b.Case = &kept
	if r := d.add(kind, b); r != nil {
		return r
	}
	*k = kept
	d.cases = with(d.cases, k.Ordinal, &kept)
	return nil
}

func (d *draft) doneCase(k *Case) Decision {
	out := d.done(nil)
	out.Case = k
	return out
}

// alertAwaits raises the alert about an agreed case that waits for an operator since a restore.
func (d *draft) alertAwaits(k *Case) {
	d.alertCase(AlertUndecided, k, k.ID.String()+" is agreed and from before the restore: nothing is refunded for it until an operator lets it go on (pixd med resume)")
}

// newest returns a copy of a gathered case, as it is after the decision's records so far.
func (d *draft) newest(k *Case) *Case {
	now := *k
	if changed := d.cases[k.Ordinal]; changed != nil {
		now = *changed
	}
	return &now
}

// alertCase raises an alert about a case; it names the case's payment.
func (d *draft) alertCase(kind string, k *Case, message string) {
	d.alert(kind, &Transaction{ID: k.Original, Kind: TxReceipt}, message)
}

// with sets a key of a map, which it makes where there is none.
func with[K comparable, V any](m map[K]V, k K, v V) map[K]V {
	if m == nil {
		m = map[K]V{}
	}
	m[k] = v
	return m
}
