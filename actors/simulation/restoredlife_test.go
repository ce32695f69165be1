package simulation

import (
	"slices"
	"time"

	"pixd/actors/ledger"
)

// beginAgain starts the engine on the restored journal: the open deliveries are held, the named
// values are those of the original, and everything that anybody was told before the snapshot is
// still true.
func (f *life) beginAgain() {
	f.accept()
	repeated, minute := f.someOfTheGap()
	if repeated != nil {
		f.skew = minute + 20_000 - f.clock
	}
	f.boot()
	if string(f.terms.Secret) != string(f.gap.taken.secret) {
		f.fail("the secret of end-to-end ids is another than the original's")
	}
	f.hold()
	f.remembered()
	f.subscriptionsKept()
	f.deliveriesKept()
	f.holdsHaveWork()
	f.sentIsKnown()
	if repeated != nil && len(f.wrong) == 0 {
		f.repeatGap(repeated)
	}
	for key := range f.kept {
		if f.answered(key) {
			f.count("restored: answers given again")
		}
	}
	f.repeat()
}

// hold checks that every delivery that waits is held, with the attempts that it had.
func (f *life) hold() {
	lo, hi := ledger.AllPending()
	err := f.journal.Scan(lo, hi, func(k, v []byte) (bool, error) {
		p, err := ledger.DecodePending(k, v)
		if err != nil {
			return false, err
		}
		if p.Due != ledger.Held {
			f.fail("event %d for subscription %v was open in the snapshot, and is due at %v", p.Sequence, p.Target, p.Due)
		}
		d := f.delivery(&p)
		if d.now.attempts > 0 {
			f.count("restored: deliveries held that were attempted before")
		}
		f.count("restored: deliveries held")
		d.now.due = ledger.Held
		f.gap.held[deliveryName{p.Target, p.Sequence}] = d.made
		return true, nil
	})
	if err != nil {
		f.fail("deliveries: %v", err)
	}
}

// stillHeld checks that no attempt was made of what is held and was not put back in line.
func (f *life) stillHeld() {
	for name, made := range f.gap.held {
		if d := f.hooks.known[name]; d.now.due == ledger.Held && d.made != made {
			f.fail("event %d for subscription %v is held, and %d attempts were made", name.sequence, name.Target, d.made-made)
		}
	}
}

// release has an operator put back in line what is still held.
func (f *life) release() {
	f.settle()
	for _, name := range slices.Clone(f.hooks.names) {
		if d := f.hooks.known[name]; d != nil && d.now.due == ledger.Held && !d.busy {
			f.putBackThis(name)
			f.count("restored: held deliveries put back in line")
		}
	}
	f.settle()
}

// goOn lets the restored engine live, and checks it at its end as every life.
func (f *life) goOn() {
	f.living = true
	f.live()
	f.living = false
	for _, step := range []func(){f.heal, f.stillHeld, f.rest, f.stillHeld, f.release, f.rest, f.judge} {
		if len(f.wrong) == 0 {
			f.contained(step)
		}
	}
	f.orphans()
	f.gap.freshIDs(f)
	if len(f.wrong) == 0 {
		f.crash("the end")
		f.contained(f.judge)
	}
}

// someOfTheGap returns a payout that the original made after the snapshot, and the minute in its
// end-to-end id: the restored engine, which has never seen an equal payout, derives the same id
// in that minute. It returns nil where there is none.
func (f *life) someOfTheGap() (*ledger.Transaction, ledger.Millis) {
	for _, r := range f.gap.payouts {
		t := r.Tx
		minute, err := time.Parse("200601021504", t.EndToEnd[9:21])
		if err != nil || f.gap.taken.prints[printOf(r)] || t.Payout.OwnEndToEnd || f.outside.down > f.clock {
			continue
		}
		at := ledger.Millis(minute.UnixMilli())
		derived := ledger.EndToEnd(ispb, at, printOf(r).Suffix(f.gap.taken.secret, 0))
		if _, sent := f.gap.sent[t.ID]; sent && t.EndToEnd == derived && at > f.newest() && f.odds(2) {
			return t, at
		}
	}
	return nil, 0
}

// repeatGap has a merchant ask again for a payout that was made after the snapshot, in the minute
// of its end-to-end id. The restored engine derives the same id, which the scheme has.
func (f *life) repeatGap(t *ledger.Transaction) {
	before, key := len(f.answers), t.Payout.Key
	f.ask(&request{account: f.gap.made[t.ID], make: func() ledger.Command {
		return ledger.RequestPayout{Amount: t.Amount, Key: ledger.Key{Type: key.Type, Value: key.Value}, GivenDocument: t.Payout.GivenDocument}
	}})
	f.carryNewest()
	f.hear()
	for _, a := range f.answers[min(before, len(f.answers)):] {
		if a.refused || a.tx.Kind != ledger.TxPayout {
			continue
		}
		f.count("restored: a payout of the gap repeated")
		if a.tx.EndToEnd != t.EndToEnd {
			f.fail("%v repeats %v of the gap under %s, and not under %s, which the scheme has", a.tx.ID, t.ID, a.tx.EndToEnd, t.EndToEnd)
		}
	}
}
