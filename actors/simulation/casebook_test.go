package simulation

import (
	"fmt"
	"slices"

	"pixd/actors/ledger"
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
		k.Situation != was.Situation || k.OpenedAt != was.OpenedAt || k.DeadlineAt != was.DeadlineAt || k.AnalysisAt != was.AnalysisAt ||
		k.ReleaseAt != was.ReleaseAt || was.Result != 0 && k.Result != was.Result || was.ClosedAt != 0 && k.ClosedAt != was.ClosedAt {
		l.fail("record %d of %v (%v) makes %+v of %+v", r.Seq, r.Account, r.Kind, *k, *was)
	}
	made := l.trueTimeOf(r)
	switch r.Kind {
	case ledger.CaseWasDefended:
		if !made.doubted && made.clock >= k.DeadlineAt || k.Defense == nil || k.Defense.SubmittedAt != r.Time {
			l.fail("%v is defended at %v, until %v it could be", k.ID, made.clock, k.DeadlineAt)
		}
	case ledger.CaseWasClosed:
		b.closes(l, r, old, made)
	case ledger.CaseWithdrawn:
		if !l.outside.reports[k.Infraction].withdrawn || k.Held != 0 || k.ClosedAt != r.Time {
			l.fail("%v is cancelled as %+v, and its report was not withdrawn", k.ID, *k)
		}
	case ledger.CaseWaits:
		if made.doubted || made.clock < r.DueWas {
			l.fail("a deadline of %v passes at %v, it was %v", k.ID, made.clock, r.DueWas)
		}
	case ledger.CaseRefunding:
		b.refunding(l, r, before)
	case ledger.CaseReleased:
		b.releases(l, r, before, made)
	case ledger.CaseRestored:
		t := b.failed[r.Account]
		if t == nil || *t.Refund.Case != k.ID || k.Held != r.HeldWas+t.Amount || !k.Stopped || k.DueAt != k.ReleaseAt {
			l.fail("record %d of %v: %+v failed, and its case is %+v, which held %d", r.Seq, r.Account, t, *k, r.HeldWas)
		}
	}
	b.cases[k.ID] = r
	b.summed(l, r, k.Original)
	b.totals(l, r)
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
	if want := max(0, min(k.Amount, b.left(k.Original))); k.Held != want {
		l.fail("%v holds %d, and should hold %d", k.ID, k.Held, want)
	}
	if k.OpenedAt != r.Time || k.DeadlineAt != made.clock+made.terms.MEDDeadline || k.AnalysisAt != made.clock+made.terms.MEDAnalysis || !returnsUntil(origin.Tx, k.ReleaseAt) {
		l.fail("%v is opened at %v with %+v", k.ID, made.clock, *k)
	}
}

// returnsUntil reports whether at is 90 days after a received payment.
func returnsUntil(t *ledger.Transaction, at ledger.Millis) bool {
	if t.PaidAt > 0 {
		return at == t.PaidAt+90*day
	}
	return at >= t.BookedAt+90*day && at <= max(t.BookedAt, t.ID.Time())+90*day
}

// closes checks the record that decides a case: by the analyst, or because its deadline has
// passed without a defence.
func (b *refundBook) closes(l *life, r, old *ledger.Record, made written) {
	k := r.Case
	if k.ClosedAt != r.Time || (k.Result == ledger.Agreed) != (k.Held != 0) && r.HeldWas != 0 || k.Result == ledger.Agreed && k.Held != r.HeldWas {
		l.fail("%v, which held %d, is closed as %+v", k.ID, r.HeldWas, *k)
	}
	if k.Details == analyst {
		l.count("meeting: a case closed by the analyst")
		return
	}
	l.count("meeting: a case closed by its deadline")
	opened := b.opened[k.ID]
	if k.Result != ledger.Agreed || old.Case.Status != ledger.CaseOpen || made.terms.MEDWaits || made.doubted || made.clock < k.DeadlineAt {
		l.fail("%v was %v and is closed at %v by its deadline, %v (doubted %v)", k.ID, old.Case.Status, made.clock, k.DeadlineAt, made.doubted)
	}
	if !opened.doubted && made.at-opened.at < opened.terms.MEDDeadline-l.slack() {
		l.fail("%v is closed %d ms after its opening", k.ID, made.at-opened.at)
	}
}

// older is what the account's cases that are older than one hold.
func (b *refundBook) older(r *ledger.Record) (held ledger.Amount) {
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
	free := before.Totals.Balance - before.Totals.Held - b.older(r)
	if want := min(r.HeldWas, free); part != want || part <= 0 || b.cases[r.Case.ID].Case.Stopped {
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
	if made.doubted || made.clock < k.ReleaseAt || k.Held != 0 {
		l.fail("%v is released at %v, and its time is %v", k.ID, made.clock, k.ReleaseAt)
	}
	if free := before.Totals.Balance - before.Totals.Held - b.older(r); free > 0 && !k.Stopped {
		l.fail("%v is released, and there are %d for it", k.ID, free)
	}
}

// totals checks what all cases of an account hold and owe.
func (b *refundBook) totals(l *life, r *ledger.Record) {
	held, owed, n := ledger.Amount(0), ledger.Amount(0), uint64(0)
	for _, other := range b.cases {
		if other.Account != r.Account {
			continue
		}
		n++
		held += other.Case.Held
		if other.Case.Status == ledger.CaseClosed && !other.Case.Stopped {
			owed += other.Case.Held
		}
	}
	if t := &r.Totals; t.MEDHeld != held || t.Owed != owed || t.Cases != n {
		l.fail("record %d of %v: %d held and %d owed by %d cases, and it says %+v", r.Seq, r.Account, held, owed, n, *t)
	}
}

// caseIsDue checks that the due row of a case belongs to a case that has this due time.
func (l *life) caseIsDue(d *ledger.Due) error {
	r, err := l.caseNow(ledger.CaseID(d.ID))
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
