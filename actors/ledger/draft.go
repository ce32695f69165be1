package ledger

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"pixd/actors/layout"
	"pixd/actors/pix"
	"pixd/actors/redact"
)

// draft collects the records of one decision. Each record has the totals that the account
// has after it.
type draft struct {
	account *Account
	stamp   Stamp
	totals  Totals
	records []Record
	alerts  []Alert
	launch  []Launch

	facts caseFacts
	drawn byte // number of ids that drawID has made
	made  int  // number of refunds for cases that the decision has made
	// The states of refund sums and cases after the decision's records so far, where they
	// differ from the facts.
	sums  map[pix.TxID]layout.RefundSums
	cases map[uint64]*Case // by ordinal
}

// add appends a record of the kind and computes its totals. It returns RefuseOverflow where
// a sum overflows; the caller then drops the whole decision. A change of status that the
// table of kinds does not allow is a bug and panics.
func (d *draft) add(kind RecordKind, b Body) *Refusal {
	if t := b.Tx; t != nil {
		if err := transition(kind, t.was, t.Status); err != nil {
			panic(fmt.Sprintf("ledger: %v: %v after record %d: %v", d.account.ID, t.ID, t.at, err))
		}
		b.Prev = t.at
		t.Doubted = t.Doubted || d.stamp.Doubted
	}
	if k := b.Case; k != nil {
		if err := caseTransition(kind, k.was.status, k.Status); err != nil {
			panic(fmt.Sprintf("ledger: %v: %v after record %d: %v", d.account.ID, k.ID, k.at, err))
		}
		b.Prev, b.HeldWas, b.OwedWas, b.ShortWas, b.DueWas = k.at, k.was.held, k.was.owed, k.was.short, k.was.due
	}
	if b.Sums != nil { // the caller may go on counting in its own copy
		kept := *b.Sums
		b.Sums = &kept
	}
	b.Deliveries = d.account.deliveries(b.Events, b.Subscription)
	if above := d.stamp.Terms.EventsAbove; len(b.Events) > 0 && d.totals.Events < above {
		b.Skipped = above - d.totals.Events
	}
	r := Record{
		Account: d.account.ID,
		Seq:     d.account.Seq + uint64(len(d.records)) + 1,
		Time:    d.stamp.Time,
		Kind:    kind,
		Body:    b,
	}
	after, ok := d.totals.after(&r)
	if !ok {
		return refuse(RefuseOverflow, "the balance would not fit")
	}
	r.Totals, d.totals = after, after
	if r.Tx != nil {
		r.Tx.standsAt(r.Seq)
	}
	if r.Case != nil {
		r.Case.standsAt(r.Seq)
	}
	if r.Sums != nil {
		d.sums = with(d.sums, r.Sums.Original, *r.Sums)
	}
	d.records = append(d.records, r)
	return nil
}

// mustAdd is add for records whose sums cannot overflow: they release or debit held money,
// or move none.
func (d *draft) mustAdd(kind RecordKind, b Body) {
	if r := d.add(kind, b); r != nil {
		panic("ledger: " + r.Message)
	}
}

// done is the decision that consists of the draft's records; tx is the transaction that it is about.
func (d *draft) done(tx *Transaction) Decision {
	return Decision{Answer: Answer{Tx: tx}, Records: d.records, Alerts: d.alerts, Launch: d.launch}
}

// unchanged is the decision that changes nothing: t is what an equal, earlier command has led to.
func (d *draft) unchanged(t *Transaction) Decision {
	return Decision{Answer: Answer{Tx: t, Repeat: true}, Alerts: d.alerts}
}

// show makes the transaction visible to the merchant: it sets the creation time and the
// ordinal among the account's items.
func (d *draft) show(t *Transaction) {
	t.CreatedAt, t.Ordinal = d.stamp.Time, d.totals.Items+1
}

// bookAs gives a transaction its final status, and its number in the account's statement.
func (d *draft) bookAs(t *Transaction, s pix.TxStatus) {
	t.Status, t.BookedAt, t.Booking = s, d.stamp.Time, d.totals.Bookings+1
}

// addWaiting adds a record that gives the payout the due time now + long (ms).
func (d *draft) addWaiting(kind RecordKind, t *Transaction, long pix.Millis, b Body) {
	b.DueWas, b.DueWasKind = t.Transfer.DueAt, t.Transfer.DueKind
	t.Transfer.DueAt, t.Transfer.DueKind = d.stamp.Clock+long, t.due()
	b.Tx = t
	d.mustAdd(kind, b)
}

// drawID returns an id for a transaction beside the one that has the stamp's id; it is made
// from the stamp's id.
func (d *draft) drawID() pix.TxID {
	d.drawn++
	sum := sha256.Sum256(append(d.stamp.ID[:], d.drawn))
	return pix.NewTxID(d.stamp.ID.Time(), [10]byte(sum[:10]))
}

func (d *draft) alert(kind string, t *Transaction, message string) {
	if !slices.Contains(AlertKinds(), kind) {
		panic("ledger: an alert of the unknown kind " + kind)
	}
	a := Alert{Kind: kind, Tx: t.ID, Message: message}
	if t.Status != pix.StatusRefused { // the merchant never sees it
		a.Public = t.Public()
	}
	d.alerts = append(d.alerts, a)
}

func (d *draft) contradicts(t *Transaction, says string) {
	if t.unseen() {
		says += " (its end-to-end id is " + t.EndToEnd + ")"
	}
	d.alert(AlertContradiction, t, t.noun()+" that is "+t.Status.String()+": "+says+"; nothing is changed")
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

// unseen tells whether the merchant has not seen the payout or refund yet, or never will. Look-ups
// find one that was refused under its end-to-end id alone.
func (t *Transaction) unseen() bool { return t.Kind.Outbound() && t.Ordinal == 0 }

func (t *Transaction) noun() string {
	if t.Kind == pix.TxRefund {
		return "a refund"
	}
	return "a payout"
}

// with sets a key of a map, which it makes where there is none.
func with[K comparable, V any](m map[K]V, k K, v V) map[K]V {
	if m == nil {
		m = map[K]V{}
	}
	m[k] = v
	return m
}
