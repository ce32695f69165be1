package simulation

import (
	"encoding/binary"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// shortOfMoney has payers report payments whose money the account has spent already: the cases
// hold more than there is, and what is owed for them is refunded from later credits.
func (l *life) shortOfMoney() {
	id := l.someone()
	a, o := l.account(id), l.outside
	if a.Broken() != nil || l.flipped[id] || l.clock < o.down {
		return
	}
	from := len(o.received)
	o.pay(id, 20_000, "")
	o.pay(id, 30_000, "")
	l.deliver()
	s := a.Head().Settings
	s.ApprovalThreshold, s.CashOutCeiling, s.BlockCNPJOut, s.CashOutFee, s.CashInFee = nil, 0, false, ledger.Fee{}, ledger.Fee{}
	l.ask(&request{account: id, make: func() ledger.Command { return ledger.ChangeSettings{Settings: s} }})
	l.settle()
	spent := a.Head().Totals.Available() - pix.Amount(l.rng.IntN(3))*4_000 - pix.Amount(l.rng.IntN(2)*l.rng.IntN(100))
	key := [...]string{"settle-now@pix.test", "reject-ac03@pix.test", "eva@example.com"}[min(l.rng.IntN(3), l.rng.IntN(3))]
	if a.Broken() != nil || spent <= 0 {
		return
	}
	l.ask(&request{account: id, make: func() ledger.Command {
		return ledger.RequestPayout{Amount: spent, Key: pix.Key{Type: pix.KeyEmail, Value: key}, GivenDocument: "12345678909"}
	}})
	l.carryNewest()
	for i := from; i < len(o.received); i++ {
		l.complains(o.received[i], o.paid[o.received[i]].amount)
	}
	l.deliver()
	l.decideAll(id)
	for range 1 + l.rng.IntN(4) {
		l.credit(id, pix.Amount(1+l.rng.IntN(6))*2_000)
		l.settle()
		if l.odds(2) {
			l.deliver()
		}
	}
	l.count("met: cases and too little money")
}

// deliver lets the scheme send some notices.
func (l *life) deliver() {
	for range 20 {
		l.outside.tell()
		l.settle()
	}
}

// decideAll closes the account's undecided cases in random order, as agreed; half of the time
// the last one as disagreed, so that its money is there for the others.
func (l *life) decideAll(id pix.AccountID) {
	var ids []pix.CaseID
	lo, hi := layout.AllCases()
	_ = l.journal.Scan(lo, hi, func(k, v []byte) (bool, error) {
		row, err := layout.DecodeCaseIDRow(v)
		if err == nil && row.Account == id && !row.Status.Decided() {
			ids = append(ids, pix.CaseID(k[1:]))
		}
		return true, nil
	})
	l.rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for i, k := range ids {
		result := pix.Agreed
		if i == len(ids)-1 && l.odds(2) {
			result = pix.Disagreed
		}
		l.ask(&request{account: id, make: func() ledger.Command { return ledger.CloseCase{ID: k, Result: result, Details: analyst} }})
	}
	l.settle()
}

// reportedTwiceOver has two or three payers' banks report one payment, partly while a refund of
// it is in flight that the scheme will reject, and ends the cases in random order.
func (l *life) reportedTwiceOver() {
	o, id := l.outside, l.someone()
	a := l.account(id)
	if a.Broken() != nil || l.flipped[id] || l.clock < o.down {
		return
	}
	from := len(o.received)
	o.pay(id, 40_000, "")
	l.deliver()
	if len(o.received) == from || l.receivedAs(o.received[from], id) == nil {
		return
	}
	endToEnd, reports := o.received[from], len(o.reported)
	if l.odds(2) {
		amount := pix.Amount(1+l.rng.IntN(4)) * 10_000
		l.ask(&request{account: id, make: func() ledger.Command {
			return ledger.RequestRefund{Original: endToEnd, Amount: amount, Reason: "ZZ99"}
		}})
		l.carryNewest()
	}
	for range 2 + l.rng.IntN(2) {
		l.complains(endToEnd, pix.Amount(1+l.rng.IntN(4))*10_000)
		l.deliver()
	}
	l.clock += 6_000 // the scheme rejects the refund
	l.deliver()
	l.count("met: a payment reported more than once")
	ids := append([]string(nil), o.reported[reports:]...)
	l.rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, infraction := range ids {
		switch l.rng.IntN(4) {
		case 0:
			l.withdrawThis(infraction)
		case 1, 2:
			l.decideThis(id, infraction)
		}
		l.deliver()
	}
}

// decideThis has the analyst close the case of a report.
func (l *life) decideThis(a pix.AccountID, infraction string) {
	b, ok, err := l.journal.Get(layout.InfractionKey(infraction, a))
	if err != nil || !ok {
		return
	}
	row, ok, err := l.journal.Get(layout.CaseKey(a, binary.BigEndian.Uint64(b)))
	if err != nil || !ok {
		return
	}
	at, err := layout.DecodeCaseRow(row)
	if err != nil {
		return
	}
	r, err := rows{l.journal}.Record(a, at.Seq)
	if err != nil || r.Case == nil {
		return
	}
	result, id := pix.Agreed, r.Case.ID
	if l.odds(3) {
		result = pix.Disagreed
	}
	l.ask(&request{account: a, make: func() ledger.Command { return ledger.CloseCase{ID: id, Result: result, Details: analyst} }})
	l.settle()
}

// failedInDoubt brings about a refund whose first submission is late and whose later ones are
// refused, so that it fails in doubt; then the first submission arrives, and the scheme
// settles it.
func (l *life) failedInDoubt() {
	o := l.outside
	endToEnd, paid, ok := l.somePayment()
	if !ok || l.flipped[paid.account] || l.clock < o.down || l.account(paid.account).Broken() != nil {
		return
	}
	before := len(o.lateRefunds)
	o.refusing = true
	defer func() { o.refusing = false }()
	l.ask(&request{account: paid.account, make: func() ledger.Command {
		return ledger.RequestRefund{Original: endToEnd, Amount: 500, Reason: "MD06"}
	}})
	l.carryNewest()
	if len(o.lateRefunds) != before+1 {
		return
	}
	p := o.lateRefunds[before]
	for range 4 {
		l.clock += 5_000
		l.look()
		for n := 0; n < 30 && len(l.children) > 0; n++ {
			l.carry(0)
		}
		l.settle()
	}
	if t, err := l.shown(p.Tx); err != nil || t == nil || t.Status != pix.StatusFailed || len(o.lateRefunds) <= before || o.lateRefunds[before].Tx != p.Tx {
		return
	}
	if !l.odds(4) { // the payer's report comes before it
		l.complains(endToEnd, paid.amount)
		l.deliver()
		if l.odds(3) {
			l.decideAll(paid.account)
		}
	}
	l.count("met: a refund arrives after it failed in doubt")
	if len(o.lateRefunds) <= before || o.lateRefunds[before].Tx != p.Tx {
		return // the scheme has it already
	}
	o.refundArrives(before)
	l.clock += 6_000
	l.deliver()
}

// caseUnderSlowClock has a case opened under a clock that is days slow, and then lets the due
// tasks run under the right one: the case may not end before its time.
func (l *life) caseUnderSlowClock() {
	endToEnd, paid, ok := l.somePayment()
	if !ok || !l.jumpy || l.mood.crash == 0 || l.flipped[paid.account] || l.clock < l.outside.down || l.account(paid.account).Broken() != nil {
		return
	}
	l.skew = -pix.Millis(1+l.rng.IntN(9)) * day
	l.crash("restarted under a wrong clock")
	l.complains(endToEnd, min(1_000, paid.amount))
	l.deliver()
	l.skew = 0
	l.crash("the clock was set right")
	for range 3 {
		l.deliver()
		l.look()
		l.settle()
	}
	l.count("met: a case under a slow clock")
}

// defenceUnderAnotherClock has a merchant defend a new case after a restart under a clock that
// is days ahead: the time is doubted, so the deadline has not passed.
func (l *life) defenceUnderAnotherClock() {
	endToEnd, paid, ok := l.somePayment()
	if !ok || !l.jumpy || l.mood.crash == 0 || l.flipped[paid.account] || l.clock < l.outside.down || l.account(paid.account).Broken() != nil {
		return
	}
	l.complains(endToEnd, min(1_000, paid.amount))
	l.deliver()
	l.skew = 130 * 3_600_000
	l.crash("restarted under a wrong clock")
	for range 3 {
		l.defend()
		l.settle()
	}
	l.skew = 0
	l.crash("the clock was set right")
	if l.time.Behind() > 0 {
		l.count("clock: accepted by an operator")
		l.time.Accept()
	}
}
