package simulation

import (
	"pixd/actors/account"
	"pixd/actors/due"
	"pixd/actors/pix"
	"pixd/wal"
)

// look lets the scanner of due times take one step.
func (l *life) look() {
	l.dropClaims()
	tasks, err := l.due.Tick(l.time.Read(), l.journal)
	if err != nil {
		l.fail("due: %v", err)
	}
	for _, t := range tasks {
		l.watch.begins(t, t.Kind())
	}
	l.watch.looked(l)
	for _, t := range tasks {
		tx := pix.TxID(t.ID)
		l.say("due task %v %v, retry %v", t.Account, tx, t.Retry)
		l.tasks[t]++
		if t.Retry {
			l.retried[tx] = l.time.Read()
			if l.healed != 0 {
				l.tries[tx]++
			}
		}
		l.account(t.Account).Due(t)
	}
}

// dropClaims drops idempotency claims that are too old to be kept, once an hour, as the engine does.
func (l *life) dropClaims() {
	now := l.time.Read()
	if now.Clock < l.drops {
		return
	}
	l.drops = now.Clock + 3_600_000
	err := account.DropClaims(l.journal.Scan, now, l.newest(), func(ops ...wal.Op) error {
		l.count("claims: dropped")
		l.dropped = max(l.dropped, account.OldestClaimDay(now.Clock))
		l.journal.Append(&wal.Entry{Ops: ops})
		return nil
	})
	if err != nil && len(l.flipped) == 0 {
		l.fail("claims: %v", err)
	}
}

// Done implements account.Tasks.
func (l *life) Done(t due.Task, r due.Result) {
	if l.tasks[t] == 0 {
		l.fail("the due task of %v ended twice", pix.TxID(t.ID))
		return
	}
	if l.tasks[t]--; l.tasks[t] == 0 {
		delete(l.tasks, t)
	}
	l.watch.ends(t, r, l.now())
	l.say("due task of %v ended: %+v", pix.TxID(t.ID), r)
	l.due.Done(t, r, l.now())
}

// passivate passivates some idle accounts, as the host does.
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

// crash ends the process and starts the next one. A random choice decides whether the
// journal's batch under way is kept or lost.
func (l *life) crash(why string) {
	kept := l.odds(2)
	l.say("CRASH (%s), the batch under way is kept: %v", why, kept)
	l.count("crash: " + why)
	l.journal = l.journal.Crash(kept)
	l.asked = nil // requests that waited get no answer after a crash
	for _, lost := range l.unheard {
		lost()
	}
	l.failing, l.stalled = 0, 0
	if l.odds(3) {
		l.outside.restart()
	}
	l.boot()
	l.remembered()
	l.subscriptionsKept()
	l.deliveriesKept()
	l.holdsHaveWork()
	l.sentIsKnown()
}
