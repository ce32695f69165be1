package ledger

// resolveTransfer applies the result of a payout or a refund. It ends the work of the
// transfer's child actor and answers the requests that wait for the transfer, except where
// the result is from a notice that changes nothing.
func (d *draft) resolveTransfer(c ResolveTransfer, f Facts) Decision {
	var out Decision
	if f.Tx.Kind == TxRefund {
		out = d.refundOutcome(c, f)
	} else {
		out = d.outcome(c, f)
	}
	if c.Notice && len(out.Records) == 0 {
		return out
	}
	if out.Ended = out.Tx; out.Ended == nil {
		out.Ended = f.Tx
	}
	if len(out.Launch) > 0 {
		return out // another child actor was started for the payout
	}
	same := len(out.Records) == 0
	out.Attended = &Attended{
		Unheard: c.Result == TransferIsNotHeard,
		Rarely:  out.Ended.Refund.Case != nil,
		Open:    same && (c.Result == TransferIsOpen || c.Result == TransferIsVoided || out.Ended.Kind == TxRefund && c.Result == TransferIsAccepted),
		Queued:  out.Ended.Status == StatusQueued,
	}
	if out.Attended.Unheard {
		out.Attended.Public = out.Ended.Public()
	}
	return out
}

// outcome decides about the result of a payout. A result that was applied before changes
// nothing; a result that contradicts a final status raises an alert.
func (d *draft) outcome(c ResolveTransfer, f Facts) Decision {
	if c.Notice && d.namesAnother(f.Tx, c.EndToEnd) {
		return Decision{Tx: f.Tx, Repeat: true, Alerts: d.alerts}
	}
	t := *f.Tx
	if !t.Status.InFlight() {
		return d.afterwards(t, c)
	}
	if c.Owner != (Party{}) {
		t.Counterparty = c.Owner
	}
	switch c.Result {
	case TransferIsAccepted:
		return d.accepted(t, c.Doubt)
	case TransferIsSettled:
		return d.done(d.settle(t))
	case TransferIsRejected:
		t = d.shown(t)
		t.Payout.DuplicateOf = f.Holder
		return d.done(d.finish(t, PayoutRejected, StatusRejected, c.Reason, EventPayoutRejected))
	case TransferIsRefused:
		return d.refused(t, c.Refusal, f.Row)
	case TransferIsLimited:
		return d.limited(t, c.Refusal.Limit())
	case TransferIsSending:
		return d.sending(t, f)
	case TransferIsVoided:
		if t.Status != StatusAccepted || !d.orphaned(&t) {
			return Decision{Tx: f.Tx, Repeat: true}
		}
		return d.done(d.fail(t, ReasonVoided))
	case TransferIsNotHeard, TransferIsOpen:
		return Decision{Tx: f.Tx, Repeat: true}
	}
	panic("ledger: a payout result that does not exist")
}

// orphaned tells whether an accepted payout may be voided: the scheme has reported no
// outcome for Terms.OrphanAfter, and engine time is not doubted.
func (d *draft) orphaned(t *Transaction) bool {
	return !d.stamp.Doubted && d.stamp.Clock >= t.OrphanAt(d.stamp.Reading, &d.stamp.Terms)
}

// doubtAgain is the time, in ms, from the acceptance in doubt of a payout until the engine
// first asks the scheme about the payout.
const doubtAgain = Millis(3000)

// accepted records that the scheme has the payout or, with doubt, that the scheme may have
// it.
func (d *draft) accepted(t Transaction, doubt bool) Decision {
	if t.Status == StatusHeld {
		return d.done(d.accept(t, doubt))
	}
	return d.acceptedAgain(t, doubt)
}

// acceptedAgain is accepted for a payout that the merchant has seen already.
func (d *draft) acceptedAgain(t Transaction, doubt bool) Decision {
	switch {
	case t.Status == StatusSending:
		t.Status, t.Transfer.Doubt, t.Transfer.AcceptedAt, t.ReasonCode = StatusAccepted, doubt, d.stamp.Clock, ""
		d.wait(PayoutSent, &t, d.untilDue(&t), Body{})
	case t.Status == StatusAccepted && t.Transfer.Doubt && !doubt:
		t.Transfer.Doubt = false
		d.wait(PayoutSent, &t, d.untilDue(&t), Body{})
	default:
		return Decision{Tx: &t, Repeat: true}
	}
	return d.done(&t)
}

// untilDue is the time from now until the transfer's due time, in ms. At the due time a payout
// may be voided; about a refund, and about a transfer in doubt, the scheme is asked.
func (d *draft) untilDue(t *Transaction) Millis {
	left := t.OrphanAt(d.stamp.Reading, &d.stamp.Terms) - d.stamp.Clock
	if t.Transfer.Doubt {
		return min(left, doubtAgain)
	}
	return max(left, 0)
}

// accept adds the record that makes a held payout or refund visible to the merchant as
// accepted. The due row of the hold stays in place, except for a transfer in doubt, which
// gets an earlier due time because the scheme must be asked.
func (d *draft) accept(t Transaction, doubt bool) *Transaction {
	kind, claim := PayoutAccepted, t.Transfer.Claim
	if t.Kind == TxRefund {
		kind = RefundAccepted
	}
	t.Status, t.Transfer.Claim, t.Transfer.Doubt = StatusAccepted, nil, doubt
	d.show(&t)
	if d.stamp.Clock != t.CreatedAt {
		t.Transfer.AcceptedAt = d.stamp.Clock
	}
	if doubt {
		d.wait(kind, &t, d.untilDue(&t), Body{Claim: claim})
		return &t
	}
	d.mustAdd(kind, Body{Tx: &t, Claim: claim})
	return &t
}

// shown accepts a payout or refund that is still held, so that the merchant sees it before it
// gets a final status. Any other stays as it is.
func (d *draft) shown(t Transaction) Transaction {
	if t.Status == StatusHeld {
		return *d.accept(t, false)
	}
	return t
}

func (d *draft) settle(t Transaction) *Transaction {
	return d.finish(d.shown(t), PayoutSettled, StatusSettled, "", settledEvents()...)
}

// settledEvents are the events of a payout that settles, in this order.
func settledEvents() []EventKind { return []EventKind{EventPayoutConfirmed, EventCompleted} }

func (d *draft) fail(t Transaction, reason string) *Transaction {
	return d.finish(t, PayoutFailed, StatusFailed, reason, EventPayoutFailed)
}

// refused applies a refusal by the directory or the provider. A payout that is still held
// is never shown to the merchant. A payout that had left a queue and hits a directory limit
// again goes back to the queue. Any other payout fails.
func (d *draft) refused(t Transaction, code RefusalCode, row *EndToEndRow) Decision {
	bucket := code.Limit()
	switch {
	case t.Status == StatusHeld:
		return d.refusedInCall(&t, code, row)
	case t.Status == StatusSending && t.Payout.QueueEnds != 0 && bucket != 0:
		t = d.requeue(t, bucket)
	case t.Status == StatusAccepted && !t.Transfer.Doubt || t.Status == StatusPending:
		return Decision{Tx: &t, Repeat: true} // nothing to do: since then the scheme has accepted the payout, or the payout was never sent
	default:
		t.Transfer.Unsure = t.Transfer.Doubt
		return d.done(d.fail(t, code.String()))
	}
	return d.done(&t)
}

// limited puts a payout into the queue of a directory limit (bucket), because that limit
// refused the lookup of its key.
func (d *draft) limited(t Transaction, bucket Bucket) Decision {
	if bucket == 0 {
		panic("ledger: a limit of no bucket")
	}
	switch t.Status {
	case StatusHeld:
		claim := t.Transfer.Claim
		t.Transfer.Claim = nil
		d.show(&t)
		d.queue(&t, bucket)
		d.wait(PayoutQueued, &t, d.stamp.Terms.QueueTTL, Body{Claim: claim, Events: []EventKind{EventPayoutQueued}})
	case StatusSending:
		if t.Payout.QueueEnds != 0 {
			t = d.requeue(t, bucket)
			break
		}
		d.queue(&t, bucket)
		d.wait(PayoutRequeued, &t, d.stamp.Terms.QueueTTL, Body{Events: []EventKind{EventPayoutQueued}})
	default:
		return Decision{Tx: &t, Repeat: true}
	}
	return d.done(&t)
}

// queue puts a payout into a bucket's queue for the first time, which sets its time limit.
func (d *draft) queue(t *Transaction, b Bucket) {
	t.Status, t.Payout.Bucket, t.ReasonCode = StatusQueued, b, b.Reason()
	t.Payout.QueueEnds = d.stamp.Clock + d.stamp.Terms.QueueTTL
}

// requeue puts a payout back into a bucket's queue. The time limit from its first queueing
// still applies.
func (d *draft) requeue(t Transaction, b Bucket) Transaction {
	t.Status, t.Payout.Bucket, t.ReasonCode = StatusQueued, b, b.Reason()
	d.wait(PayoutRequeued, &t, max(0, t.Payout.QueueEnds-d.stamp.Clock), Body{})
	return t
}

// sending takes a queued payout out of its queue, just before it is submitted, under a new
// end-to-end id where the present one is too old. A payout of an inactive account stays
// queued.
func (d *draft) sending(t Transaction, f Facts) Decision {
	if t.Status != StatusQueued || f.Inactive {
		return Decision{Tx: &t, Repeat: true}
	}
	var b Body
	d.renew(&t, &f.Chain, &b)
	t.Status, t.ReasonCode = StatusSending, ""
	d.wait(PayoutSending, &t, d.stamp.Terms.OrphanAfter, b)
	d.launch = []Launch{{&t, GoalSend}}
	return d.done(&t)
}

// refusedInCall refuses a payout that is still held: it releases the hold and drops the
// idempotency claim. The merchant never sees the payout, only the refusal.
func (d *draft) refusedInCall(t *Transaction, code RefusalCode, row *EndToEndRow) Decision {
	if row == nil {
		panic("ledger: a held payout without an end-to-end row")
	}
	claim, after := t.Transfer.Claim, row.refused(t.ID, d.account.Seq+1)
	t.Status, t.Transfer.Claim, t.ReasonCode, t.Payout.DuplicateOf = StatusRefused, nil, code.String(), nil
	d.mustAdd(PayoutRefused, Body{Tx: t, Claim: claim, Row: &after})
	return Decision{
		Records: d.records, Tx: t,
		Refusal: &Refusal{Code: code, Message: "the payment was refused", AfterHold: true},
	}
}

func (d *draft) finish(t Transaction, kind RecordKind, s TxStatus, reason string, events ...EventKind) *Transaction {
	d.book(&t, s)
	t.ReasonCode, t.Transfer.Doubt = reason, false
	if reason != ReasonDuplicate {
		t.Payout.DuplicateOf = nil
	}
	d.mustAdd(kind, Body{Tx: &t, Events: events})
	return &t
}

// mustAdd is add for records whose sums cannot overflow: they release or debit held money,
// or move none.
func (d *draft) mustAdd(kind RecordKind, b Body) {
	if r := d.add(kind, b); r != nil {
		panic("ledger: " + r.Message)
	}
}
