package ledger

import (
	"pixd/actors/layout"
	"pixd/actors/pix"
)

// addCase adds a record about a case that may change refund sums (nil: it does not).
func (d *draft) addCase(kind RecordKind, k *Case, sums *layout.RefundSums, events ...pix.EventKind) *Refusal {
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

// unchangedCase is the decision that changes nothing: k is what an equal, earlier command has led to.
func (d *draft) unchangedCase(k *Case) Decision {
	return Decision{Answer: Answer{Case: k, Repeat: true}, Alerts: d.alerts}
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
	d.alert(kind, &Transaction{ID: k.Original, Kind: pix.TxReceipt}, message)
}
