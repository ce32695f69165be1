package httpapi

import (
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// Event returns the body of a webhook as JSON, with keys in snake_case: id, type, created_at,
// account_id, sequence and data. The member data shows the transaction or special-return case
// in its state after the event's record: all members of Item or Case, and those that the kind
// of event adds; of a test it is empty. Amounts are base units. The same event always gives the
// same bytes, if banks is the same.
func Event(e ledger.Event, banks Banks) []byte {
	r := e.Record
	o := opened(false, itemLength+512)
	o.text("id", e.ID.String())
	o.text("type", e.Kind.String())
	o.text("created_at", r.Time.String())
	o.text("account_id", r.Account.String())
	o.number("sequence", int64(e.Sequence))
	o.inner("data")
	switch {
	case r.Tx != nil:
		t := announced(r.Tx)
		o.item(t, banks)
		o.added(e.Kind, r, t)
	case r.Subscription != nil: // a test
	default:
		o.specialReturn(r.Case)
	}
	o.end()
	return o.closed()
}

// announced returns the transaction as its events show it: a queued payout always has a
// reason code, the one of the directory limit that it waits for.
func announced(t *ledger.Transaction) *ledger.Transaction {
	if t.Status != pix.StatusQueued || t.ReasonCode != "" {
		return t
	}
	queued := *t
	queued.ReasonCode = t.Payout.Bucket.Reason()
	return &queued
}

// added writes the members that an event of the kind has beside those of the transaction's
// item.
func (o *object) added(kind pix.EventKind, r *ledger.Record, t *ledger.Transaction) {
	switch kind {
	case pix.EventPayoutQueued, pix.EventPayoutFailed, pix.EventPayoutRejected:
		o.text("reason_description", reasonText(t.ReasonCode))
	case pix.EventPayoutConfirmed:
		o.flag("after_void", r.Kind == ledger.PayoutSettledLate)
	case pix.EventReturnReceived:
		o.text("reason_description", t.Description) // the ledger describes a return by its reason
		o.givenBack(t.Amount, t.Return.Returned, t.Return.OriginalAmount)
	case pix.EventRefundCompleted:
		o.givenBack(t.Amount, r.Sums.Settled, r.Sums.Amount)
	case pix.EventRefundFailed:
		o.text("reason_description", reasonText(t.ReasonCode))
		o.givenBack(t.Amount, r.Sums.Settled, r.Sums.Amount)
	}
}

// givenBack writes how much of a payment went back: amount is that of one refund or return,
// total the sum of all that were executed so far, original the amount of the payment. After
// a late settlement more may have gone back than was paid; nothing is refundable then.
func (o *object) givenBack(amount, total, original pix.Amount) {
	o.number("total_refunded", int64(total))
	o.number("remaining_refundable", int64(max(0, original-total)))
	o.flag("is_partial", amount < original)
}
