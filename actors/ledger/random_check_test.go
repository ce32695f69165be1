package ledger

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// newest returns the newest state of each transaction and of each case.
func (l *life) newest() (txs map[pix.TxID]*Transaction, cases map[uint64]*Case) {
	txs, cases = map[pix.TxID]*Transaction{}, map[uint64]*Case{}
	for i := range l.records {
		r := &l.records[i]
		if r.Tx != nil {
			txs[r.Tx.ID] = r.Tx
		}
		if r.Case != nil {
			cases[r.Case.Ordinal] = r.Case
		}
	}
	return txs, cases
}

// coverage returns, for each case that holds money, what balance minus holds of transfers
// covers of it, the oldest case first.
func (l *life) coverage() map[uint64]pix.Amount {
	_, cases := l.newest()
	out, left := map[uint64]pix.Amount{}, l.account.Totals.Balance-l.account.Totals.Held
	for _, n := range slices.Sorted(maps.Keys(cases)) {
		part := max(0, min(left, cases[n].Held))
		out[n], left = part, left-cases[n].Held
	}
	return out
}

// check compares the account's totals and rows with sums over its transactions and cases.
func (l *life) check() {
	txs, cases := l.newest()
	want := Totals{Items: l.account.Totals.Items, Bookings: l.account.Totals.Bookings, Events: l.account.Totals.Events}
	sums := map[pix.TxID]*layout.RefundSums{}
	of := func(payment pix.TxID) *layout.RefundSums {
		if sums[payment] == nil {
			sums[payment] = &layout.RefundSums{Original: payment, Amount: txs[payment].Amount}
		}
		return sums[payment]
	}
	for _, t := range txs {
		switch {
		case t.Status == pix.StatusCompleted:
			want.Balance += t.Net()
		case t.Status == pix.StatusSettled:
			want.Balance -= t.Net()
		case t.Status.InFlight():
			want.Held += t.Gross()
		}
		if t.Kind != pix.TxRefund {
			continue
		}
		switch s := of(t.Refund.Original); {
		case t.Status == pix.StatusSettled:
			s.Settled += t.Amount
		case t.Status.InFlight():
			s.InFlight += t.Amount
		}
	}
	l.checkCases(cases, txs, of, &want)
	if l.account.Totals != want {
		l.t.Errorf("totals %+v, want %+v", l.account.Totals, want)
	}
	if left := want.Balance - want.Held; left < 0 && !l.late {
		l.t.Errorf("%d held of a balance of %d", want.Held, want.Balance)
	}
	l.checkSums(sums)
	l.checkRaised(cases)
	l.checkOwed(cases)
}

// checkCases adds the cases to the sums, and checks each of them.
func (l *life) checkCases(cases map[uint64]*Case, txs map[pix.TxID]*Transaction, of func(pix.TxID) *layout.RefundSums, want *Totals) {
	reports, refunded, inFlight := map[string]bool{}, map[pix.CaseID]pix.Amount{}, map[pix.CaseID]pix.Amount{}
	for _, t := range txs {
		for _, share := range t.Shares() {
			switch {
			case t.Status == pix.StatusSettled:
				refunded[share.Case] += share.Amount
			case t.Status.InFlight():
				inFlight[share.Case] += share.Amount
			}
		}
	}
	lacking := map[string]bool{}
	holding, waiting := map[string]string{}, map[string]bool{}
	for n, k := range cases {
		want.Cases = max(want.Cases, n)
		want.MEDHeld += k.Held
		owed := byte(0)
		if k.Status == pix.CaseClosed && k.Result == pix.Agreed && !k.Stopped && !k.Awaits && k.Held > 0 {
			want.Owed, owed = want.Owed+k.Held, 1
		}
		of(k.Original).Held += k.Held
		if reports[k.Infraction] {
			l.t.Errorf("two cases of %s", k.Infraction)
		}
		reports[k.Infraction] = true
		if k.Refunded != refunded[k.ID] || k.Refunded+k.Held > k.Amount && !l.late {
			l.t.Errorf("%+v: refunds of %d", k, refunded[k.ID])
		}
		l.checkLacks(k, inFlight[k.ID], of(k.Original))
		if k.Short > 0 {
			lacking[string(layout.LackingKey(testAccount, k.Original, n))] = true
		}
		if k.Held > 0 && (k.Status == pix.CaseCancelled || k.Status == pix.CaseClosed && k.Result == pix.Disagreed) {
			l.t.Errorf("%+v holds money after its end", k)
		}
		if k.Held > 0 {
			holding[string(layout.HoldingKey(testAccount, n))] = string(append(binary.BigEndian.AppendUint64(nil, uint64(k.Held)), owed))
		}
		if k.DueAt != 0 {
			waiting[string(layout.DueKey(layout.DueCase, k.DueAt, testAccount, layout.EntityID(k.ID)))] = true
		}
	}
	if uint64(len(cases)) != want.Cases {
		l.t.Errorf("%d cases, the newest is number %d", len(cases), want.Cases)
	}
	for k, v := range l.rows {
		switch layout.RowName([]byte(k)) {
		case "holding":
			if string(v) != holding[k] {
				l.t.Errorf("holding row %x: %x, want %x", k, v, holding[k])
			}
			delete(holding, k)
		case "lacking":
			if !lacking[k] {
				l.t.Errorf("lacking row %x of no case", k)
			}
			delete(lacking, k)
		case "due":
			if k[1] != byte(layout.DueCase) {
				continue
			}
			if !waiting[k] {
				l.t.Errorf("due row %x of no case", k)
			}
			delete(waiting, k)
		}
	}
	if len(holding)+len(waiting)+len(lacking) > 0 {
		l.t.Errorf("no rows %q, %q, %q", slices.Sorted(maps.Keys(holding)), slices.Sorted(maps.Keys(waiting)), slices.Sorted(maps.Keys(lacking)))
	}
}

// checkLacks checks that a case which may still hold money accounts for all that it disputes.
func (l *life) checkLacks(k *Case, inFlight pix.Amount, s *layout.RefundSums) {
	live := !k.Status.Decided() || k.DueAt != 0 || k.Held+k.Short > 0
	if sum := k.Held + k.Short + k.Refunded + inFlight; live && sum != k.Amount && !l.late {
		l.t.Errorf("%+v disputes %d, and holds, lacks, got back and waits for %d", k, k.Amount, sum)
	}
	if k.Short < 0 || k.Short > 0 && !live {
		l.t.Errorf("%+v lacks %d", k, k.Short)
	}
}

// checkRaised checks that no part of a payment is free that a case disputes. Whether an agreed
// case may still hold it after the time for returns, is another test's.
func (l *life) checkRaised(cases map[uint64]*Case) {
	for _, k := range cases {
		s, err := layout.DecodeRefundSums(k.Original, l.rows[string(layout.RefundSumsKey(testAccount, k.Original))])
		over := k.Status.Decided() && l.stamp().Clock >= k.ReleaseAt
		if err != nil || k.Short > 0 && s.Left() > 0 && !over {
			l.t.Errorf("%+v lacks %d, and of its payment %d are free (%v)", k, k.Short, s.Left(), err)
		}
	}
}

// checkSums compares the refund sums of each payment with its row.
func (l *life) checkSums(sums map[pix.TxID]*layout.RefundSums) {
	rows := 0
	for k := range l.rows {
		if layout.RowName([]byte(k)) == "refund sums" {
			rows++
		}
	}
	if rows != len(sums) {
		l.t.Errorf("%d rows of refund sums, want %d", rows, len(sums))
	}
	for id, want := range sums {
		got, err := layout.DecodeRefundSums(id, l.rows[string(layout.RefundSumsKey(testAccount, id))])
		want.Excess = got.Excess
		if err != nil || got != *want {
			l.t.Errorf("refund sums %+v, want %+v (%v)", got, *want, err)
		}
		if goes := got.Settled + got.InFlight + got.Held; goes > got.Amount && (goes > got.Amount+got.Excess || !l.late) {
			l.t.Errorf("more goes back than was received: %+v", got)
		}
	}
}

// checkOwed checks that everything owed for which there is money is in flight.
func (l *life) checkOwed(cases map[uint64]*Case) {
	if l.limited {
		return
	}
	for n, part := range l.coverage() {
		if cases[n].Owed() > 0 && part > 0 && !cases[n].AwaitsOperator(&l.terms) {
			l.t.Errorf("%d of case %d could be refunded, and is not", part, n)
		}
	}
}

// owing is an account without money that owes a refund of 100 to each of so many agreed cases.
func owing(t *testing.T, cases int) *life {
	t.Helper()
	l := &life{harness: newHarness(t)}
	l.open(DefaultSettings(), 0)
	all := pix.Amount(100 * cases)
	l.step1(ReceivePayment{EndToEnd: endToEnd("a"), Amount: all, Key: "k"})
	payout := l.step1(RequestPayout{Amount: all, Key: pix.Key{Type: pix.KeyEmail, Value: "a@pix.test"}}).Launch[0].Tx
	l.step1(ResolveTransfer{ID: payout.ID, EndToEnd: payout.EndToEnd, Result: TransferIsSettled})
	for n := range cases {
		d := l.step1(OpenCase{Infraction: fmt.Sprint("inf-", n), EndToEnd: endToEnd("a"), Amount: 100, Situation: "SCAM"})
		l.step1(CloseCase{ID: d.Case.ID, Result: pix.Agreed})
	}
	return l
}

// TestManyRefundsAtOnce checks that one decision makes at most 64 refunds for cases, and that
// the outcome of one of them makes the next.
func TestManyRefundsAtOnce(t *testing.T) {
	const cases = 150
	l := owing(t, cases)
	first := l.step1(Credit{Kind: pix.TxTED, Amount: 100 * cases})
	if len(first.Launch) != maxRefunds || l.account.Totals.Owed != 100*(cases-maxRefunds) {
		t.Fatalf("%d refunds, owed %d", len(first.Launch), l.account.Totals.Owed)
	}
	sent := first.Launch
	for n, want := range []int{maxRefunds, cases - 2*maxRefunds, 0} {
		r := sent[n].Tx
		d := l.step1(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Result: TransferIsSettled})
		if len(d.Launch) != want {
			t.Errorf("after outcome %d: %d refunds, want %d", n, len(d.Launch), want)
		}
		sent = append(sent, d.Launch...)
	}
	seen := map[pix.TxID]bool{}
	for _, s := range sent {
		if seen[s.Tx.ID] || s.Tx.Amount != 100 || s.Tx.Refund.Code != fraudCode {
			t.Errorf("%+v", s.Tx)
		}
		seen[s.Tx.ID] = true
	}
	if l.account.Totals.Owed != 0 || len(sent) != cases {
		t.Errorf("%d refunds, owed %d", len(sent), l.account.Totals.Owed)
	}
	l.limited = false
	l.check()
}

// TestManyRefundsAndTheAgreedOne checks that a case which is agreed while others are owed more than 64 refunds waits
// for its own, although there is money for it.
func TestManyRefundsAndTheAgreedOne(t *testing.T) {
	const cases = 5 * maxRefunds
	l := owing(t, cases)
	l.step1(Credit{Kind: pix.TxTED, Amount: 100 * cases})
	l.step1(ReceivePayment{EndToEnd: endToEnd("b"), Amount: 100, Key: "k"})
	newest := l.step1(OpenCase{Infraction: "newest", EndToEnd: endToEnd("b"), Amount: 100, Situation: "SCAM"}).Case
	before := l.account.Totals.Owed
	if before <= 100*maxRefunds {
		t.Fatalf("only %d are owed", before)
	}
	d := l.step1(CloseCase{ID: newest.ID, Result: pix.Agreed})
	if owed := l.account.Totals.Owed; len(d.Launch) != maxRefunds || owed != before+newest.Amount-100*maxRefunds {
		t.Errorf("%d refunds, owed %d, before %d", len(d.Launch), owed, before)
	}
	for _, launched := range d.Launch {
		if of := launched.Tx.Refund.Case; of == nil || *of == newest.ID {
			t.Errorf("a refund for case %v", of)
		}
	}
}

// step1 carries out a command that must not be refused.
func (l *life) step1(c Command) Decision {
	l.t.Helper()
	d := l.harness.step(c)
	if d.Refusal != nil {
		l.t.Fatalf("%T: %v", c, d.Refusal.Code)
	}
	return d
}
