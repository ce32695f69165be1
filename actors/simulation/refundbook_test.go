package simulation

import (
	"errors"
	"slices"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/scheme/sim"
)

// refundBook is what the records say about refunds and special-return cases. It derives every
// sum by itself from single refunds and cases.
type refundBook struct {
	received   map[pix.TxID]*ledger.Record          // the record of each received payment
	newest     map[pix.TxID]*ledger.Transaction     // each refund, as in its newest record
	account    map[pix.TxID]pix.AccountID           // each refund's account
	ids        map[string]pix.TxID                  // each refund by its D id
	cases      map[pix.CaseID]*ledger.Record        // the newest record about each case
	opened     map[pix.CaseID]written               // state of the simulation at each case's opening
	reports    map[string]pix.CaseID                // each case by the report that opened it
	late       map[pix.TxID]bool                    // payments of which a failed refund has settled
	reduced    map[pix.TxID]bool                    // payments of which cases hold less because such a refund is about to be debited
	failed     map[pix.AccountID]failedRefund       // each account's newest refund that failed and counts towards a case
	counting   map[pix.AccountID][]ledger.CaseShare // what of stopped cases' holds becomes part of the account's next refund
	unrefunded map[pix.TxID]int                     // how often cases of a payment have released what was not refunded
	found      map[pix.TxID]bool                    // refunds that a restored journal lacked
	claims     map[pix.AccountID]map[[16]byte][]pix.Millis
	passed     map[pix.CaseID]bool // decided cases that left a free part of their payment, as the time for returns was over
}

// failedRefund is a refund for a case that failed. inDoubt: the engine knew that the scheme may
// have had an earlier submit of it; unanswered: there was one without an answer, of which the
// engine may have lost the memory with the child that made it.
type failedRefund struct {
	tx                  *ledger.Transaction
	inDoubt, unanswered bool
}

func newRefundBook() *refundBook {
	return &refundBook{
		map[pix.TxID]*ledger.Record{},
		map[pix.TxID]*ledger.Transaction{},
		map[pix.TxID]pix.AccountID{},
		map[string]pix.TxID{},
		map[pix.CaseID]*ledger.Record{},
		map[pix.CaseID]written{},
		map[string]pix.CaseID{},
		map[pix.TxID]bool{},
		map[pix.TxID]bool{},
		map[pix.AccountID]failedRefund{},
		map[pix.AccountID][]ledger.CaseShare{},
		map[pix.TxID]int{},
		map[pix.TxID]bool{},
		map[pix.AccountID]map[[16]byte][]pix.Millis{},
		map[pix.CaseID]bool{},
	}
}

// sums derives the refund sums of a payment.
func (b *refundBook) sums(original pix.TxID) (settled, inFlight, held pix.Amount) {
	for _, t := range b.newest {
		switch {
		case t.Refund.Original != original:
		case t.Status == pix.StatusSettled:
			settled += t.Amount
		case t.Status.InFlight():
			inFlight += t.Amount
		}
	}
	for _, r := range b.cases {
		if r.Case.Original == original {
			held += r.Case.Held
		}
	}
	return settled, inFlight, held
}

// left derives what is left of a payment for refunds and cases.
func (b *refundBook) left(original pix.TxID) pix.Amount {
	settled, inFlight, held := b.sums(original)
	return b.received[original].Tx.Amount - settled - inFlight - held
}

// summed checks the refund sums in a record.
func (b *refundBook) summed(l *life, r *ledger.Record, original pix.TxID) {
	settled, inFlight, held := b.sums(original)
	s := r.Sums
	switch {
	case s == nil:
	case s.Original != original || s.Settled != settled || s.InFlight != inFlight || s.Held != held || s.Amount != b.received[original].Tx.Amount:
		l.fail("record %d of %v (%v) has %+v; its refunds and cases make %d settled, %d in flight, %d held", r.Seq, r.Account, r.Kind, *s, settled, inFlight, held)
	}
	if amount := b.received[original].Tx.Amount; settled+inFlight+held > amount && (held > 0 || !b.late[original]) {
		l.fail("record %d of %v (%v): %d settled, %d in flight and %d held of a payment of %d", r.Seq, r.Account, r.Kind, settled, inFlight, held, amount)
	}
}

// refund checks a record about a refund.
func (b *refundBook) refund(l *life, r *ledger.Record, before *ledger.Account) {
	t := r.Tx
	origin := b.received[t.Refund.Original]
	if origin == nil || origin.Account != r.Account || origin.Tx.EndToEnd != t.Refund.OriginalEndToEnd || origin.Tx.Amount != t.Refund.OriginalAmount {
		l.fail("record %d of %v refunds %v, which was not received here", r.Seq, r.Account, t.Refund.Original)
		return
	}
	if r.Kind == ledger.RefundHeld {
		b.held(l, r, before)
	} else if r.Kind == ledger.RefundFound {
		b.finds(l, r)
	} else if first := b.newest[t.ID]; first == nil || first.Amount != t.Amount || first.EndToEnd != t.EndToEnd || first.Refund.Code != t.Refund.Code ||
		first.Counterparty != t.Counterparty || first.Description != t.Description {
		l.fail("record %d of %v (%v) changes what %v refunds", r.Seq, r.Account, r.Kind, t.ID)
	}
	if t.Fee != 0 {
		l.fail("%v has a fee of %d", t.ID, t.Fee)
	}
	if r.Kind == ledger.RefundSettledLate {
		b.late[t.Refund.Original] = true
		if before := b.newest[t.ID]; !before.Transfer.Unsure {
			l.fail("%v settles late, and its failure was sure", t.ID)
		}
	}
	if r.Kind == ledger.RefundFailed && len(t.Shares()) > 0 {
		b.failed[r.Account] = failedRefund{t, b.newest[t.ID].Transfer.Doubt, l.outside.unanswered[t.ID]}
	}
	if r.Kind == ledger.RefundFailed && !fromScheme(t.ReasonCode) && t.ReasonCode != ledger.RefuseProvider.String() {
		b.failsForNow(l, r)
	}
	b.newest[t.ID], b.account[t.ID] = t, r.Account
	b.summed(l, r, t.Refund.Original)
	if (r.Kind == ledger.RefundSettledLate || r.Kind == ledger.RefundFound) && b.reduced[t.Refund.Original] {
		l.count("meeting: a late refund reduced a case")
		if delete(b.reduced, t.Refund.Original); b.left(t.Refund.Original) > 0 {
			l.fail("record %d of %v: cases hold too little of %v after %v was debited", r.Seq, r.Account, t.Refund.Original, t.ID)
		}
	}
	if settled, _, _ := b.sums(t.Refund.Original); t.Status == pix.StatusSettled && r.Kind != ledger.RefundSent && t.Refund.Refunded != settled {
		l.fail("%v says that %d were refunded, and it is %d", t.ID, t.Refund.Refunded, settled)
	}
}

// fromScheme reports whether a refund may fail with the code. A duplicate is no failure: the id
// is the refund's own.
func fromScheme(code string) bool {
	return slices.Contains([]string{"CH16", "DT05", "FF08"}, code)
}

// failsForNow checks that a refund which was only refused for now failed because the merchant
// requested it, or because the time for returns is over.
func (b *refundBook) failsForNow(l *life, r *ledger.Record) {
	t, made := r.Tx, l.trueTimeOf(r)
	if t.ReasonCode == ledger.ReasonNotResent {
		b.failsUnsent(l, t)
		return
	}
	code, known := ledger.ParseRefusal(t.ReasonCode)
	if !known || !code.ForNow() {
		l.fail("%v failed with %s, which is no word of the scheme", t.ID, t.ReasonCode)
		return
	}
	if t.Refund.Case == nil {
		return
	}
	if k := b.cases[*t.Refund.Case].Case; made.doubted || made.clock < ends(k, k.ReleaseAt, made) {
		l.fail("%v failed with %s at %v, and returns may be made until %v", t.ID, t.ReasonCode, made.clock, k.ReleaseAt)
	}
}

// failsUnsent checks that a refund was not sent again because its money may have gone back
// otherwise: it is from before a restore, or a refund settled late.
func (b *refundBook) failsUnsent(l *life, t *ledger.Transaction) {
	l.count("meeting: a refund was not sent again, as its money may have gone back otherwise")
	if before := l.gap != nil && t.ID.Time() <= max(l.terms.RestoredAt, l.terms.GapEnd); !before && !b.late[t.Refund.Original] || !t.Transfer.Unsure {
		l.fail("%v was not sent again, and nothing else can have gone back: %+v", t.ID, t)
	}
}

// finds checks the record of a refund that the scheme has settled and a restored journal lacked.
func (b *refundBook) finds(l *life, r *ledger.Record) {
	t := r.Tx
	b.late[t.Refund.Original], b.found[t.ID] = true, true
	known := slices.ContainsFunc(l.returnsOf(r.Account, t.Refund.OriginalEndToEnd), func(o ledger.Returned) bool {
		return !o.Open && o.ID == t.ID && o.ReturnID == t.EndToEnd && o.Amount == t.Amount && o.Reason == t.Refund.Code
	})
	if !known || l.gap == nil || l.gap.made[t.ID] != r.Account || b.newest[t.ID] != nil || b.ids[t.EndToEnd] != (pix.TxID{}) {
		l.fail("record %d of %v books %+v, which the scheme does not have, or which was there before", r.Seq, r.Account, t)
	}
	b.ids[t.EndToEnd] = t.ID
}

// held checks the record that holds a refund's amount.
func (b *refundBook) held(l *life, r *ledger.Record, before *ledger.Account) {
	t, made := r.Tx, l.trueTimeOf(r)
	if first, twice := b.ids[t.EndToEnd]; twice || t.EndToEnd[0] != 'D' {
		l.fail("%v has the id %s, of %v", t.ID, t.EndToEnd, first)
	}
	b.ids[t.EndToEnd] = t.ID
	if !made.doubted && expiryOf(t.EndToEnd)-12*3_600_000 > made.clock {
		l.fail("%v has the id %s of a minute that is to come", t.ID, t.EndToEnd)
	}
	for _, share := range t.Shares() {
		k := b.cases[share.Case]
		if k == nil || k.Case.Refunded+b.onTheirWay(share.Case)+share.Amount > k.Case.Amount {
			l.fail("%v refunds %+v, of which %d are on their way: %+v", t.ID, share, b.onTheirWay(share.Case), k)
		}
	}
	if left := b.left(t.Refund.Original); t.Amount > left && !b.late[t.Refund.Original] {
		l.fail("%v refunds %d, of which %d are left", t.ID, t.Amount, left)
	}
	if t.Refund.Case != nil {
		l.count("meeting: a refund for a case")
		if k := b.cases[*t.Refund.Case]; k == nil || t.Refund.Code != "FR01" || k.Kind != ledger.CaseRefunding || k.HeldWas-k.Case.Held != t.Amount {
			l.fail("%v is made for %v, with %s", t.ID, *t.Refund.Case, t.Refund.Code)
		}
		return
	}
	if shares := b.counting[r.Account]; !slices.Equal(shares, t.Refund.Counts) {
		l.fail("%v counts %v, and %v left the holds of cases", t.ID, t.Refund.Counts, shares)
	}
	counted, needs := pix.Amount(0), pix.Amount(0)
	for _, share := range t.Refund.Counts {
		counted += share.Amount
		needs = max(needs, counted+b.heldBefore(r.Account, share.Case)) // an older case's hold comes first
		l.count("meeting: a merchant's refund counts towards a case")
	}
	delete(b.counting, r.Account)
	durable := ledger.Totals{}
	if made.durable > 0 {
		d, err := rows{l.journal}.Record(r.Account, made.durable)
		if err != nil {
			l.fail("%v", err)
			return
		}
		durable = d.Totals
	}
	free := func(t *ledger.Totals) pix.Amount { return t.Balance - t.Held - t.MEDHeld }
	released := max(0, durable.MEDHeld-before.Totals.MEDHeld-counted) // of other cases' holds, and not durable
	now, money := free(&before.Totals), min(before.Totals.Balance-before.Totals.Held, durable.Balance-durable.Held-released)
	if rest := t.Amount - counted; rest > 0 && rest > min(now-counted, free(&durable)) || needs > money {
		l.fail("%v holds %d, of %d, of which %d are durable; %d count, which need %d of %d", t.ID, t.Amount, now, free(&durable), counted, needs, money)
	}
	if counted > 0 && now < counted {
		l.count("meeting: a merchant's refund counts towards a case beside one that is not covered")
	}
	if c := r.Claim; c != nil {
		b.once(l, r, c, made)
	}
}

// heldBefore is what cases of an account hold that are older than one of them.
func (b *refundBook) heldBefore(a pix.AccountID, id pix.CaseID) (sum pix.Amount) {
	for _, r := range b.cases {
		if r.Account == a && r.Case.Ordinal < b.cases[id].Case.Ordinal {
			sum += r.Case.Held
		}
	}
	return sum
}

// once checks that of all refund requests with one key at most one is carried out in a day.
func (b *refundBook) once(l *life, r *ledger.Record, c *ledger.Claim, made written) {
	of := b.claims[r.Account]
	if of == nil {
		of = map[[16]byte][]pix.Millis{}
		b.claims[r.Account] = of
	}
	for _, at := range of[c.Scope] {
		if made.at < at+day-l.slack() {
			l.fail("%v: key %q was carried out before", r.Tx.ID, c.Scope)
		}
	}
	of[c.Scope] = append(of[c.Scope], made.at)
}

// judge checks, after all records, what was refunded for each case.
func (b *refundBook) judge(l *life) {
	if len(b.reduced) > 0 {
		l.fail("cases hold less of %v, of which no failed refund has settled", b.reduced)
	}
	for id, r := range b.cases {
		refunded, open, late := pix.Amount(0), pix.Amount(0), pix.Amount(0)
		for _, t := range b.newest {
			for _, share := range t.Shares() {
				switch {
				case share.Case != id:
				case t.Status == pix.StatusSettled:
					if refunded += share.Amount; t.Transfer.LateAt != 0 {
						late += share.Amount
					}
				case t.Status.InFlight():
					open += share.Amount
				}
			}
		}
		if k := r.Case; k.Refunded != refunded || refunded+open+k.Held > k.Amount && !b.late[k.Original] {
			l.fail("%v of %d holds %d and says that %d were refunded; it is %d, and %d in flight", id, k.Amount, k.Held, k.Refunded, refunded, open)
		}
		if k := r.Case; refunded-late+k.Held+k.Short > k.Amount {
			l.fail("for %v of %d %d were refunded, without those that had failed, and it holds %d and lacks %d", id, k.Amount, refunded-late, k.Held, k.Short)
		}
	}
}

// undecided is what undecided cases of an account hold.
func (c *chronicle) undecided(id pix.AccountID) (held pix.Amount) {
	for _, r := range c.refunds.cases {
		if r.Account == id && !r.Case.Status.Decided() {
			held += r.Case.Held
		}
	}
	return held
}

// refundedHere checks that a refund that the scheme settled is settled here, and that the
// scheme did not give back more of a payment than was paid.
func (l *life) refundedHere(m sim.SettledMovement) {
	if l.flipped[m.Account] {
		return
	}
	l.settledHere(m)
	l.returnedOnce(m)
	all, _, _ := l.outside.sim.Settled(ctx, 0, "", 1_000_000)
	returned := pix.Amount(0)
	for _, other := range all {
		if other.Kind == sim.MovedRefund && other.EndToEnd == m.EndToEnd && !l.gap.lacks(l, &other) {
			returned += other.Amount
		}
	}
	t := l.chronicle0.refunds.newest[m.Tx]
	if paid := l.outside.paid[m.EndToEnd].amount; returned > paid && (t == nil || !l.chronicle0.refunds.late[t.Refund.Original]) {
		l.fail("%d of %s, which paid %d, went back", returned, m.EndToEnd, paid)
	}
}

// returnedOnce checks, in a restored life, that the scheme did not give back more of a payment
// than was paid, with what it gave back in the gap. A merchant who refunds it again is the gap
// that was accepted; a restored engine must not. What the original had sent too much, because a
// refund that failed in doubt settled late, is the original's.
func (l *life) returnedOnce(m sim.SettledMovement) {
	t := l.chronicle0.refunds.newest[m.Tx]
	if l.gap == nil || m.At < l.gap.at || t == nil || t.Refund.Case == nil || l.chronicle0.refunds.found[t.ID] {
		return
	}
	for id, other := range l.chronicle0.refunds.newest {
		_, known := l.gap.taken.status[id]
		again := other.Refund.Case == nil && !known && !l.chronicle0.refunds.found[id]
		if other.Refund.Original == t.Refund.Original && (again || other.Transfer.LateAt != 0) {
			return
		}
	}
	all, _, _ := l.outside.sim.Settled(ctx, 0, "", 1_000_000)
	returned := pix.Amount(0)
	for _, other := range all {
		if other.Kind == sim.MovedRefund && other.EndToEnd == m.EndToEnd {
			returned += other.Amount
		}
	}
	if paid := l.outside.paid[m.EndToEnd].amount; returned > paid {
		l.fail("the scheme gave back %d of %s, which paid %d, with the refund %v for a case", returned, m.EndToEnd, paid, t.ID)
	}
}

// refundedThere checks that a refund which ended here ended in the same way at the scheme.
func (l *life) refundedThere(id pix.TxID) {
	t, err := l.shown(id)
	if err != nil || t == nil || t.Status.InFlight() || l.gap.settledLate(id, t.Status) {
		return
	}
	s, err := l.outside.sim.Ask(ctx, t.ID, t.EndToEnd)
	switch {
	case err != nil:
		l.fail("%v: %v", id, err)
	case t.Status == pix.StatusSettled && s.Progress != scheme.Settled, fromScheme(t.ReasonCode) && (s.Progress != scheme.Rejected || s.Reason != t.ReasonCode),
		t.Status == pix.StatusFailed && s.Progress == scheme.Settled:
		l.fail("%v is %v with %q here, at the scheme %+v", id, t.Status, t.ReasonCode, s)
	}
}

var errNoCase = errors.New("no such case")

// caseNow returns a case as in the journal's newest record about it.
func (l *life) caseNow(id pix.CaseID) (*ledger.Record, error) {
	b, ok, err := l.journal.Get(layout.CaseIDKey(id))
	if err != nil || !ok {
		return nil, errors.Join(err, errNoCase)
	}
	at, err := layout.DecodeCaseIDRow(b)
	if err != nil {
		return nil, err
	}
	if b, ok, err = l.journal.Get(layout.CaseKey(at.Account, at.Ordinal)); err != nil || !ok {
		return nil, errors.Join(err, errNoCase)
	}
	row, err := layout.DecodeCaseRow(b)
	if err != nil {
		return nil, err
	}
	r, err := rows{l.journal}.Record(at.Account, row.Seq)
	if err == nil && (r.Case == nil || r.Case.ID != id || row.Status != r.Case.Status || at.Status != r.Case.Status) {
		err = errNoCase
	}
	return r, err
}
