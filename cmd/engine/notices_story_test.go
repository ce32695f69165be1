package engine

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
)

// contradicts sends a contradicting notice twice and checks that each copy is acknowledged
// and changes nothing, and that each copy raises one more alert about the payout.
func (w *harness) contradicts(o *otherSide, why, transaction string, n scheme.Notice) {
	w.t.Helper()
	before, money := w.found(transaction), w.money()
	had, others := w.alerts("contradicting_notice", transaction)
	for reported := range 2 {
		o.notify(w, n, nil)
		if got, of := w.alerts("contradicting_notice", transaction); got != had+reported+1 || of != others {
			w.t.Errorf("%s: after notice %d there are %d alerts about the payout and %d of others, had %d and %d", why, reported+1, got, of, had, others)
		}
	}
	if after := w.found(transaction); !reflect.DeepEqual(after, before) || w.money() != money {
		w.t.Errorf("%s: the payout was %+v and is %+v; the money %s, was %s", why, before, after, w.money(), money)
	}
}

// TestNoticesThatContradict checks a notice that names our transaction with another
// end-to-end id, and a notice of a return whose id has credited another payout.
func TestNoticesThatContradict(t *testing.T) {
	t.Parallel()
	o := newOtherSide(t)
	w := newHarness(t, vfs.NewMem(), o.beside)
	v := w.another()
	first, second := w.paidOut(`{"amount":500,"pix_key":"a@pix.test"}`), w.paidOut(`{"amount":600,"pix_key":"a@pix.test"}`)
	theirs := v.paidOut(`{"amount":700,"pix_key":"a@pix.test"}`)
	for why, n := range map[string]scheme.Notice{
		"settled":                  {Kind: scheme.PaymentSettled, Tx: first.tx(), EndToEnd: second.EndToEnd},
		"settled under nobody's":   {Kind: scheme.PaymentSettled, Tx: first.tx(), EndToEnd: first.EndToEnd[:31] + "~"},
		"settled under another's":  {Kind: scheme.PaymentSettled, Tx: first.tx(), EndToEnd: theirs.EndToEnd},
		"rejected":                 {Kind: scheme.PaymentRejected, Tx: first.tx(), EndToEnd: second.EndToEnd, Reason: "AC03"},
		"returned under another's": {Kind: scheme.ReturnReceived, Tx: first.tx(), EndToEnd: second.EndToEnd, ReturnID: returnID(9), Amount: 100, Reason: "MD06"},
	} {
		w.contradicts(o, why, first.TransactionID, n)
	}
	for _, p := range []item{first, second} {
		o.notify(w, scheme.Notice{Kind: scheme.PaymentSettled, Tx: p.tx(), EndToEnd: p.EndToEnd}, nil)
		if got := w.found(p.TransactionID); got.Status != "settled" {
			t.Errorf("%+v", got)
		}
	}
	o.notify(w, scheme.Notice{Kind: scheme.PaymentSettled, Tx: theirs.tx(), EndToEnd: theirs.EndToEnd}, nil)
	w.contradicts(o, "settled, of what has settled", first.TransactionID,
		scheme.Notice{Kind: scheme.PaymentSettled, Tx: first.tx(), EndToEnd: second.EndToEnd})

	back := scheme.Notice{Kind: scheme.ReturnReceived, Tx: first.tx(), EndToEnd: first.EndToEnd, ReturnID: returnID(1), Amount: 100, Reason: "MD06"}
	o.notify(w, back, nil)
	money := w.money()
	o.notify(w, back, nil) // the same notice again: it changes nothing and raises no alert
	if got := w.found(first.TransactionID); got.Returned == nil || *got.Returned != 100 || w.money() != money {
		t.Errorf("%+v, %s, was %s", got, w.money(), money)
	}
	of := func(p item) scheme.Notice {
		n := back
		n.Tx, n.EndToEnd = p.tx(), p.EndToEnd
		return n
	}
	w.contradicts(o, "a return's id of another payout", second.TransactionID, of(second))
	v.contradicts(o, "a return's id of another account's", theirs.TransactionID, of(theirs))
}

func returnID(n int) string { return fmt.Sprintf("D9999900520260301120%012d", n) }

// TestAlertsOutliveACut cuts the power right after notices are acknowledged, and checks that
// their alerts are still listed: one alert for a late settlement, however often its notice
// comes, and one for each contradicting notice.
func TestAlertsOutliveACut(t *testing.T) {
	t.Parallel()
	o := newOtherSide(t)
	disk := vfs.NewCrashableMem()
	voiding := func(c *Config) { o.beside(c); c.OrphanAfter = time.Millisecond }
	w := newHarness(t, disk, voiding)
	p := w.paidOut(`{"amount":500,"pix_key":"a@pix.test"}`)
	w.becoming(p.TransactionID, "failed")
	settled := scheme.Notice{Kind: scheme.PaymentSettled, Tx: p.tx(), EndToEnd: p.EndToEnd}
	rejected := scheme.Notice{Kind: scheme.PaymentRejected, Tx: p.tx(), EndToEnd: p.EndToEnd, Reason: "AC03"}
	cut := func(n scheme.Notice, late, contradicting int) {
		t.Helper()
		var kept wal.FS
		o.notify(w, n, func() { kept = after(disk) })
		w.stop()
		disk = kept.(*vfs.MemFS)
		w = w.at(serveHarness(t, disk, voiding))
		for kind, want := range map[string]int{"late_settlement": late, "contradicting_notice": contradicting} {
			if got, others := w.alerts(kind, p.TransactionID); got != want || others != 0 {
				t.Errorf("behind %v: %d alerts %s and %d of others, want %d", n.Kind, got, kind, others, want)
			}
		}
		if got := w.found(p.TransactionID); got.Status != "settled" {
			t.Errorf("behind %v: %+v", n.Kind, got)
		}
	}
	cut(settled, 1, 0)
	cut(settled, 1, 0) // the scheme repeats an acknowledged notice
	cut(rejected, 1, 1)
	cut(rejected, 1, 2)
	w.eventsOf(p.tx(), ledger.PayoutSettledLate)
}

// eventsOf checks that the record of a settled payout has the event confirmed, and after it
// the event completed.
func (w *harness) eventsOf(id pix.TxID, kind ledger.RecordKind) {
	w.t.Helper()
	account, _ := pix.ParseAccountID(w.ID)
	found := 0
	err := w.Store.Read(wal.Stream(account), 1, 0, func(sealed wal.Record) error {
		r := ledger.Record{Account: account, Seq: sealed.Seq, Time: pix.Millis(sealed.Time), Kind: ledger.RecordKind(sealed.Kind)}
		if err := r.Decode(sealed.Body); err != nil || r.Tx == nil || r.Tx.ID != id || r.Kind != kind {
			return err
		}
		if found++; !slices.Equal(r.Events, []pix.EventKind{pix.EventPayoutConfirmed, pix.EventCompleted}) {
			w.t.Errorf("record %d (%v) has the events %v", r.Seq, r.Kind, r.Events)
		}
		return nil
	})
	if err != nil || found != 1 {
		w.t.Errorf("%d records %v of %v, %v", found, kind, id, err)
	}
}

// TestConfirmedBeforeCompleted checks the order of the events of a payout that settles within
// the submit call, and of a payout that settles by a notice.
func TestConfirmedBeforeCompleted(t *testing.T) {
	t.Parallel()
	o := newOtherSide(t)
	w := newHarness(t, vfs.NewMem(), o.beside)
	later := w.paidOut(`{"amount":500,"pix_key":"a@pix.test"}`)
	o.notify(w, scheme.Notice{Kind: scheme.PaymentSettled, Tx: later.tx(), EndToEnd: later.EndToEnd}, nil)
	w.eventsOf(later.tx(), ledger.PayoutSettled)
	o.says(scheme.State{Progress: scheme.Settled})
	at := w.paidOut(`{"amount":600,"pix_key":"a@pix.test"}`)
	if at.Status != "settled" {
		t.Errorf("%+v", at)
	}
	w.eventsOf(at.tx(), ledger.PayoutSettled)
}

// TestDuplicateOfUnknown checks a payout that the scheme rejects as a duplicate of a payment
// that the engine does not know: the payout names no transaction, and the next equal request
// uses the same end-to-end id, also after a power cut.
func TestDuplicateOfUnknown(t *testing.T) {
	t.Parallel()
	o := newOtherSide(t)
	disk := vfs.NewCrashableMem()
	w := newHarness(t, disk, o.beside)
	money := w.money()
	o.says(scheme.State{Progress: scheme.Rejected, Reason: ledger.ReasonDuplicate})
	const body = `{"amount":500,"pix_key":"a@pix.test"}`
	var first item
	for n := range 3 {
		taken := w.paidOut(body)
		got := w.becoming(taken.TransactionID, "rejected")
		if n == 0 {
			first = got
		}
		if got.Reason == nil || *got.Reason != ledger.ReasonDuplicate || got.DuplicateOf != nil || got.EndToEnd != first.EndToEnd || w.money() != money {
			t.Errorf("number %d: %+v; the first went out under %s; %s", n, got, first.EndToEnd, w.money())
		}
		if n == 1 {
			kept := after(disk)
			w.stop()
			w = w.at(serveHarness(t, kept, o.beside))
		}
	}
	o.says(scheme.State{Progress: scheme.Settled})
	if got := w.paidOut(body); got.EndToEnd != first.EndToEnd || got.Status != "settled" {
		t.Errorf("%+v", got)
	}
}
