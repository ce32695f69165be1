package simulation

import (
	"bytes"
	"slices"
	"time"

	"pixd/actors/due"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// The functions of this file derive the contents that each record must have, independently of
// the engine.

// announces lists the events that a record of each kind must have, in order.
var announces = map[ledger.RecordKind][]pix.EventKind{
	ledger.PayoutSettled:     {pix.EventPayoutConfirmed, pix.EventCompleted},
	ledger.PayoutSettledLate: {pix.EventPayoutConfirmed, pix.EventCompleted},
	ledger.PayoutRejected:    {pix.EventPayoutRejected},
	ledger.PayoutFailed:      {pix.EventPayoutFailed},
	ledger.PayoutQueued:      {pix.EventPayoutQueued},
	ledger.ReturnReceived:    {pix.EventReturnReceived},
	ledger.PayoutReturned:    {pix.EventPayoutReturned},

	ledger.RefundSettled:     {pix.EventRefundCompleted},
	ledger.RefundSettledLate: {pix.EventRefundCompleted},
	ledger.RefundFound:       {pix.EventRefundCompleted},
	ledger.RefundFailed:      {pix.EventRefundFailed},
	ledger.CaseOpened:        {pix.EventRefundRequested},
	ledger.CaseWasClosed:     {pix.EventCaseClosed},
	ledger.CaseWithdrawn:     {pix.EventCaseClosed},

	ledger.SubscriptionTested: {pix.EventTest},
}

// events checks that a record has exactly the events that its kind must have.
func (c *chronicle) events(l *life, r *ledger.Record, before *ledger.Transaction) {
	want := announces[r.Kind]
	switch {
	case r.Kind == ledger.PaymentReceived && r.Tx.Kind == pix.TxCharge:
		want = []pix.EventKind{pix.EventReceived, pix.EventChargePaid, pix.EventCompleted}
	case r.Kind == ledger.PaymentReceived:
		want = []pix.EventKind{pix.EventReceived, pix.EventCompleted}
	case r.Kind == ledger.PayoutRequeued && before.Payout.QueueEnds == 0:
		want = []pix.EventKind{pix.EventPayoutQueued} // the payout was approved and now enters the queue for the first time
	}
	if !slices.Equal(r.Events, want) {
		l.fail("record %d of %v (%v) has the events %v, and should have %v", r.Seq, r.Account, r.Kind, r.Events, want)
	}
}

// instants checks that a transaction's times (shown, booked, settled late) are the times of
// the records that did so, and do not change afterwards.
func (c *chronicle) instants(l *life, r *ledger.Record, before *ledger.Transaction) {
	t, old := r.Tx, ledger.Transaction{}
	if before != nil {
		old = *before
	}
	if (t.CreatedAt == 0) != (t.Ordinal == 0) || t.CreatedAt != old.CreatedAt && (old.CreatedAt != 0 || t.CreatedAt != r.Time) ||
		t.Ordinal != old.Ordinal && old.Ordinal != 0 {
		l.fail("record %d of %v (%v): shown at %v as %d, before %v as %d", r.Seq, r.Account, r.Kind, t.CreatedAt, t.Ordinal, old.CreatedAt, old.Ordinal)
	}
	if (t.BookedAt == 0) != (t.Booking == 0) || t.BookedAt != old.BookedAt && (old.BookedAt != 0 || t.BookedAt != r.Time) ||
		t.Booking != old.Booking && old.Booking != 0 {
		l.fail("record %d of %v (%v): booked at %v as %d, before %v as %d", r.Seq, r.Account, r.Kind, t.BookedAt, t.Booking, old.BookedAt, old.Booking)
	}
	if t.Kind != pix.TxPayout {
		return
	}
	final := t.Status == pix.StatusSettled || t.Status == pix.StatusRejected || t.Status == pix.StatusFailed
	if shows := t.Status != pix.StatusHeld && t.Status != pix.StatusRefused; shows != (t.Ordinal != 0) || final != (t.Booking != 0) {
		l.fail("record %d of %v: %v is %v, item %d, booking %d", r.Seq, r.Account, t.ID, t.Status, t.Ordinal, t.Booking)
	}
	if late := r.Kind == ledger.PayoutSettledLate; late && t.Transfer.LateAt != r.Time || !late && t.Transfer.LateAt != old.Transfer.LateAt {
		l.fail("record %d of %v (%v): settled late at %v", r.Seq, r.Account, r.Kind, t.Transfer.LateAt)
	}
}

// stamped checks that a record's time is the latest of three times: engine time, the time of
// the account's record before it, and the time of the newest record of earlier processes; or, in a restored journal, the
// time after it was taken into use.
func (c *chronicle) stamped(l *life, r *ledger.Record, head *ledger.Account, made written) {
	if want := max(made.clock, made.floor, made.terms.RestoredAt+1, head.Time); r.Time != want {
		l.fail("record %d of %v is stamped %v, engine time is %v", r.Seq, r.Account, r.Time, want)
	}
	if !made.doubted && made.clock+clocksDiffer < made.at || !made.doubted && made.clock > made.at+clocksDiffer {
		l.fail("record %d of %v is made at %v, by a clock that says %v and is not doubted", r.Seq, r.Account, made.at, made.clock)
	}
}

// unchanged checks that a payout's amount, fee, key and texts stay the same, and that its
// end-to-end id changes only when the payout is approved or leaves the queue.
func (c *chronicle) unchanged(l *life, r *ledger.Record, p *chronicled) {
	t, h := r.Tx, &p.held
	if t.Amount != h.Amount || t.Fee != h.Fee || t.Payout.Key.Value != h.Payout.Key.Value || t.Payout.Key.Type != h.Payout.Key.Type || t.ExternalID != h.ExternalID ||
		t.Description != h.Description || t.Payout.Purpose != h.Payout.Purpose || t.Payout.GivenDocument != h.Payout.GivenDocument ||
		t.Payout.RecipientISPB != h.Payout.RecipientISPB || t.Payout.OwnEndToEnd != h.Payout.OwnEndToEnd || t.Payout.Attempt != h.Payout.Attempt {
		l.fail("record %d of %v changes what %v pays", r.Seq, r.Account, t.ID)
	}
	if p.tx.EndToEnd == "" || t.EndToEnd == p.tx.EndToEnd {
		return
	}
	l.count("meeting: an id renewed")
	if t.Payout.OwnEndToEnd || !slices.Contains(t.Payout.Former, p.tx.EndToEnd) || r.Kind != ledger.PayoutApproved && r.Kind != ledger.PayoutSending {
		l.fail("record %d of %v (%v): %v goes from %s to %s", r.Seq, r.Account, r.Kind, t.ID, p.tx.EndToEnd, t.EndToEnd)
	}
}

// decided checks that a payout has the approval or refusal that its operator decided.
func (c *chronicle) decided(l *life, r *ledger.Record, before ledger.Approval) {
	t, want := r.Tx, before
	switch {
	case r.Kind == ledger.PayoutApproved || r.Kind == ledger.PayoutReleased:
		want = ledger.Approved
	case r.Kind == ledger.PayoutFailed && t.ReasonCode == ledger.ReasonDeclined:
		want = ledger.Declined
	}
	if t.Payout.Decision != want || (t.Payout.Decision != 0) != (t.Payout.Operator != "") {
		l.fail("record %d of %v (%v): the word on %v is %d, of %q", r.Seq, r.Account, r.Kind, t.ID, t.Payout.Decision, t.Payout.Operator)
	}
}

// expiryOf returns when the scheme begins to refuse an end-to-end id: twelve hours after
// the minute in the id.
func expiryOf(endToEnd string) pix.Millis {
	at, err := time.Parse("200601021504", endToEnd[9:21])
	if err != nil {
		return 0
	}
	return pix.Millis(at.UnixMilli()) + 12*3_600_000
}

// keepsID checks that a new payout shares the end-to-end id of an equal payout that is in
// flight or may still settle.
func (c *chronicle) keepsID(l *life, p *chronicled, made written) {
	if p.tx.Payout.OwnEndToEnd {
		return
	}
	fresh := true
	for _, first := range c.prints[p.print] {
		fresh = fresh && (first == p || !first.had[p.tx.EndToEnd])
		if first != p && unknownDuplicate(&first.tx) {
			l.count("meeting: an equal request after a duplicate of nothing known")
		}
	}
	if !fresh {
		return
	}
	var kept []pix.TxID
	for _, first := range c.prints[p.print] {
		t := &first.tx
		open := t.Voided() || unknownDuplicate(t)
		waits := t.Status == pix.StatusQueued || t.Status == pix.StatusPending // a payout that waits takes the other payout's id when it is sent
		if first == p || (!t.Status.InFlight() || waits) && !(open && made.at+clocksDiffer < expiryOf(t.EndToEnd)) {
			continue
		}
		kept = append(kept, t.ID)
	}
	if len(kept) > 0 {
		l.fail("%v goes out under %s, and an equal one may settle under another: %v", p.tx.ID, p.tx.EndToEnd, kept)
	}
}

// unknownDuplicate reports whether a payout was rejected as a duplicate of a payment that the
// engine does not know.
func unknownDuplicate(t *ledger.Transaction) bool {
	return t.Status == pix.StatusRejected && t.ReasonCode == ledger.ReasonDuplicate && t.Payout.DuplicateOf == nil
}

// young checks that no derived end-to-end id is sent which the scheme may already refuse for
// its age, unless engine time was doubted when the record was made.
func (c *chronicle) young(l *life, r *ledger.Record, made written) {
	t := r.Tx
	if r.Kind != ledger.PayoutApproved && r.Kind != ledger.PayoutSending || t.Payout.OwnEndToEnd || made.doubted || t.Payout.Repeat || t.Doubted {
		return
	}
	if age := made.clock - (expiryOf(t.EndToEnd) - 12*3_600_000); age > 11*3_600_000 {
		l.fail("%v goes out under an id of %d minutes", t.ID, age/60_000)
	}
}

// hold checks a payout's first record against the account's settings and totals.
func (c *chronicle) hold(l *life, head *ledger.Account, r *ledger.Record) {
	t := r.Tx
	request := ledger.RequestPayout{
		Amount: t.Amount, Key: pix.Key{Type: t.Payout.Key.Type, Value: t.Payout.Key.Value}, GivenDocument: t.Payout.GivenDocument, RecipientISPB: t.Payout.RecipientISPB,
	}
	v := verdictOn(head, &request)
	if v.refusal != ledger.RefuseNothing {
		l.fail("record %d of %v: %v is held, and is to be refused with %v", r.Seq, r.Account, t.ID, v.refusal)
	}
	c.waiting[t.ID] = v.pending
}

// waitsFirst checks that a held payout becomes pending if and only if it needs an operator's
// approval.
func (c *chronicle) waitsFirst(l *life, r *ledger.Record, before *ledger.Transaction) {
	if before == nil || before.Status != pix.StatusHeld {
		return
	}
	if pending := r.Kind == ledger.PayoutPending; pending != c.waiting[r.Tx.ID] {
		l.fail("record %d of %v: %v becomes %v; it is to wait for an operator: %v", r.Seq, r.Account, r.Tx.ID, r.Tx.Status, c.waiting[r.Tx.ID])
	}
}

// repeats checks that the number of payouts in flight under one end-to-end id stays within
// its bound.
func (c *chronicle) repeats(l *life, r *ledger.Record, made written) {
	most := made.repeats
	if most == 0 {
		most = 1_000
	}
	if r.Kind != ledger.PayoutHeld || r.Row == nil {
		return
	}
	under := 0
	for _, p := range c.under[r.Tx.EndToEnd] {
		if p.tx.Status.InFlight() {
			under++
		}
	}
	if under+1 > most { // plus one for the payout of this record
		l.fail("record %d of %v: %d payouts under %s, at most %d may be", r.Seq, r.Account, under+1, r.Tx.EndToEnd, most)
	}
}

// doubt checks that only an accepted payout is in doubt, and that no payout is in doubt about
// which the scheme has answered.
func (c *chronicle) doubt(l *life, r *ledger.Record, old *ledger.Transaction) {
	t := r.Tx
	if t.Transfer.Doubt && (t.Status != pix.StatusAccepted || r.Kind == ledger.PayoutSent && old.Status == pix.StatusAccepted) {
		l.fail("record %d of %v (%v): %v is %v, and in doubt", r.Seq, r.Account, r.Kind, t.ID, t.Status)
	}
}

// rightlyFailed checks two rules. The directory's refusal or the account's control on
// companies does not fail a payout that may have been sent. A directory that cannot be asked
// does not fail a queued payout.
func (c *chronicle) rightlyFailed(l *life, r *ledger.Record, old *ledger.Transaction) {
	switch code := r.Tx.ReasonCode; {
	case old.Transfer.Doubt && (byDirectory(code) || limits(code)):
		l.fail("record %d of %v: %v may have been sent, and fails with %s", r.Seq, r.Account, r.Tx.ID, code)
	case old.Status == pix.StatusQueued && (code == ledger.RefuseLookupFailed.String() || limits(code)):
		l.fail("record %d of %v: %v is queued, and fails with %s", r.Seq, r.Account, r.Tx.ID, code)
	case code == ledger.ReasonQueueTimeout && old.Status != pix.StatusQueued, code == ledger.ReasonVoided && old.Status != pix.StatusAccepted && (old.Status != pix.StatusSending || old.ID.Time() > l.terms.RestoredAt),
		(code == ledger.ReasonExpired || code == ledger.ReasonDeclined) && old.Status != pix.StatusPending && !l.terms.Holds(old):
		l.fail("record %d of %v: %v was %v, and fails with %s", r.Seq, r.Account, r.Tx.ID, old.Status, code)
	case code == ledger.ReasonQueueTimeout:
		c.tried(l, r, old)
	}
}

// byDirectory reports whether a code is one with which a lookup ends a payout before any
// submission.
func byDirectory(code string) bool {
	switch code {
	case ledger.RefuseKeyNotFound.String(), ledger.RefuseKeyBlocked.String(), ledger.RefuseLookupFailed.String(), ledger.RefuseCNPJBlocked.String():
		return true
	}
	return false
}

func limits(code string) bool {
	return code == ledger.RefuseRateLimited.String() || code == ledger.RefuseBucket.String()
}

// tried checks that a payout which had at least half an hour left in the queue when all
// faults ended was tried at least three times (with small bounds once) before it timed out.
func (c *chronicle) tried(l *life, r *ledger.Record, old *ledger.Transaction) {
	if l.healed == 0 || l.trueTimeOf(r).at < l.healed || old.Payout.QueueEnds < l.healed+30*60_000 || old.Doubted {
		return
	}
	least := 1 // with small bounds it takes long until one payout is tried again
	if l.bounds == due.DefaultBounds() {
		least = 3
	}
	if n := l.tries[old.ID]; n < least {
		l.fail("record %d of %v: %v failed in the queue, and was tried %d times", r.Seq, r.Account, old.ID, n)
	}
}

// charge checks that a payment completes the open charge that it names at that charge's
// amount, and no other charge.
func (c *chronicle) charge(l *life, r *ledger.Record) {
	t := r.Tx
	switch r.Kind {
	case ledger.ChargeCreated:
		c.charges[t.Public()] = r
	case ledger.PaymentReceived:
		paid := l.outside.paid[t.EndToEnd]
		named := c.charges[paid.txid]
		completes := named != nil && named.Account == r.Account && named.Tx.Status == pix.StatusActive && named.Tx.Amount == paid.amount
		if completes != (t.Kind == pix.TxCharge) || completes && t.ID != named.Tx.ID || t.Amount != paid.amount || r.Account != paid.account {
			l.fail("record %d of %v: %d paid to %v for %q is booked as %+v", r.Seq, r.Account, paid.amount, paid.account, paid.txid, *t)
		}
		if completes {
			l.count("meeting: a charge completed")
			c.charges[paid.txid] = r
		} else if named != nil {
			l.count("meeting: a payment that names a charge and does not complete it")
		}
	}
}

// holders checks that each payout rejected as a duplicate names another payout of the same
// account which has had the same end-to-end id.
func (c *chronicle) holders(l *life) {
	for id, p := range c.payouts {
		if p.tx.Status != pix.StatusRejected || p.tx.ReasonCode != ledger.ReasonDuplicate {
			continue
		}
		l.count("meeting: a duplicate")
		if of := p.tx.Payout.DuplicateOf; of != nil {
			other := c.payouts[*of]
			if other == nil || *of == id || other.account != p.account || !other.had[p.tx.EndToEnd] || other.tx.Status == pix.StatusRefused && !p.ofHeld {
				l.fail("%v is a duplicate of %v, under %s", id, of, p.tx.EndToEnd)
			}
		}
	}
}

// duplicate checks that a payout rejected as a duplicate names the payout that the scheme
// is known to have under its id, if there is one.
func (c *chronicle) duplicate(l *life, p *chronicled) {
	if p.tx.ReasonCode != ledger.ReasonDuplicate {
		return
	}
	rank := func(q *chronicled) int {
		switch {
		case q == p || q.account != p.account || q.tx.EndToEnd != p.tx.EndToEnd:
		case q.tx.Status == pix.StatusSettled:
			return 2
		case q.tx.Status != pix.StatusHeld && q.tx.Status != pix.StatusSending: // the child of q has reported to the account
			return 1
		}
		return 0
	}
	named := 0
	if of := p.tx.Payout.DuplicateOf; of != nil && c.payouts[*of] != nil {
		named = rank(c.payouts[*of])
		p.ofHeld = c.payouts[*of].tx.Status == pix.StatusHeld // a held payout may never reach the scheme
	}
	for _, other := range c.under[p.tx.EndToEnd] {
		has := other.tx.Status == pix.StatusSettled || other.tx.Status == pix.StatusAccepted && !other.tx.Transfer.Doubt
		if has && rank(other) > named {
			l.fail("%v is a duplicate of %v, and %v is %v under %s", p.tx.ID, p.tx.Payout.DuplicateOf, other.tx.ID, other.tx.Status, p.tx.EndToEnd)
		}
	}
}

// asShown checks a head that a read showed against the head that the records make.
func (c *chronicle) asShown(l *life, head *ledger.Account) {
	for _, shown := range c.shown[recordName{wal.Stream(head.ID), head.Seq}] {
		if shown.Time != head.Time || !same(shown, head) {
			l.fail("%v: a read showed %+v, the records make %+v", head.ID, *shown, *head)
		}
	}
}

// same reports whether two heads have the same stored form: opening, settings and totals.
func same(a, b *ledger.Account) bool { return bytes.Equal(a.EncodeHead(), b.EncodeHead()) }
