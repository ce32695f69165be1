package simulation

import (
	"errors"

	"pixd/actors/account"
	"pixd/actors/due"
	"pixd/actors/ledger"
)

// look lets the scanner look.
func (l *life) look() {
	visits, err := l.due.Tick(l.time.Read(), l.journal)
	if err != nil {
		l.fail("due: %v", err)
	}
	for _, v := range visits {
		l.watch.begins(v, v.Kind())
	}
	l.watch.looked(l)
	machine := l.due // of this process
	for _, v := range visits {
		l.say("visit %v %v, retry %v", v.Account, v.ID, v.Retry)
		l.visits++
		once := false
		then := func(came account.Visited) {
			if once {
				l.fail("visit of %v ended twice", v.ID)
			}
			once = true
			if machine != l.due {
				return
			}
			l.visits--
			l.watch.ends(v, came, l.now())
			l.say("visit of %v ended: %+v", v.ID, came)
			machine.Came(v, due.Came{
				Again: came.Again, Unheard: came.Unheard, Open: came.Open, Queued: came.Queued, Skipped: came.Skipped, Failed: came.Err != nil,
				Closed: errors.Is(came.Err, ledger.ErrQuarantined),
			}, l.now())
		}
		if v.Retry {
			l.retried[v.ID] = l.time.Read()
			if l.healed != 0 {
				l.tries[v.ID]++
			}
			l.account(v.Account).Retry(v.ID, then)
		} else {
			l.account(v.Account).Due(v.ID, v.Seq, then)
		}
	}
}

// passivate sends idle accounts away, as the directory does.
func (l *life) passivate() {
	for id := range l.all() {
		a := l.accounts[id]
		if a == nil || a.Broken() != nil {
			continue
		}
		if a.Trim() && l.odds(2) && a.Passivate() {
			delete(l.accounts, id)
		}
	}
}

// crash ends the process. What was on its way to the disk may be there or not.
func (l *life) crash(why string) {
	kept := l.odds(2)
	l.say("CRASH (%s), the batch under way is kept: %v", why, kept)
	l.count("crash: " + why)
	l.journal = l.journal.Crash(kept)
	l.asked = nil // nobody who waited hears any more
	for _, lost := range l.unheard {
		lost()
	}
	l.failing, l.stalled = 0, 0
	if l.odds(3) {
		l.outside.restart()
	}
	l.boot()
	l.remembered()
	l.holdsHaveWork()
	l.sentIsKnown()
}
