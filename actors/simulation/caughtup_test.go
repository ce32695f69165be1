package simulation

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"time"

	"pixd/actors/account"
	"pixd/actors/catchup"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/restored"
	"pixd/actors/scheme"
	"pixd/actors/scheme/sim"
	"pixd/wal"
)

// catchUp restores a snapshot on another copy of the journal, and lets it catch up with the scheme as it is
// now, while the power is cut again and again. Then the books must be the scheme's, without any exception:
// what it has paid, returned and received stands once in the journal.
func (l *life) catchUp(t *taken) {
	dup := *t
	dup.journal, dup.people, dup.hooks = t.journal.Checkpoint(), t.people.copied(), t.hooks.copied()
	f := l.restoredLife(&dup)
	f.gap = newGap(l, &dup)
	f.tells = l.tells
	l.count("caught up: lives")
	f.contained(f.catchesUp)
	l.story.WriteString(f.story.String())
	for what, n := range f.seen {
		if len(what) > 9 && what[:9] == "caught up" {
			l.seen[what] += n
		}
	}
	for _, wrong := range f.wrong {
		l.wrong = append(l.wrong, "caught up: "+wrong)
	}
}

func (l *life) catchesUp() {
	m := restored.Mark{Position: l.gap.taken.position, Newest: pix.Millis(l.gap.taken.newest), Taken: l.gap.taken.at, Restored: l.clock}
	op, err := m.Op()
	if err != nil {
		l.fail("mark: %v", err)
		return
	}
	_, begin := catchup.Begin(1) // engine time may be wrong: everything is read
	l.journal.Append(&wal.Entry{Ops: []wal.Op{op}, Shared: true})
	l.journal.Settle()
	u := restored.Use{Rows: l.hookRows(), Now: l.engineTime().Stamp(), Most: 500, Write: func(ops []wal.Op) error {
		l.journal.Append(&wal.Entry{Ops: ops, Shared: true})
		l.journal.Settle()
		return nil
	}}
	if _, err := u.Take(&m, nil, false, begin); err != nil {
		l.fail("begin: %v", err)
		return
	}
	aside := l.toTheEnd()
	if len(l.wrong) > 0 {
		return
	}
	l.askInFlight()
	l.noneWaitsBehind()
	l.booksAreTheirs(aside)
	l.pendingAreHere()
	l.sequencesBehind()
	if err := l.compareRows(); err != nil {
		l.fail("derived rows: %v", err)
	}
	l.againNothing()
}

// toTheEnd catches up, over power cuts, and returns what was kept aside.
func (l *life) toTheEnd() *catchup.Aside {
	for cuts := l.rng.IntN(4); ; cuts-- {
		l.boot()
		l.stated()
		state, err := catchup.Find(l.journal)
		if err != nil || state == nil {
			l.fail("the state of the catch-up: %v %v", state, err)
			return nil
		}
		r := l.runner(cuts > 0)
		if err = r.Aside.Load(); err == nil {
			err = r.Run(context.Background(), state)
		}
		switch {
		case errors.Is(err, errDisk):
			l.count("caught up: power cuts")
			l.journal.Commit(l.rng.IntN(6))
			l.journal = l.journal.Crash(l.odds(2))
			continue
		case err != nil:
			l.fail("%v", err)
		}
		return r.Aside
	}
}

// runner returns what catches up. Where the power is to be cut, that happens at a random write.
func (l *life) runner(cut bool) *catchup.Runner {
	left := 1 + l.rng.IntN(12)
	dead := false
	step := func() bool {
		left--
		dead = dead || cut && left <= 0
		return dead
	}
	write := func(ops ...wal.Op) error {
		if step() {
			return errDisk
		}
		l.journal.Append(&wal.Entry{Ops: ops, Shared: true})
		l.journal.Settle()
		return nil
	}
	quiet := slog.New(&listener{slog.DiscardHandler, l})
	var one sync.Mutex
	return &catchup.Runner{
		Scheme: few{l.outside.sim, 1 + l.rng.IntN(5)}, Timeout: time.Minute, Known: l.registry.Has, Refused: l.refusals.Has,
		Tell: func(id pix.AccountID, c ledger.Command, done func(bool, error)) {
			if step() {
				done(false, errDisk)
				return
			}
			l.account(id).Tell(c, done)
			l.journal.Settle()
		},
		Reserve: func(id pix.AccountID, endToEnd string) (bool, error) {
			one.Lock()
			defer one.Unlock()
			return l.registry.ReserveEndToEnd(id, endToEnd)
		},
		Owner: (&account.Feed{Rows: l.journal}).Owner,
		KeyOf: func(string) (pix.AccountID, bool) { return 1, true }, LostKey: func(scheme.Notice) {}, Secret: l.terms.Secret, Write: write, Log: quiet,
		Elapsed: func() time.Duration { return 0 },
		Aside:   &catchup.Aside{Scan: l.journal.Scan, Write: write, Alerts: nobody{}, Log: quiet},
	}
}

// nobody hears alerts.
type nobody struct{}

// Raise implements ledger.Alerts.
func (nobody) Raise(pix.AccountID, ledger.Alert) {}

// few is a scheme whose pages are short.
type few struct {
	scheme.Scheme
	most int
}

// Movements implements scheme.Scheme.
func (f few) Movements(ctx context.Context, since pix.Millis, after string, _ int) (scheme.MovementPage, error) {
	return f.Scheme.Movements(ctx, since, after, f.most)
}

// askInFlight asks about what the journal has in flight, as a start does.
func (l *life) askInFlight() {
	type open struct {
		account pix.AccountID
		id      pix.TxID
	}
	var all []open
	lo, hi := layout.OpenRange()
	if err := l.journal.Scan(lo, hi, func(k, _ []byte) (bool, error) {
		account, id, err := layout.DecodeOpenKey(k)
		all = append(all, open{account, id})
		return true, err
	}); err != nil {
		l.fail("in flight: %v", err)
	}
	for _, o := range all {
		t, err := l.shown(o.id)
		if err != nil || t == nil {
			l.fail("%v is in flight, and is not shown: %v", o.id, err)
			return
		}
		state, err := l.outside.sim.Ask(ctx, t.ID, t.EndToEnd)
		c := ledger.ResolveTransfer{ID: t.ID, EndToEnd: t.EndToEnd, Notice: true, Restored: true, Reason: state.Reason}
		switch {
		case err != nil:
			l.fail("ask for %v: %v", t.ID, err)
			return
		case state.Progress == scheme.Settled:
			c.Result = ledger.TransferIsSettled
		case state.Progress == scheme.Rejected:
			c.Result = ledger.TransferIsRejected
		default:
			continue
		}
		l.count("caught up: asked about, and ended")
		l.account(o.account).Tell(c, func(_ bool, err error) {
			if err != nil {
				l.fail("%v is told of its end: %v", t.ID, err)
			}
		})
		l.journal.Settle()
	}
}

// noneWaitsBehind checks that no payout waits of whose fingerprint there is a later attempt: it has failed in the gap, and
// its merchant has requested another one instead.
func (l *life) noneWaitsBehind() {
	type print struct {
		account pix.AccountID
		amount  pix.Amount
		key     pix.Key
	}
	newest, states := map[print]uint64{}, map[pix.TxID]*ledger.Record{}
	of := func(r *ledger.Record) print { return print{r.Account, r.Tx.Amount, r.Tx.Payout.Key} }
	for id := range l.all() {
		last, _, _ := l.journal.Last(wal.Stream(id))
		l.recordsOf(id, 1, last, func(r *ledger.Record) {
			if r.Tx == nil || r.Tx.Kind != pix.TxPayout || r.Tx.Payout.OwnEndToEnd {
				return
			}
			newest[of(r)], states[r.Tx.ID] = max(newest[of(r)], r.Tx.Payout.Attempt), r
		})
	}
	for id, r := range states {
		behind := r.Tx.Payout.Attempt < newest[of(r)]
		switch r.Tx.Status {
		case pix.StatusQueued, pix.StatusPending:
			if behind {
				l.fail("%v waits under attempt %d, and there is attempt %d", id, r.Tx.Payout.Attempt, newest[of(r)])
			}
		case pix.StatusFailed:
			if behind && r.Kind == ledger.PayoutFailed && r.Tx.ReasonCode == ledger.ReasonVoided && l.gap.taken.status[id] != pix.StatusFailed {
				l.count("caught up: failed in the gap")
			}
		}
	}
}

// booksAreTheirs compares each account's balance, and each of its transactions, with what the scheme has
// moved.
func (l *life) booksAreTheirs(aside *catchup.Aside) {
	want := map[pix.AccountID]pix.Amount{}
	for id := range l.all() {
		last, _, _ := l.journal.Last(wal.Stream(id))
		l.recordsOf(id, 1, last, func(r *ledger.Record) {
			if r.Kind == ledger.Credited {
				want[id] += r.Tx.Net()
			}
		})
	}
	moves, _, err := l.outside.sim.Settled(ctx, 0, "", 1_000_000)
	if err != nil {
		l.fail("movements: %v", err)
	}
	back, unknown := map[string]bool{}, 0
	for _, m := range moves {
		back[m.EndToEnd] = back[m.EndToEnd] || m.Kind == sim.MovedRefused
	}
	for _, m := range moves {
		switch {
		case m.Account > l.known || !l.registry.Has(m.Account):
			if m.Kind != sim.MovedRefused && (m.Kind != sim.MovedPayment || !back[m.EndToEnd]) {
				unknown++
			}
		case m.Kind == sim.MovedRefused || m.Kind == sim.MovedPayment && (back[m.EndToEnd] || l.refusals.Has(m.EndToEnd)): // or it goes back as soon as the scheme hears so
		default:
			want[m.Account] += l.movedHere(&m)
		}
	}
	if unknown > 0 && aside.Count() < unknown {
		l.fail("%d movements are of accounts that the journal does not know, and %d are kept aside", unknown, aside.Count())
	}
	for id := range l.all() {
		if got := l.account(id).Head().Totals.Balance; got != want[id] {
			l.fail("%v: balance %d, what moved makes %d", id, got, want[id])
		}
	}
}

// pendingAreHere checks that what is pending at the scheme is in flight, so that no merchant asks for it again.
func (l *life) pendingAreHere() {
	for id, endToEnd := range l.gap.sent {
		state, err := l.outside.sim.Ask(ctx, id, endToEnd)
		if err != nil {
			l.fail("ask for %v: %v", id, err)
		}
		if of := l.gap.made[id]; state.Progress != scheme.Pending || of != 0 && !l.registry.Has(of) {
			continue
		}
		l.count("caught up: pending")
		t := l.standing(id, endToEnd)
		if t == nil && l.gap.made[id] != 0 && l.othersHave(endToEnd, l.gap.made[id]) {
			l.count("caught up: pending under another account's id") // the scheme rejects it: the id is used
			continue
		}
		if t == nil || t.EndToEnd != endToEnd || t.Status == pix.StatusQueued || t.Status == pix.StatusPending || !t.Status.InFlight() && !t.Voided() {
			l.fail("%v is pending at the scheme, here it is %+v", id, t)
		}
	}
}

// othersHave reports whether a payout of another account has an end-to-end id here.
func (l *life) othersHave(endToEnd string, but pix.AccountID) bool {
	for _, key := range layout.EndToEndKeys(endToEnd) {
		if row, ok, err := layout.Find(l.journal, key, layout.DecodeEndToEndRow); ok && err == nil && row.Account != but {
			return true
		}
	}
	return false
}

// movedHere checks that a movement stands in the journal as the scheme has it, and returns by how much it has
// changed the balance.
func (l *life) movedHere(m *sim.SettledMovement) pix.Amount {
	var t *ledger.Transaction
	endToEnd := m.EndToEnd
	switch m.Kind {
	case sim.MovedPayment:
		t = l.receivedAs(m.EndToEnd, m.Account)
	case sim.MovedReturn:
		t, endToEnd = l.receivedAs(m.ReturnID, m.Account), m.ReturnID
	case sim.MovedRefund:
		t, _ = l.shown(m.Tx)
		endToEnd = m.ReturnID
	default:
		t, _ = l.shown(m.Tx)
	}
	if t == nil || t.EndToEnd != endToEnd || t.Amount != m.Amount || !t.Status.MovedMoney() {
		l.fail("%+v: here it is %+v", *m, t)
		return 0
	}
	if _, before := l.gap.taken.status[t.ID]; !before || l.gap.taken.status[t.ID] != t.Status {
		l.count("caught up: booked, movement kind " + string('0'+rune(m.Kind)))
	}
	return t.Movement()
}

// sequencesBehind checks that no event has a sequence that an event of the gap had.
func (l *life) sequencesBehind() {
	for id, last := range l.gap.taken.last {
		before := uint64(0)
		end, _, _ := l.journal.Last(wal.Stream(id))
		l.recordsOf(id, last+1, end, func(r *ledger.Record) {
			for i := range r.Events {
				e := r.Event(i)
				if _, given := l.gap.events[e.ID]; given || e.Sequence <= before || e.Sequence <= l.gap.taken.totals[id].Events+1000 {
					l.fail("event %v of %v has sequence %d, after %d events in the snapshot", e.ID, id, e.Sequence, l.gap.taken.totals[id].Events)
				}
				before = e.Sequence
			}
		})
	}
}

// againNothing catches up once more from the beginning, which must change nothing.
func (l *life) againNothing() {
	state, begin := catchup.Begin(1)
	l.journal.Append(&wal.Entry{Ops: []wal.Op{begin}, Shared: true})
	l.journal.Settle()
	before := map[pix.AccountID]uint64{}
	for id := range l.all() {
		before[id], _, _ = l.journal.Last(wal.Stream(id))
	}
	r := l.runner(false)
	if err := errors.Join(r.Aside.Load(), r.Run(context.Background(), state)); err != nil {
		l.fail("once more: %v", err)
	}
	late := uint64(0)
	for id := range l.all() {
		last, _, _ := l.journal.Last(wal.Stream(id))
		for seq := before[id] + 1; seq <= last; seq += 2 {
			if !l.roomIsThere(id, seq, before[id]) {
				rec, _ := rows{l.journal}.Record(id, seq)
				l.fail("%v had %d records, and has %d after it has caught up once more: %v %+v", id, before[id], last, rec.Kind, rec.Tx)
				return
			}
			late++
		}
	}
	if state.Booked != late || state.Aside != 0 || state.Done == math.MaxUint64 {
		l.fail("caught up once more: %+v, booked late %d", state, late)
	}
}

// roomIsThere reports whether a record and the next one book a refund that the scheme has rejected, for the first
// time: there was no room for it in its payment before, because another refund was in flight that has failed since, or a
// case held what it disputes and was withdrawn since.
func (l *life) roomIsThere(id pix.AccountID, seq, before uint64) bool {
	one, err := rows{l.journal}.Record(id, seq)
	if err != nil || one.Kind != ledger.RefundFoundOpen {
		return false
	}
	two, err := rows{l.journal}.Record(id, seq+1)
	first, failed := true, false
	l.recordsOf(id, 1, before, func(r *ledger.Record) {
		if r.Tx != nil && r.Tx.Kind == pix.TxRefund {
			first = first && r.Tx.ID != one.Tx.ID
			failed = failed || r.Kind == ledger.RefundFailed && r.Tx.Refund.Original == one.Tx.Refund.Original
		}
		failed = failed || r.Kind == ledger.CaseWithdrawn && r.Case.Original == one.Tx.Refund.Original
	})
	l.count("caught up: rejected refunds, once there was room")
	return err == nil && two.Kind == ledger.RefundFailed && two.Tx.ID == one.Tx.ID && first && failed
}
