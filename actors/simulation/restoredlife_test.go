package simulation

import (
	"slices"
	"time"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// beginAgain starts the engine on the restored journal: the open deliveries are held, the named
// values are those of the original, and everything that anybody was told before the snapshot is
// still true.
func (l *life) beginAgain() {
	l.accept()
	repeated, at := l.someOfTheGap()
	if repeated != nil {
		l.skew = at - l.clock
	}
	l.boot()
	if string(l.terms.Secret) != string(l.gap.taken.secret) {
		l.fail("the secret of end-to-end ids is another than the original's")
	}
	l.hold()
	l.remembered()
	l.subscriptionsKept()
	l.deliveriesKept()
	l.holdsHaveWork()
	l.sentIsKnown()
	if repeated != nil && len(l.wrong) == 0 {
		l.repeatGap(repeated)
	}
	if len(l.wrong) == 0 && l.odds(2) {
		l.resumeAll() // before anything that was on its way is asked about
	}
	for key := range l.kept {
		if l.answered(key) {
			l.count("restored: answers given again")
		}
	}
	l.repeat()
}

// hold checks that every delivery that waits is held, with the attempts that it had.
func (l *life) hold() {
	lo, hi := layout.AllPending()
	err := l.journal.Scan(lo, hi, func(k, v []byte) (bool, error) {
		p, err := layout.DecodePending(k, v)
		if err != nil {
			return false, err
		}
		if p.Due != layout.Held {
			l.fail("event %d for subscription %v was open in the snapshot, and is due at %v", p.Sequence, p.Target, p.Due)
		}
		d := l.delivery(&p)
		if d.now.attempts > 0 {
			l.count("restored: deliveries held that were attempted before")
		}
		l.count("restored: deliveries held")
		d.now.due = layout.Held
		l.gap.held[deliveryName{p.Target, p.Sequence}] = d.made
		return true, nil
	})
	if err != nil {
		l.fail("deliveries: %v", err)
	}
}

// stillHeld checks that no attempt was made of what is held and was not put back in line.
func (l *life) stillHeld() {
	for name, made := range l.gap.held {
		if d := l.hooks.known[name]; d.now.due == layout.Held && d.made != made {
			l.fail("event %d for subscription %v is held, and %d attempts were made", name.sequence, name.Target, d.made-made)
		}
	}
}

// release has an operator put back in line what is still held.
func (l *life) release() {
	l.settle()
	for _, name := range slices.Clone(l.hooks.names) {
		if d := l.hooks.known[name]; d != nil && d.now.due == layout.Held && !d.busy {
			l.putBackThis(name)
			l.count("restored: held deliveries put back in line")
		}
	}
	l.settle()
}

// goOn lets the restored engine live, and checks it at its end as every life.
func (l *life) goOn() {
	l.living = true
	l.live()
	l.living = false
	for _, step := range []func(){l.heal, l.stillHeld, l.rest, l.stillHeld, l.release, l.rest, l.resumeAll, l.rest, l.judge} {
		if len(l.wrong) == 0 {
			l.contained(step)
		}
	}
	if len(l.wrong) == 0 {
		l.orphans()
		l.gap.freshIDs(l)
	}
	if len(l.wrong) == 0 {
		l.crash("the end")
		l.contained(l.judge)
	}
}

// someOfTheGap returns a payout that the original made after the snapshot, and a time in the minute
// of its end-to-end id: the restored engine, which has never seen an equal payout, derives the
// same id then. The minute is at most a day ago: no clock is set more wrongly. It returns nil
// where there is none.
func (l *life) someOfTheGap() (*ledger.Transaction, pix.Millis) {
	for _, r := range l.gap.payouts {
		t := r.Tx
		minute, err := time.Parse("200601021504", t.EndToEnd[9:21])
		if _, there := l.gap.taken.last[r.Account]; err != nil || !there || l.gap.taken.prints[printOf(r)] || t.Payout.OwnEndToEnd || l.outside.down > l.clock {
			continue
		}
		at := pix.Millis(minute.UnixMilli())
		derived := pix.EndToEnd(ispb, at, printOf(r).Suffix(l.gap.taken.secret, 0))
		if _, sent := l.gap.sent[t.ID]; sent && t.EndToEnd == derived && at+50_000 > max(l.newest(), l.clock-day) {
			return t, max(at+20_000, l.newest()+1)
		}
	}
	return nil, 0
}

// repeatGap has a merchant ask again for a payout that was made after the snapshot, in the minute
// of its end-to-end id. The restored engine derives the same id, which the scheme has.
func (l *life) repeatGap(t *ledger.Transaction) {
	before, key := len(l.answers), t.Payout.Key
	l.ask(&request{account: l.gap.made[t.ID], make: func() ledger.Command {
		return ledger.RequestPayout{Amount: t.Amount, Key: pix.Key{Type: key.Type, Value: key.Value}, GivenDocument: t.Payout.GivenDocument}
	}})
	l.carryNewest()
	l.hear()
	for _, a := range l.answers[min(before, len(l.answers)):] {
		if a.refused || a.tx.Kind != pix.TxPayout {
			continue
		}
		l.count("restored: a payout of the gap repeated")
		if a.tx.EndToEnd != t.EndToEnd {
			l.fail("%v repeats %v of the gap under %s, and not under %s, which the scheme has", a.tx.ID, t.ID, a.tx.EndToEnd, t.EndToEnd)
		}
	}
}
