package ledger

import (
	"slices"

	"pixd/actors/redact"
)

// afterwards handles a result that is reported for a payout whose status is final already.
// Only two results change something, both after a void: the scheme settled the payout,
// which is then debited; or the scheme rejected the payout, which then can settle no more.
// Any other result that contradicts the status raises an alert and changes nothing.
func (d *draft) afterwards(t Transaction, c ResolveTransfer) Decision {
	settled := c.Result == TransferIsSettled
	switch {
	case settled && t.Voided():
		late, r := d.settleLate(t)
		if r != nil {
			return Decision{Refusal: r}
		}
		return d.done(&late)
	case c.Result == TransferIsRejected && t.Voided() && c.Reason != ReasonDuplicate:
		// The rejection proves that no money moved under this id, so an equal request later
		// gets a new id.
		t.Transfer.RejectedAfterVoid = true
		d.mustAdd(PayoutRejectedAfterVoid, Body{Tx: &t})
		return d.done(&t)
	case settled && t.Status != StatusSettled:
		d.contradicts(&t, "the scheme says that it settled")
	case c.Result == TransferIsRejected && t.Status == StatusSettled:
		d.contradicts(&t, "the scheme says that it was rejected: "+printable(c.Reason))
	}
	return Decision{Tx: &t, Repeat: true, Alerts: d.alerts}
}

// settleLate debits a payout that was voided, even where the balance falls below zero. The
// payout keeps its place in the statement, so that the statement of a past day does not
// change.
func (d *draft) settleLate(t Transaction) (Transaction, *Refusal) {
	t.Status, t.ReasonCode, t.Transfer.LateAt = StatusSettled, "", d.stamp.Time
	if r := d.add(PayoutSettledLate, Body{Tx: &t, Events: settledEvents()}); r != nil {
		return t, r
	}
	d.alert(AlertLate, &t, "a payout settled after it had been voided: amount and fee are debited")
	return t, nil
}

// namesAnother tells whether a notice about the payout or refund names an end-to-end id that
// is not its own. If so it raises an alert, and the caller ignores the notice.
func (d *draft) namesAnother(t *Transaction, endToEnd string) bool {
	if endToEnd == t.EndToEnd {
		return false
	}
	d.contradicts(t, "the scheme's notice names the end-to-end id "+printable(endToEnd)+" and not its own "+t.EndToEnd)
	return true
}

// printable returns a code or an id of a notice as an alert may show it.
func printable(s string) string { return redact.Code(s) }

func (d *draft) contradicts(t *Transaction, says string) {
	if t.unseen() {
		says += " (its end-to-end id is " + t.EndToEnd + ")"
	}
	d.alert(AlertContradiction, t, t.noun()+" that is "+t.Status.String()+": "+says+"; nothing is changed")
}

// unseen tells whether the merchant has not seen the payout or refund yet, or never will. Look-ups
// find one that was refused under its end-to-end id alone.
func (t *Transaction) unseen() bool { return t.Kind.Outbound() && t.Ordinal == 0 }

func (t *Transaction) noun() string {
	if t.Kind == TxRefund {
		return "a refund"
	}
	return "a payout"
}

func (d *draft) alert(kind string, t *Transaction, message string) {
	if !slices.Contains(AlertKinds(), kind) {
		panic("ledger: an alert of the unknown kind " + kind)
	}
	a := Alert{Kind: kind, Tx: t.ID, Message: message}
	if t.Status != StatusRefused { // the merchant never sees it
		a.Public = t.Public()
	}
	d.alerts = append(d.alerts, a)
}

// receiveReturn credits a return of a payout as a transaction of its own. A payout that is
// still in flight is settled first, because only a payment that arrived can be returned.
func (d *draft) receiveReturn(c ReceiveReturn, f Facts) Decision {
	switch first := f.Return; {
	case first != nil && first.Return.Original != c.ID, f.Credited:
		d.contradicts(f.Tx, "the scheme says that "+c.ReturnID+" returns it, which has returned another payout")
		return Decision{Tx: f.Tx, Repeat: true, Alerts: d.alerts}
	case d.namesAnother(f.Tx, c.EndToEnd):
		return Decision{Tx: f.Tx, Repeat: true, Alerts: d.alerts}
	case first != nil:
		return Decision{Tx: first, Repeat: true}
	}
	t := *f.Tx
	switch {
	case t.Status.InFlight():
		t = *d.settle(t)
	case t.Voided():
		var r *Refusal
		if t, r = d.settleLate(t); r != nil {
			return Decision{Refusal: r}
		}
	case t.Status != StatusSettled:
		d.contradicts(&t, "the scheme says that it was returned")
		return Decision{Tx: &t, Repeat: true, Alerts: d.alerts}
	}
	if c.Amount > t.Amount-t.Payout.Returned {
		d.contradicts(&t, "the scheme returns more than was paid")
		out := d.done(&t)
		if len(out.Records) > 0 {
			out.Ended = &t
		}
		return out
	}
	t.Payout.Returned += c.Amount
	back := d.back(c, &t)
	d.show(&back)
	d.book(&back, StatusCompleted)
	if r := d.add(ReturnReceived, Body{Tx: &back, Events: []EventKind{EventReturnReceived}}); r != nil {
		return Decision{Refusal: r}
	}
	d.mustAdd(PayoutReturned, Body{Tx: &t, Events: []EventKind{EventPayoutReturned}})
	out := d.done(&back)
	out.Ended = &t
	return out
}

// back makes the transaction of a return.
func (d *draft) back(c ReceiveReturn, t *Transaction) Transaction {
	return Transaction{
		ID: d.stamp.ID, Kind: TxReturn, Amount: c.Amount, EndToEnd: c.ReturnID, ReasonCode: c.Reason, Description: returnText(c.Reason),
		Counterparty: Party{Name: t.Counterparty.Name, ISPB: t.Counterparty.ISPB},
		Return:       ReturnPart{Original: t.ID, OriginalEndToEnd: t.EndToEnd, OriginalAmount: t.Amount, Returned: t.Payout.Returned},
	}
}

// returnText describes a return's reason code in words.
func returnText(code string) string {
	switch code {
	case "MD06":
		return "Returned by agreement between the parties"
	case "BE08":
		return "Returned because of fraud"
	case "FR01":
		return "Returned because fraud was reported at the receiving side"
	case "SL02":
		return "Returned because of a settlement error"
	}
	return "Return from counterparty (" + code + ")"
}
