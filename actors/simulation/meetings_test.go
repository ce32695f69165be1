package simulation

import (
	"fmt"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme/sim"
	"pixd/actors/transfer"
)

// The functions of this file bring about coincidences that chance alone seldom produces,
// and count them.

// meet brings about one random coincidence.
func (l *life) meet() {
	if l.mood.flip > 0 && l.odds(3) {
		l.quarantineWithWork()
		return
	}
	if l.jumpy && l.odds(5) {
		switch l.rng.IntN(4) {
		case 0:
			l.defenceUnderAnotherClock()
		case 1:
			l.caseUnderSlowClock()
		default:
			l.againUnderAnotherClock()
		}
		return
	}
	switch l.rng.IntN(19) {
	case 17, 18:
		l.reportedTwiceOver()
	case 14, 16:
		l.failedInDoubt()
	case 13:
		l.shortOfMoney()
	case 12, 15:
		l.underFormerID()
	case 11:
		l.takenAtTheScheme()
	case 10:
		l.returnedOnItsWay()
	case 9:
		l.nearlyADay()
	case 8:
		l.manyEqual()
	case 7:
		l.refusedThenPaid()
	case 6:
		l.overtaken()
	case 5:
		l.againUnderAnotherClock()
	case 0:
		l.equalApprovals()
	case 1:
		l.afterLateSettlement()
	case 2:
		l.foreignSuffix()
	case 3:
		l.foreignSuffixAtOnce()
	case 4:
		l.exactly()
	}
	l.settlesAfterVoid()
}

// settlesAfterVoid lets a lost submission reach the scheme after its payout was voided, and
// asks for an equal payout as soon as the first has settled.
func (l *life) settlesAfterVoid() {
	o := l.outside
	for i, p := range o.late {
		t, err := l.shown(p.Tx)
		if err != nil || t == nil || t.Payout.OwnEndToEnd || l.flipped[p.Account] || l.clock < o.down {
			continue
		}
		if t.Status == pix.StatusAccepted {
			l.clock += max(0, t.OrphanAt(l.time.Read(), &l.terms)-l.now()) + 1
			for range 5 {
				l.look()
				for n := 0; n < 30 && len(l.children) > 0; n++ {
					l.clock += 500 // a child whose payout is in doubt gives up after enough time
					l.carry(0)
				}
				l.settle()
			}
			t, err = l.shown(p.Tx)
		}
		if err != nil || !t.Voided() || i >= len(o.late) || o.late[i].Tx != p.Tx {
			return
		}
		o.late = append(o.late[:i:i], o.late[i+1:]...)
		if _, err := o.take(p); err != nil {
			return
		}
		l.clock += 6_000
		for range 20 {
			o.tell()
			l.settle()
		}
		l.count("met: a submission arrives after its void")
		l.ask(&request{account: p.Account, make: func() ledger.Command {
			return ledger.RequestPayout{Amount: p.Amount, Key: p.Key, GivenDocument: "12345678909"}
		}})
		return
	}
}

// equalApprovals lets two equal payouts wait for an operator until their end-to-end ids are
// too old to be sent, and then approves both payouts.
func (l *life) equalApprovals() {
	id := l.someone()
	a := l.account(id)
	if a.Broken() != nil || l.clock < l.outside.down {
		return
	}
	amount := pix.Amount(50_000)
	s := a.Head().Settings
	s.ApprovalThreshold, s.CashOutCeiling, s.BlockCNPJOut = &amount, 0, false
	l.ask(&request{account: id, make: func() ledger.Command { return ledger.ChangeSettings{Settings: s} }})
	before := len(l.answers)
	for range 2 {
		l.ask(&request{account: id, make: func() ledger.Command {
			return ledger.RequestPayout{Amount: amount, Key: pix.Key{Type: pix.KeyEmail, Value: "ana@example.com"}}
		}})
	}
	l.settle()
	var waiting []pix.TxID
	for _, a := range l.answers[min(before, len(l.answers)):] {
		if a.tx.Status == pix.StatusPending && a.tx.Amount == amount {
			waiting = append(waiting, a.tx.ID)
		}
	}
	if len(waiting) < 2 {
		return
	}
	l.clock += 11*3_600_000 + 60_001 + pix.Millis(l.rng.IntN(3_600_000))
	limited := l.odds(2) // if so, the payout that is approved first waits for directory capacity
	for i, tx := range waiting {
		if limited && i == 0 && l.outside.sim.SetCapacity(ctx, sim.ClientLimited) != nil {
			l.fail("capacity not set")
		}
		l.ask(&request{account: id, make: func() ledger.Command {
			return ledger.DecideApproval{ID: tx, Word: ledger.Approved, Operator: "ana"}
		}})
		if !limited || i > 0 {
			continue
		}
		l.settle()
		for n := 0; n < 10 && len(l.children) > 0; n++ {
			l.carry(len(l.children) - 1)
		}
		l.settle()
		l.clock += 61_000
		if l.outside.sim.SetCapacity(ctx, sim.Available) != nil {
			l.fail("capacity not set")
		}
	}
	l.count("met: equal approvals after 11 h")
}

// requestedInstead takes a snapshot while a payout waits for approval. An operator declines it after that, and its
// merchant requests the same payout again, which is approved.
func (l *life) requestedInstead() *taken {
	id := l.someone()
	a := l.account(id)
	if a.Broken() != nil || l.clock < l.outside.down {
		return nil
	}
	amount := pix.Amount(50_000)
	s := a.Head().Settings
	s.ApprovalThreshold, s.CashOutCeiling, s.BlockCNPJOut = &amount, 0, false
	l.ask(&request{account: id, make: func() ledger.Command { return ledger.ChangeSettings{Settings: s} }})
	l.numbers++
	key := pix.Key{Type: pix.KeyEmail, Value: fmt.Sprintf("settle-now+%d@pix.test", l.numbers)}
	waits := func() (tx pix.TxID) {
		before := len(l.answers)
		l.ask(&request{account: id, make: func() ledger.Command { return ledger.RequestPayout{Amount: amount, Key: key} }})
		l.settle()
		for _, a := range l.answers[min(before, len(l.answers)):] {
			if a.tx.Status == pix.StatusPending && a.tx.Payout.Key == key {
				tx = a.tx.ID
			}
		}
		return tx
	}
	decide := func(tx pix.TxID, word ledger.Approval) {
		l.ask(&request{account: id, make: func() ledger.Command { return ledger.DecideApproval{ID: tx, Word: word, Operator: "ana"} }})
		l.settle()
	}
	first := waits()
	t := l.snapshot()
	decide(first, ledger.Declined)
	decide(waits(), ledger.Approved)
	l.carryNewest()
	l.count("met: another payout instead of one that waited in the snapshot")
	return t
}

// afterLateSettlement asks once more for a payout that was voided, or that settled after
// its void.
func (l *life) afterLateSettlement() {
	for i := range l.answers[:len(l.answers):len(l.answers)] {
		a := &l.answers[len(l.answers)-1-i]
		if a.tx.Kind != pix.TxPayout || a.tx.Payout.OwnEndToEnd || a.refused || l.flipped[a.account] {
			continue
		}
		if now, err := l.shown(a.tx.ID); err != nil || now == nil || now.Transfer.LateAt == 0 && !now.Voided() {
			continue
		}
		l.count("asked: again what was voided")
		tx := a.tx
		l.ask(&request{account: a.account, make: func() ledger.Command {
			return ledger.RequestPayout{Amount: tx.Amount, Key: pix.Key{Type: tx.Payout.Key.Type, Value: tx.Payout.Key.Value}, GivenDocument: "12345678909"}
		}})
		return
	}
}

// overtaken lets the notice of a payout's settlement arrive before the answer to its child,
// and then makes the account's code panic.
func (l *life) overtaken() {
	id := l.someone()
	a := l.account(id)
	if a.Broken() != nil || l.clock < l.outside.down || l.clock-l.panicked <= 31_000 {
		return
	}
	l.numbers++
	tag := fmt.Sprintf("o%d", l.numbers)
	key := pix.Key{Type: pix.KeyEmail, Value: tag + "@example.com"}
	running := len(l.children)
	l.ask(&request{account: id, make: func() ledger.Command {
		return ledger.RequestPayout{Amount: 1_000, Key: key, GivenDocument: "12345678909"}
	}})
	l.settle()
	if len(l.children) != running+1 || l.children[running].account != id {
		return
	}
	l.carry(running) // the child looks the key up
	if len(l.children) != running+1 || l.children[running].act != transfer.Submit {
		return
	}
	l.outside.deaf = true
	l.carry(running)
	l.outside.deaf = false
	l.clock += 6_000
	for range 20 {
		l.outside.tell()
		l.settle()
	}
	l.panics = true
	l.ask(&request{account: id, key: tag, make: func() ledger.Command {
		return ledger.CreateCharge{Amount: 5_000, Key: pix.Key{Type: pix.KeyEVP, Value: keyOf(id)}, Claim: l.claim(tag)}
	}})
	l.panics = false
	l.settle()
	l.count("met: a child overtaken by a notice, and a panic")
}

// againUnderAnotherClock pays, starts a process whose wall clock is wrong by more than the
// repeat window, and asks for the same payment again immediately.
func (l *life) againUnderAnotherClock() {
	id := l.someone()
	a := l.account(id)
	if !l.jumpy || l.mood.crash == 0 || a.Broken() != nil {
		return
	}
	s := a.Head().Settings
	s.ApprovalThreshold, s.CashOutCeiling, s.BlockCNPJOut, s.RepeatWindow = nil, 0, false, 3_600_000
	l.ask(&request{account: id, make: func() ledger.Command { return ledger.ChangeSettings{Settings: s} }})
	l.numbers++
	key := pix.Key{Type: pix.KeyEmail, Value: fmt.Sprintf("settle-now+%d@pix.test", l.numbers)}
	under := ""
	if l.odds(2) {
		l.numbers++
		under = fmt.Sprintf("p%d", l.numbers)
	}
	pay := func() {
		l.ask(&request{account: id, key: under, make: func() ledger.Command {
			return ledger.RequestPayout{Amount: 1_000, Key: key, Claim: l.claim(under)}
		}})
		l.carryNewest()
	}
	pay()
	// With an error of 4 or 11 h the scheme still accepts an id of the wrong minute.
	l.skew = [...]pix.Millis{4, 4, 11, -13, 25, 49}[l.rng.IntN(6)] * 3_600_000
	l.crash("restarted under a wrong clock")
	if l.account(id).Broken() != nil {
		return
	}
	pay()
	l.count("met: an equal request under a wrong clock")
	if l.odds(4) {
		return
	}
	l.skew = 0
	l.crash("the clock was set right")
	if l.time.Behind() > 0 {
		l.count("clock: accepted by an operator")
		l.time.Accept()
	}
}

// nearlyADay sends a request with a key, and repeats the request just before the first
// request's answer is a day old.
func (l *life) nearlyADay() {
	id := l.someone()
	before := len(l.asked)
	l.chargeOf(id)
	if len(l.asked) == before || l.asked[before].key == "" {
		return
	}
	r := *l.asked[before]
	l.settle()
	l.clock += day - pix.Millis(1+l.rng.IntN(3_600_000))
	l.ask(&r)
	l.count("met: a key after nearly a day")
}
