package simulation

import (
	"fmt"
	"strings"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// stillTrue checks that an account's head, which a read showed earlier, agrees with the
// journal's record of the same sequence.
func (l *life) stillTrue(a *ledger.Account) {
	if l.flipped[a.ID] {
		return
	}
	r, err := rows{l.journal}.Record(a.ID, a.Seq)
	switch {
	case err != nil:
		l.fail("%v: a read showed record %d: %v", a.ID, a.Seq, err)
	case r.Totals != a.Totals:
		l.fail("%v: a read showed %+v, record %d has %+v", a.ID, a.Totals, a.Seq, r.Totals)
	}
}

// holdsHaveWork checks, at every start of a process, that each account's held amount is the
// sum of the payouts in its due rows, and that each due row belongs to a payout in flight.
func (l *life) holdsHaveWork() {
	held, seen := map[pix.AccountID]pix.Amount{}, map[pix.TxID]bool{}
	lo, hi := layout.AllDue()
	err := l.journal.Scan(lo, hi, func(k, v []byte) (bool, error) {
		d, err := layout.DecodeDue(k, v)
		if err != nil || l.flipped[d.Account] {
			return err == nil, err
		}
		if d.Kind == layout.DueCase {
			return true, l.caseIsDue(&d)
		}
		id, tx, seq := d.Account, pix.TxID(d.ID), d.Seq
		r, err := rows{l.journal}.Record(id, seq)
		if err != nil {
			return false, err
		}
		if seen[tx] || r.Tx == nil || r.Tx.ID != tx {
			l.fail("due row %x names %+v", k, r.Tx)
		} else if t := l.standing(tx, r.Tx.EndToEnd); t == nil || !t.Status.InFlight() {
			l.fail("due row of %v, which is %+v", tx, t)
		}
		seen[tx] = true
		held[id] += r.Tx.Gross()
		return true, nil
	})
	if err != nil {
		l.fail("due rows: %v", err)
	}
	for id := range l.all() {
		if seq, _, err := l.journal.Last(wal.Stream(id)); err != nil || seq == 0 || l.flipped[id] {
			continue
		} else if r, err := (rows{l.journal}).Record(id, seq); err != nil {
			l.fail("%v: %v", id, err)
		} else if r.Totals.Held != held[id] {
			l.fail("%v: %d held, work for %d", id, r.Totals.Held, held[id])
		}
	}
}

// standing returns a payout from the journal, even if lists do not show the payout yet. It
// returns nil if the journal has no such payout.
func (l *life) standing(tx pix.TxID, endToEnd string) *ledger.Transaction {
	if t, err := l.shown(tx); err == nil && t != nil {
		return t
	}
	for _, key := range layout.EndToEndKeys(endToEnd) {
		b, ok, _ := l.journal.Get(key)
		if !ok {
			continue
		}
		row, err := layout.DecodeEndToEndRow(b)
		if err != nil {
			continue
		}
		if seq, ours := row.Find(tx); ours {
			if r, err := (rows{l.journal}).Record(row.Account, seq); err == nil && r.Tx != nil {
				return r.Tx
			}
		}
	}
	return nil
}

// sentIsKnown checks that the journal has each payout which the scheme has taken, and that no
// such payout is queued, pending or refused, or has failed without a void.
func (l *life) sentIsKnown() {
	if len(l.flipped) > 0 {
		return
	}
	for tx, endToEnd := range l.outside.sent {
		t := l.standing(tx, endToEnd)
		if t == nil {
			l.fail("the scheme has %v, the journal does not", tx)
			continue
		}
		switch t.Status {
		case pix.StatusQueued, pix.StatusPending, pix.StatusRefused:
			l.fail("the scheme has %v, in the journal it is %v", tx, t.Status)
		case pix.StatusFailed:
			if t.Kind == pix.TxPayout && !t.Voided() && !t.Transfer.RejectedAfterVoid {
				l.fail("the scheme has %v, in the journal it failed with %s", tx, t.ReasonCode)
			}
		}
	}
}

// alerted checks that each late settlement has an alert row in the journal.
func (l *life) alerted() {
	kept, late := map[string]int{}, map[string]int{}
	lo := wal.MetaKey(alertRow)
	_ = l.journal.Scan(lo, wal.PrefixEnd(lo), func(k, v []byte) (bool, error) {
		kept[string(v)]++
		return true, nil
	})
	for id, p := range l.chronicle0.payouts {
		if p.tx.Transfer.LateAt != 0 {
			late[ledger.AlertLate+id.String()]++
		}
	}
	for id, t := range l.chronicle0.refunds.newest {
		if t.Transfer.LateAt != 0 {
			late[ledger.AlertLate+id.String()]++
		}
	}
	for id := range l.chronicle0.refunds.found {
		late[ledger.AlertLate+id.String()]++
	}
	for id, n := range l.chronicle0.refunds.unrefunded {
		late[ledger.AlertUnrefunded+id.String()] += n
	}
	for what, n := range late {
		if kept[what] != n {
			l.fail("%s: %d rows", what, kept[what])
		}
	}
}

const alertRow = "alert/"

// Row implements account.Alerts.
func (l *life) Row(_ pix.AccountID, a ledger.Alert, at pix.Millis) wal.Op {
	l.drawn++
	return wal.Op{Kind: wal.OpSet, Key: wal.MetaKey(fmt.Sprintf("%s%d/%d", alertRow, at, l.drawn)), Value: []byte(a.Kind + a.Tx.String())}
}

// inPeace checks that alerts were raised only for faults that really happened.
func (l *life) inPeace() {
	if n := l.seen["alert: "+ledger.AlertContradiction]; n > l.forged {
		l.fail("%d notices contradicted what is known, and %d were wrong", n, l.forged)
	}
	if n := l.seen["alert: quarantine"]; n > 0 && len(l.flipped) == 0 {
		l.fail("%d accounts were quarantined", n)
	}
}

// Raised implements account.Alerts.
func (l *life) Raised(id pix.AccountID, a ledger.Alert) {
	l.namesRightly(a)
	kind := a.Kind
	if strings.Contains(a.Message, "withdraws the report of a case that was closed as agreed") {
		kind = "withdrawn too late" // the scheme did so in truth: this notice is not a false one
	}
	if kind == ledger.AlertContradiction && l.gap.paid(l, a.Tx) {
		kind = "paid in the gap"
	}
	if l.journal.Err() == nil {
		l.count("alert: " + kind)
	}
	l.say("alert %s of %v %v: %s", a.Kind, id, a.Tx, a.Message)
}

// namesRightly checks that an alert names its payout, refund or payment as lookups do.
func (l *life) namesRightly(a ledger.Alert) {
	t, err := l.shown(a.Tx)
	if err != nil || t == nil {
		return // it is only held, and no lookup finds it yet
	}
	if a.Public != t.Public() {
		l.fail("the alert %s names %v %q", a.Kind, t.Public(), a.Public)
	}
	for _, kind := range []pix.TxKind{pix.TxPayout, pix.TxRefund, pix.TxReceipt} {
		if other := t.ID.Public(kind); other != t.Public() && strings.Contains(a.Message, other) {
			l.fail("the alert %s of %s says %q", a.Kind, t.Public(), a.Message)
		}
	}
}

// Raise implements account.Alerts.
func (l *life) Raise(id pix.AccountID, a ledger.Alert) { l.Raised(id, a) }
