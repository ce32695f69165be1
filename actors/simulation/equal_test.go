package simulation

import (
	"fmt"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// foreignSuffix has an account ask for an end-to-end id of the current minute with the suffix
// of an id that the engine derived for another account: the registry must refuse it.
func (l *life) foreignSuffix() {
	for i := range l.answers {
		a := &l.answers[len(l.answers)-1-i]
		if a.tx.Kind != pix.TxPayout || a.tx.Payout.OwnEndToEnd || a.tx.EndToEnd == "" || l.odds(2) {
			continue
		}
		thief := l.someone()
		if thief == a.account {
			return
		}
		own := pix.EndToEnd(ispb, l.clock, a.tx.EndToEnd[21:])
		before := l.own[own] // the account, if any, that chose this id before the engine derived the suffix
		if l.ownID(thief, own) && before != thief {
			l.fail("%v may have %s, whose end %v has derived", thief, own, a.account)
		}
		l.count("met: an own id on a foreign suffix")
		return
	}
}

// takenAtTheScheme submits a payment to the scheme that the engine does not know of, as if
// the engine had lost its journal. A payout under the same id is then a duplicate of an
// unknown payment, and equal requests must use that id for as long as the scheme accepts it.
func (l *life) takenAtTheScheme() {
	id := l.someone()
	if l.account(id).Broken() != nil || l.clock < l.outside.down || l.now() != l.clock {
		return
	}
	l.numbers++
	key := pix.Key{Type: pix.KeyEmail, Value: fmt.Sprintf("settle-now+t%d@pix.test", l.numbers)}
	suffix := pix.Fingerprint{Account: id, Amount: 1_000, KeyType: key.Type, Key: key.Value}.Suffix(l.terms.Secret, 0)
	_, err := l.outside.sim.Submit(ctx, scheme.Payment{
		Tx: pix.NewTxID(l.clock, l.entropy()), Account: id, EndToEnd: pix.EndToEnd(ispb, l.now(), suffix), Amount: 1_000,
		Key: pix.Key{Type: pix.KeyEmail, Value: "silent@pix.test"},
	})
	if err != nil {
		l.fail("scheme: %v", err)
	}
	for range 3 {
		l.ask(&request{account: id, make: func() ledger.Command {
			return ledger.RequestPayout{Amount: 1_000, Key: key, GivenDocument: "12345678909"}
		}})
		l.carryNewest()
		l.clock += pix.Millis(l.rng.IntN(2)) * 61_000
	}
	l.count("met: an id that the scheme has of something unknown")
}

// foreignSuffixAtOnce has one account choose the id that the engine derives for another
// account at the same moment. No account could know that id; even so both payouts must reach
// a final status.
func (l *life) foreignSuffixAtOnce() {
	victim, thief := l.someone(), l.someone()
	if victim == thief || l.account(victim).Broken() != nil || l.account(thief).Broken() != nil {
		return
	}
	l.numbers++
	key := pix.Key{Type: pix.KeyEmail, Value: fmt.Sprintf("victim%d@example.com", l.numbers)}
	amount := pix.Amount(1_000)
	suffix := pix.Fingerprint{Account: victim, Amount: amount, KeyType: key.Type, Key: key.Value}.Suffix(l.terms.Secret, 0)
	own := pix.EndToEnd(ispb, l.now(), suffix)
	if !l.ownID(thief, own) {
		l.fail("%v may not have %s, which nobody uses", thief, own)
		return
	}
	l.ask(&request{account: victim, make: func() ledger.Command { return ledger.RequestPayout{Amount: amount, Key: key} }})
	l.ask(&request{account: thief, make: func() ledger.Command {
		return ledger.RequestPayout{Amount: amount, Key: pix.Key{Type: pix.KeyEmail, Value: "eva@example.com"}, EndToEnd: own, GivenDocument: "12345678909"}
	}})
	l.count("met: an own id and an equal derived one at once")
}

// refusedThenPaid asks several times for a payout to a key that the directory at first does
// not know and later knows: the payment must be made exactly once.
func (l *life) refusedThenPaid() {
	id := l.someone()
	if l.account(id).Broken() != nil || l.clock < l.outside.down {
		return
	}
	l.numbers++
	key := pix.Key{Type: pix.KeyEmail, Value: fmt.Sprintf("settle-now+r%d@pix.test", l.numbers)}
	ask := func() {
		l.ask(&request{account: id, make: func() ledger.Command {
			return ledger.RequestPayout{Amount: 1_000, Key: key, GivenDocument: "12345678909"}
		}})
		l.carryNewest()
	}
	gone := l.outside.gone
	l.outside.gone = key.Value
	for range 1 + l.rng.IntN(9) {
		ask()
	}
	l.outside.gone = gone
	ask()
	l.clock += pix.Millis(l.rng.IntN(3)) * 61_000
	ask()
	l.count("met: refused again and again, and then paid")
}

// underFormerID asks for a payout under the former end-to-end id of an earlier payout, whose
// id was renewed since: the new payout must count as a repeat of the earlier one.
func (l *life) underFormerID() {
	for i := range l.answers {
		a := &l.answers[len(l.answers)-1-i]
		if a.tx.Kind != pix.TxPayout || a.refused || l.flipped[a.account] {
			continue
		}
		now, err := l.shown(a.tx.ID)
		if err != nil || now == nil || len(now.Payout.Former) == 0 || l.account(a.account).Broken() != nil {
			continue
		}
		former, tx, may := now.Payout.Former[0], a.tx, now.Status.InFlight() || now.Status == pix.StatusSettled
		if owner, named := l.own[former]; named && owner != a.account {
			continue // another account had chosen this id before the engine derived it for the payout
		}
		if !l.ownID(a.account, former) {
			l.fail("%v may not have %s, which was its own", a.account, former)
			return
		}
		l.say("%v names %s, which was the id of %v: %+v", a.account, former, a.tx.ID, now)
		l.count("met: an own id that was renewed")
		l.ask(&request{account: a.account, renewed: may, make: func() ledger.Command {
			return ledger.RequestPayout{
				Amount: tx.Amount, Key: pix.Key{Type: tx.Payout.Key.Type, Value: tx.Payout.Key.Value}, EndToEnd: former, GivenDocument: "12345678909",
			}
		}})
		return
	}
}

// manyEqual asks for one more equal payout at once than may be in flight under one id.
func (l *life) manyEqual() {
	most := l.terms.MaxRepeats
	if most == 0 {
		return
	}
	l.numbers++
	key := pix.Key{Type: pix.KeyEmail, Value: fmt.Sprintf("many%d@example.com", l.numbers)}
	id := l.someone()
	for range most + 1 {
		l.ask(&request{account: id, make: func() ledger.Command { return ledger.RequestPayout{Amount: 10, Key: key} }})
	}
	l.count("met: more equal payouts than may be under way")
}

// exactly asks for a payout of everything that is available less the fee, or of one base
// unit more.
func (l *life) exactly() {
	id := l.someone()
	a := l.account(id)
	if a.Broken() != nil || l.flipped[id] {
		return
	}
	head := a.Head()
	more := pix.Amount(l.rng.IntN(2))
	available, fee := head.Totals.Available(), head.Settings.CashOutFee
	amount := (available - fee.Fixed) * 10_000 / (10_000 + pix.Amount(fee.BPS))
	for amount > 0 && amount+fee.Of(amount) > available {
		amount--
	}
	for amount+1+fee.Of(amount+1) <= available {
		amount++
	}
	if amount <= 1 || head.Settings.CashOutCeiling > 0 && amount+more > head.Settings.CashOutCeiling {
		return
	}
	amount += more
	l.count(fmt.Sprintf("asked: available less the fee, and %d", more))
	l.ask(&request{account: id, make: func() ledger.Command {
		return ledger.RequestPayout{Amount: amount, Key: pix.Key{Type: pix.KeyEmail, Value: "reject-ac03@pix.test"}, GivenDocument: "12345678909"}
	}})
}

// returnedOnItsWay has the recipient return a payout which the scheme's simulator returns as
// well, while the simulator's return has not arrived at the engine yet.
func (l *life) returnedOnItsWay() {
	id := l.someone()
	if l.account(id).Broken() != nil || l.clock < l.outside.down {
		return
	}
	l.numbers++
	key := pix.Key{Type: pix.KeyEmail, Value: fmt.Sprintf("returned+b%d@pix.test", l.numbers)}
	before := len(l.answers)
	l.ask(&request{account: id, make: func() ledger.Command {
		return ledger.RequestPayout{Amount: 1_000, Key: key, GivenDocument: "12345678909"}
	}})
	l.carryNewest()
	l.clock += pix.Millis(l.outside.book.SettleDelay.Milliseconds()) + pix.Millis(l.rng.IntN(3))
	for _, a := range l.answers[min(before, len(l.answers)):] {
		if a.account == id && a.tx.Payout.Key.Value == key.Value && !a.refused {
			l.outside.giveBack(a.tx.EndToEnd, pix.Amount(l.rng.IntN(2))*600)
			l.count("met: a return of what is on its way back")
		}
	}
}
