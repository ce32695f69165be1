package simulation

import (
	"fmt"
	"slices"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// caseRecord checks a record about a special-return case.
func (b *refundBook) caseRecord(l *life, r *ledger.Record, before *ledger.Account) {
	k := r.Case
	old := b.cases[k.ID]
	if err := r.Follows(old); err != nil {
		l.fail("%v", err)
	}
	if want := announces[r.Kind]; !slices.Equal(r.Events, want) {
		l.fail("record %d of %v (%v) has the events %v, and should have %v", r.Seq, r.Account, r.Kind, r.Events, want)
	}
	if old == nil {
		b.opens(l, r)
	} else if was := old.Case; k.Amount != was.Amount || k.Infraction != was.Infraction || k.Original != was.Original || k.EndToEnd != was.EndToEnd ||
		k.Situation != was.Situation || k.OpenedAt != was.OpenedAt || !sameLimits(k, was, l.trueTimeOf(r)) || was.Result != 0 && k.Result != was.Result || was.ClosedAt != 0 && k.ClosedAt != was.ClosedAt {
		l.fail("record %d of %v (%v) makes %+v of %+v", r.Seq, r.Account, r.Kind, *k, *was)
	}
	made := l.trueTimeOf(r)
	switch r.Kind {
	case ledger.CaseWasDefended:
		if !made.doubted && made.clock >= ends(k, k.DeadlineAt, made) || k.Defense == nil || k.Defense.SubmittedAt != r.Time {
			l.fail("%v is defended at %v, until %v it could be", k.ID, made.clock, k.DeadlineAt)
		}
	case ledger.CaseWasClosed:
		b.closes(l, r, old, made)
	case ledger.CaseWithdrawn:
		if !l.outside.reports[k.Infraction].withdrawn || k.Held != 0 || k.ClosedAt != r.Time {
			l.fail("%v is cancelled as %+v, and its report was not withdrawn", k.ID, *k)
		}
	case ledger.CaseWaits:
		end := ends(old.Case, r.DueWas, made)
		if anew := old.Case.Doubted && made.clock < end && k.DueAt == end; made.doubted || made.clock < end && !anew {
			l.fail("a deadline of %v passes at %v, it was %v", k.ID, made.clock, end)
		}
	case ledger.CaseRefunding:
		b.refunding(l, r, before)
	case ledger.CaseReleased:
		b.releases(l, r, before, made)
	case ledger.CaseRaised:
		b.raises(l, r, made)
	case ledger.CaseRetried:
		if !old.Case.Stopped || k.Stopped || k.Operator == "" || made.clock < old.Case.Unsure || made.doubted && old.Case.Unsure != 0 {
			l.fail("%v is tried again as %+v, and was %+v", k.ID, *k, *old.Case)
		}
		l.count("meeting: refunds of a case tried again")
	case ledger.CaseAwaits, ledger.CaseResumed:
		b.waitsForOperator(l, r, old, made)
	case ledger.CaseRestored:
		b.restores(l, r, old, made)
	case ledger.CaseReduced:
		if b.reduced[k.Original] = true; k.Held >= r.HeldWas || k.DueAt != r.DueWas && k.Held > 0 && !k.Awaits {
			l.fail("record %d of %v reduces %+v, which held %d", r.Seq, r.Account, *k, r.HeldWas)
		}
	}
	b.cases[k.ID] = r
	b.summed(l, r, k.Original)
	b.totals(l, r)
}

// raises checks that a case takes what has become free of its payment, as far as it disputes it,
// and that no older case of the payment still lacks some.
func (b *refundBook) raises(l *life, r *ledger.Record, made written) {
	k := r.Case
	free := b.left(k.Original)
	if more := k.Held - r.HeldWas; more <= 0 || more > free || more < free && k.Short > 0 || k.Status.Decided() && !made.doubted && made.clock >= ends(k, k.ReleaseAt, made) {
		l.fail("record %d of %v raises %+v, which held %d, and %d were free", r.Seq, r.Account, *k, r.HeldWas, free)
	}
	for _, other := range b.cases {
		if o := other.Case; o.Original == k.Original && o.Ordinal < k.Ordinal && o.Short > 0 && !b.over(o, made) {
			l.fail("record %d of %v raises %v, and the older %v lacks %d", r.Seq, r.Account, k.ID, o.ID, o.Short)
		}
	}
	l.count("meeting: a case holds more than before")
	if k.Status.Decided() {
		l.count("meeting: an agreed case holds more than before")
	}
}

// over reports whether a case is decided and the time for returns of its payment has passed.
func (b *refundBook) over(k *ledger.Case, made written) bool {
	return k.Status.Decided() && !made.doubted && made.clock >= ends(k, k.ReleaseAt, made)
}

// waitsForOperator checks that a case waits for an operator only if it may be from before a
// restore, and goes on only by an operator.
func (b *refundBook) waitsForOperator(l *life, r, old *ledger.Record, made written) {
	k := r.Case
	awaits := k.AwaitsOperator(&made.terms)
	if l.gap == nil || awaits != (r.Kind == ledger.CaseAwaits) || k.Awaits != awaits || !awaits && k.Operator == "" || old == nil || k.Held != old.Case.Held {
		l.fail("record %d of %v (%v) makes %+v in epoch %d", r.Seq, r.Account, r.Kind, *k, made.terms.Epoch)
	}
	l.count("restored: " + r.Kind.String())
}

// opens checks the first record of a case.
func (b *refundBook) opens(l *life, r *ledger.Record) {
	k, made := r.Case, l.trueTimeOf(r)
	b.opened[k.ID] = made
	name := fmt.Sprint(r.Account, k.Infraction)
	if first, twice := b.reports[name]; twice {
		l.fail("%s has opened %v and %v", k.Infraction, first, k.ID)
	}
	b.reports[name] = k.ID
	told, origin := l.outside.reports[k.Infraction], b.received[k.Original]
	if origin == nil || origin.Account != r.Account || origin.Tx.EndToEnd != k.EndToEnd || told.endToEnd != k.EndToEnd || told.amount != k.Amount || told.account != r.Account {
		l.fail("%v is %+v, the report is %+v", k.ID, *k, told)
		return
	}
	if want := max(0, min(k.Amount, b.left(k.Original))); k.Held != want || k.Short != k.Amount-want {
		l.fail("%v holds %d and lacks %d, and should hold %d", k.ID, k.Held, k.Short, want)
	}
	if t := made.terms; t.Epoch > 0 && k.Epoch == t.Epoch && origin.Tx.BookedAt < t.GapEnd {
		l.fail("%v of a payment from before the restore does not wait for an operator", k.ID)
	}
	from := made.clock
	if made.doubted {
		from = r.Time
	}
	if k.OpenedAt != r.Time || k.Doubted != made.doubted || k.DeadlineAt != from+made.terms.MEDDeadline || k.AnalysisAt != from+made.terms.MEDAnalysis ||
		!returnsUntil(origin.Tx, k.ReleaseAt, made) {
		l.fail("%v is opened at %v with %+v", k.ID, made.clock, *k)
	}
}

// returnsUntil reports whether at is 90 days after a received payment or, where that was booked
// under doubt, after the start of the process.
func returnsUntil(t *ledger.Transaction, at pix.Millis, made written) bool {
	switch {
	case t.PaidAt > 0:
		return at == t.PaidAt+90*day
	case t.Doubted && at == made.start+90*day:
		return made.start >= t.BookedAt
	case t.Doubted && t.BookedAt < made.start:
		return false
	}
	return at >= t.BookedAt+90*day && at <= max(t.BookedAt, t.ID.Time())+90*day
}

// ends derives when something ends that was to end, as seen at the opening of a case, at limit.
func ends(k *ledger.Case, limit pix.Millis, made written) pix.Millis {
	if k.Doubted && made.start > k.OpenedAt {
		return limit + made.start - k.OpenedAt
	}
	return limit
}

// sameLimits reports whether a case's time limits are those that it had or, where its opening
// was doubted and no longer is, those counted anew; or it is from before a restore, and may be defended
// again. While time is doubted, nobody's time to defend is over.
func sameLimits(k, was *ledger.Case, made written) bool {
	deadline, analysis, release := was.DeadlineAt, was.AnalysisAt, was.ReleaseAt
	if k.Doubted != was.Doubted {
		if k.Doubted || made.doubted {
			return false
		}
		deadline, analysis, release = ends(was, deadline, made), ends(was, analysis, made), ends(was, release, made)
	}
	at := made.terms.RestoredAt
	if again := at + min(made.terms.MEDDeadline, day); at != 0 && was.OpenedAt <= at && k.DeadlineAt == again && (k.DueAt == again || k.Status == pix.CaseDefended) && (made.doubted || made.clock < again) {
		deadline = again // the merchant may have defended it in the gap
	}
	return k.DeadlineAt == deadline && k.AnalysisAt == analysis && k.ReleaseAt == release
}

// restores checks that a case holds the amount of its failed refund again, as far as it did not
// go back otherwise, and that of the engine's refunds only one whose id was too old lets a further
// one be made.
func (b *refundBook) restores(l *life, r, old *ledger.Record, made written) {
	k, t := r.Case, b.failed[r.Account].tx
	part := pix.Amount(0)
	if t != nil {
		for _, share := range t.Shares() {
			if share.Case == k.ID {
				part = share.Amount
			}
		}
	}
	if part == 0 {
		l.fail("record %d of %v restores %+v, and its newest failed refund is %+v", r.Seq, r.Account, *k, t)
		return
	}
	disputed := max(0, k.Amount-k.Refunded-r.HeldWas-old.Case.Short-b.onTheirWay(k.ID)) // less than the part where another return is in its place
	own, back := t.Refund.Case != nil, min(part, disputed, max(0, b.left(k.Original)))
	tooOld := t.ReasonCode == "FF08" && made.clock >= expiryOf(t.EndToEnd) && !made.doubted && !b.failed[r.Account].inDoubt
	stops := old.Case.Stopped || own && !tooOld || t.Voided()
	if k.Held != r.HeldWas+back || k.Stopped != stops && !(k.Stopped && b.failed[r.Account].unanswered) || k.Held > 0 && k.DueAt != k.ReleaseAt || t.Transfer.Unsure && k.Unsure < expiryOf(t.EndToEnd) {
		l.fail("record %d of %v: %+v failed, and its case is %+v, which held %d", r.Seq, r.Account, t, *k, r.HeldWas)
	}
	if own && tooOld {
		l.count("meeting: a refund for a case too old")
	}
}

// onTheirWay is what refunds in flight count towards a case.
func (b *refundBook) onTheirWay(id pix.CaseID) (sum pix.Amount) {
	for _, t := range b.newest {
		for _, share := range t.Shares() {
			if share.Case == id && t.Status.InFlight() {
				sum += share.Amount
			}
		}
	}
	return sum
}

// closes checks the record that decides a case: by the analyst, or because its deadline has
// passed without a defence.
func (b *refundBook) closes(l *life, r, old *ledger.Record, made written) {
	k := r.Case
	short := max(0, k.Amount-k.Held-k.Refunded)
	if settled, _, _ := b.sums(k.Original); k.Result != pix.Agreed || settled >= b.received[k.Original].Tx.Amount {
		short = 0
	}
	if k.Short != short {
		l.fail("%v is closed as %+v, and lacks %d", k.ID, *k, short)
	}
	if k.Result == pix.Agreed && k.Short > 0 {
		l.count("meeting: agreed, and other cases or refunds have the money")
	}
	if k.ClosedAt != r.Time || (k.Result == pix.Agreed) != (k.Held != 0) && r.HeldWas != 0 || k.Result == pix.Agreed && k.Held != r.HeldWas {
		l.fail("%v, which held %d, is closed as %+v", k.ID, r.HeldWas, *k)
	}
	if k.Details == analyst {
		l.count("meeting: a case closed by the analyst")
		return
	}
	l.count("meeting: a case closed by its deadline")
	opened := b.opened[k.ID]
	if end := ends(k, k.DeadlineAt, made); k.Result != pix.Agreed || old.Case.Status != pix.CaseOpen || made.terms.MEDWaits || made.doubted || made.clock < end {
		l.fail("%v was %v and is closed at %v by its deadline, %v (doubted %v)", k.ID, old.Case.Status, made.clock, end, made.doubted)
	}
	if made.at-opened.at < opened.terms.MEDDeadline-l.slack() {
		l.fail("%v is closed %d ms after its opening", k.ID, made.at-opened.at)
	}
}

// older is what the account's cases that are older than one hold.
func (b *refundBook) older(r *ledger.Record) (held pix.Amount) {
	for _, other := range b.cases {
		if other.Account == r.Account && other.Case.Ordinal < r.Case.Ordinal {
			held += other.Case.Held
		}
	}
	return held
}

// refunding checks that a refund for a case spends only money that no older case holds, and
// all of it that the case needs.
func (b *refundBook) refunding(l *life, r *ledger.Record, before *ledger.Account) {
	part := r.HeldWas - r.Case.Held
	if b.cases[r.Case.ID].Case.Stopped { // the merchant's own refund follows
		b.counting[r.Account] = append(b.counting[r.Account], ledger.CaseShare{Case: r.Case.ID, Amount: part})
		if part <= 0 || !r.Case.Stopped {
			l.fail("record %d of %v: %d of %d leave %v", r.Seq, r.Account, part, r.HeldWas, r.Case.ID)
		}
		return
	}
	free := before.Totals.Balance - before.Totals.Held - b.older(r)
	want := min(r.HeldWas, free)
	if want < r.HeldWas {
		want -= want % pix.UnitsPerCentavo
	}
	if awaits := b.cases[r.Case.ID].Case.Epoch < l.trueTimeOf(r).terms.Epoch; part != want || part <= 0 || awaits {
		l.fail("record %d of %v: %d of %d go back for %v, and there are %d for it", r.Seq, r.Account, part, r.HeldWas, r.Case.ID, free)
	}
	if r.Case.Held > 0 {
		l.count("meeting: a case covered in part")
	}
}

// releases checks that a case gives up its hold 90 days after its payment, and not while there
// is money for it.
func (b *refundBook) releases(l *life, r *ledger.Record, before *ledger.Account, made written) {
	k := r.Case
	if end := ends(k, k.ReleaseAt, made); made.doubted || made.clock < end || k.Held != 0 {
		l.fail("%v is released at %v, and its time is %v", k.ID, made.clock, end)
	}
	if free := before.Totals.Balance - before.Totals.Held - b.older(r); free >= pix.UnitsPerCentavo && !k.Stopped && r.HeldWas > 0 {
		l.fail("%v is released, and there are %d for it", k.ID, free)
	}
	if k.Epoch < made.terms.Epoch {
		l.fail("%v is released, and waits for an operator", k.ID)
	}
	if r.HeldWas > 0 {
		b.unrefunded[k.Original]++
	}
}

// raised checks after an entry that no part of a payment is free that one of its cases disputes.
// What was freed after the time for returns stays free, also if the clock is doubted later.
func (b *refundBook) raised(l *life, r *ledger.Record) {
	made := l.trueTimeOf(r)
	if !made.last {
		return
	}
	for _, other := range b.cases {
		k := other.Case
		if other.Account != r.Account || k.Short == 0 {
			continue
		}
		free := b.left(k.Original)
		if b.over(k, made) {
			b.passed[k.ID] = b.passed[k.ID] || free > 0
		} else if free > 0 && !b.passed[k.ID] {
			l.fail("record %d of %v (%v) leaves %d of %v free, and %v lacks %d", r.Seq, r.Account, r.Kind, free, k.Original, k.ID, k.Short)
		}
	}
}

// paid checks after an entry that no case is owed money that is there: it was refunded in the
// same entry, up to a part of a centavo.
func (b *refundBook) paid(l *life, r *ledger.Record) {
	if r.Totals.Owed == 0 || !l.trueTimeOf(r).last {
		return
	}
	for _, other := range b.cases {
		k := other.Case
		if other.Account != r.Account || k.Status != pix.CaseClosed || k.Stopped || k.Awaits || k.Held == 0 {
			continue
		}
		if free := r.Totals.Balance - r.Totals.Held - b.older(other); free >= min(k.Held, pix.UnitsPerCentavo) {
			l.fail("record %d of %v (%v) leaves %d for %v, which is owed %d", r.Seq, r.Account, r.Kind, free, k.ID, k.Held)
		}
	}
}

// totals checks what all cases of an account hold and owe.
func (b *refundBook) totals(l *life, r *ledger.Record) {
	held, owed, n := pix.Amount(0), pix.Amount(0), uint64(0)
	for _, other := range b.cases {
		if other.Account != r.Account {
			continue
		}
		n++
		held += other.Case.Held
		if other.Case.Status == pix.CaseClosed && !other.Case.Stopped && !other.Case.Awaits {
			owed += other.Case.Held
		}
	}
	if t := &r.Totals; t.MEDHeld != held || t.Owed != owed || t.Cases != n {
		l.fail("record %d of %v: %d held and %d owed by %d cases, and it says %+v", r.Seq, r.Account, held, owed, n, *t)
	}
}

// caseIsDue checks that the due row of a case belongs to a case that has this due time.
func (l *life) caseIsDue(d *layout.Due) error {
	r, err := l.caseNow(pix.CaseID(d.ID))
	if err != nil {
		return err
	}
	if r.Account != d.Account || r.Case.DueAt != d.At {
		l.fail("due row of %v at %v, which is %+v", r.Case.ID, d.At, *r.Case)
	}
	return nil
}

// casesKept checks that the journal still agrees with every answer about a case.
func (l *life) casesKept() {
	for i := range l.cases {
		a := &l.cases[i]
		if l.flipped[a.account] {
			continue
		}
		r, err := l.caseNow(a.shown.ID)
		if err != nil {
			l.fail("%v was shown as %v: %v", a.shown.ID, a.shown.Status, err)
			continue
		}
		if now := r.Case; now.Status < a.shown.Status || a.shown.Status.Decided() && (now.Status != a.shown.Status || now.Result != a.shown.Result) ||
			now.Refunded < a.shown.Refunded || (a.shown.Defense != nil) && now.Defense == nil {
			l.fail("%v was shown as %+v, and is %+v", now.ID, a.shown, *now)
		}
	}
}
