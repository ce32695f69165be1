package simulation

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/scheme/sim"
	"pixd/wal"
)

var ctx = context.Background()

func sorted[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

// remembered checks, after the start of a process, that the journal still agrees with every
// answer that clients and operators got.
func (l *life) remembered() {
	l.entriesKept()
	l.casesKept()
	for i := range l.reads {
		l.stillTrue(&l.reads[i])
	}
	for i := range l.answers {
		a := &l.answers[i]
		if l.flipped[a.account] {
			continue
		}
		now, err := l.shown(a.tx.ID)
		switch {
		case err != nil:
			l.fail("%v: %v", a.tx.ID, err)
		case a.refused && now != nil && a.tx.Status == pix.StatusRefused:
			l.fail("%v was refused, and is %v", a.tx.ID, now.Status)
		case a.refused:
		case now == nil:
			l.fail("%v was shown as %v, and is gone", a.tx.ID, a.tx.Status)
		case !a.tx.Status.InFlight() && a.tx.Status != pix.StatusActive && now.Status != a.tx.Status && !a.tx.Voided():
			l.fail("%v was shown as %v, and is %v", a.tx.ID, a.tx.Status, now.Status)
		case a.tx.Payout.Decision != 0 && now.Payout.Decision != a.tx.Payout.Decision && a.tx.ID.Time() > l.terms.RestoredAt, now.CreatedAt != a.tx.CreatedAt, now.ExternalID != a.tx.ExternalID,
			a.tx.EndToEnd != "" && now.EndToEnd != a.tx.EndToEnd && !slices.Contains(now.Payout.Former, a.tx.EndToEnd):
			l.fail("%v was shown as %+v, and is %+v", a.tx.ID, a.tx, *now)
		case now.Amount != a.tx.Amount || now.Fee != a.tx.Fee && a.tx.Kind == pix.TxPayout:
			l.fail("%v has changed its amounts", a.tx.ID)
		}
	}
}

// shown returns a transaction as lists show it, or nil if lists do not show the transaction.
func (l *life) shown(id pix.TxID) (*ledger.Transaction, error) {
	b, ok, err := l.journal.Get(layout.IDKey(id.Short()))
	if err != nil || !ok {
		return nil, err
	}
	row, err := layout.DecodeIDRow(b)
	if err != nil {
		return nil, err
	}
	if b, ok, err = l.journal.Get(layout.ItemKey(row.Account, row.Ordinal)); err != nil || !ok {
		return nil, fmt.Errorf("an id row without an item: %w", err)
	}
	item, err := layout.DecodeItemRow(b)
	if err != nil {
		return nil, err
	}
	r, err := rows{l.journal}.Record(row.Account, item.Seq)
	if err != nil {
		return nil, err
	}
	return r.Tx, nil
}

// judge checks everything once the engine is idle.
func (l *life) judge() {
	l.nobodyWaits()
	l.remembered()
	l.rebuilt()
	l.atRest()
	l.theBooks()
	l.straysEnded()
	l.alerted()
	l.inPeace()
	l.repeat()
}

// atRest checks that no account has anything held and that no work is left.
func (l *life) atRest() {
	for id := range l.all() {
		a := l.account(id)
		if l.flipped[id] {
			if a.Broken() == nil {
				continue // the account has not read its damaged record yet, so it is not quarantined
			}
			continue
		}
		if a.Broken() != nil {
			l.fail("%v is quarantined: %v", id, a.Broken())
			continue
		}
		if t := a.Head().Totals; t.Held != 0 || t.Owed != 0 || t.MEDHeld != l.chronicle0.undecided(id) || a.Working() != 0 {
			l.fail("%v: %+v and %d children, with nothing left to do", id, t, a.Working())
		}
	}
	if len(l.flipped) > 0 {
		return
	}
	for name, bounds := range map[string]func() (lo, hi []byte){
		"open": layout.OpenRange, "due": layout.AllDue, "queue": func() (lo, hi []byte) { r := layout.QueueRanges(); return r[0][0], r[0][1] },
		"earlier queue": func() (lo, hi []byte) { r := layout.QueueRanges(); return r[1][0], r[1][1] },
	} {
		_ = l.journal.Scan(first(bounds()), second(bounds()), func(k, _ []byte) (bool, error) {
			l.fail("%s row %x is left", name, k)
			return true, nil
		})
	}
}

func first(a, _ []byte) []byte  { return a }
func second(_, b []byte) []byte { return b }

// theBooks checks that each account's balance is, to the base unit, the sum of the amounts
// that the scheme and the operators moved, and that the engine has settled, once, each payout
// that the scheme settled.
func (l *life) theBooks() {
	want := map[pix.AccountID]pix.Amount{}
	for reference, done := range sorted(l.credited) {
		var id pix.AccountID
		var amount pix.Amount
		if _, err := fmt.Sscan(reference, &id, &amount); err != nil || !done && !l.flipped[id] {
			l.fail("credit %s: confirmed %v, %v", reference, done, err)
		}
		want[id] += amount
	}
	paid := map[string]pix.TxID{}
	moves, _, err := l.outside.sim.Settled(ctx, 0, "", 1_000_000)
	if err != nil {
		l.fail("movements: %v", err)
	}
	back := map[string]bool{}
	for _, m := range moves {
		back[m.EndToEnd] = back[m.EndToEnd] || m.Kind == sim.MovedRefused
	}
	for _, m := range moves {
		if l.gap.lacks(l, &m) {
			continue
		}
		switch m.Kind {
		case sim.MovedPayment:
			if back[m.EndToEnd] {
				continue
			}
			want[m.Account] += m.Amount - l.cashInFee(m)
		case sim.MovedRefused:
			if l.receivedAs(m.EndToEnd, m.Account) != nil {
				l.fail("%s was given back, and is credited to %v", m.EndToEnd, m.Account)
			}
		case sim.MovedReturn:
			want[m.Account] += m.Amount
		case sim.MovedRefund:
			want[m.Account] -= m.Amount
			l.refundedHere(m)
		case sim.MovedPayout:
			want[m.Account] -= m.Amount
			if p := l.chronicle0.payouts[m.Tx]; p != nil {
				want[m.Account] -= p.held.Fee
			}
			if before, twice := paid[m.EndToEnd]; twice {
				l.fail("%s was paid by %v and %v", m.EndToEnd, before, m.Tx)
			}
			paid[m.EndToEnd] = m.Tx
			l.settledHere(m)
		}
	}
	for id := range l.all() {
		if l.flipped[id] {
			continue
		}
		if got := l.account(id).Head().Totals.Balance; got != want[id] {
			l.fail("%v: balance %d, what moved makes %d", id, got, want[id])
		}
	}
}

// cashInFee returns the fee in the record of a customer's payment. The amount of the fee was
// checked when the record itself was checked.
func (l *life) cashInFee(m sim.SettledMovement) pix.Amount {
	b, ok, err := l.journal.Get(layout.ReceivedKey(m.EndToEnd, m.Account))
	if err != nil || !ok {
		return 0 // the payment was not credited: the check of the balance will fail
	}
	row, err := layout.DecodeReceivedRow(m.EndToEnd, b)
	if err != nil {
		return 0
	}
	r, err := rows{l.journal}.Record(m.Account, row.Seq)
	if err != nil || r.Tx == nil {
		return 0
	}
	return r.Tx.Fee
}

func (l *life) settledHere(m sim.SettledMovement) {
	if l.flipped[m.Account] {
		return
	}
	t, err := l.shown(m.Tx)
	if err != nil || t == nil || t.Status != pix.StatusSettled {
		l.fail("%v settled at the scheme, here it is %+v %v", m.Tx, t, err)
	}
}

// orphans checks that each payout which the engine has settled or rejected is settled or
// rejected at the scheme too.
func (l *life) orphans() {
	for i := range l.answers {
		a := &l.answers[i]
		if a.tx.Kind == pix.TxRefund && !l.flipped[a.account] {
			l.refundedThere(a.tx.ID)
		}
		if a.tx.Kind != pix.TxPayout || l.flipped[a.account] {
			continue
		}
		t, err := l.shown(a.tx.ID)
		if err != nil || t == nil || t.Status != pix.StatusSettled && t.Status != pix.StatusRejected && !t.Transfer.RejectedAfterVoid || l.gap.underTwoIDs(t) {
			continue
		}
		s, err := l.outside.sim.Ask(ctx, t.ID, t.EndToEnd)
		if t.Status != pix.StatusSettled {
			if err != nil || s.Progress != scheme.Rejected || t.Transfer.RejectedAfterVoid && s.Reason == ledger.ReasonDuplicate ||
				t.Status == pix.StatusRejected && s.Reason != t.ReasonCode {
				l.fail("%v is %v with %q here, at the scheme %v %v", t.ID, t.Status, t.ReasonCode, s, err)
			}
			continue
		}
		if err != nil || s.Progress != scheme.Settled {
			l.fail("%v is settled here, at the scheme %v %v", t.ID, s, err)
		}
	}
}

// quarantineWithWork starts six more payouts of an account, about which the scheme stays
// silent, and then flips a bit in the account's newest record.
func (l *life) quarantineWithWork() {
	if l.mood.flip == 0 || len(l.flipped) > 0 || l.clock < l.outside.down {
		return
	}
	id := l.someone()
	for range 6 {
		l.numbers++
		key := pix.Key{Type: pix.KeyEmail, Value: fmt.Sprintf("silent+q%d@pix.test", l.numbers)}
		l.ask(&request{account: id, make: func() ledger.Command { return ledger.RequestPayout{Amount: 10, Key: key, GivenDocument: "12345678909"} }})
		l.carryNewest()
	}
	newest := func(n int) int { return n - 1 } // chooses the newest record, and its last bit
	if l.journal.Flip(wal.Stream(id), newest) {
		l.flipped[id] = true
		l.count("met: a quarantined account with much in flight")
		l.crash("a bit flipped")
	}
}

// flip flips a random bit in a record of a random account.
func (l *life) flip() {
	id := l.someone()
	if l.journal.Flip(wal.Stream(id), l.rng.IntN) {
		l.say("a bit of %v flips", id)
		l.flipped[id] = true
	}
}
