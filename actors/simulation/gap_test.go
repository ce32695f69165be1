package simulation

import (
	"slices"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/scheme/sim"
	"pixd/wal"
)

// gap is what the original has made durable since the snapshot: a restored journal lacks it. The
// scheme's book differs from the restored one by it, and by nothing else. In a life that was not
// restored it is nil.
type gap struct {
	taken    *taken
	at       pix.Millis          // when the snapshot was restored
	sent     map[pix.TxID]string // what the scheme had taken when the snapshot was restored
	made     map[pix.TxID]pix.AccountID
	settled  map[pix.TxID]bool
	received map[string]bool // end-to-end ids of customers' payments
	returns  map[string]bool // ids of returns
	cases    map[pix.CaseID]bool
	reports  map[string]bool // ids of reports of which cases were opened, and of those that the restored engine refuses
	events   map[pix.EventID]issued
	payouts  []*ledger.Record     // those that held the money of a payout
	held     map[deliveryName]int // deliveries that the acceptance has held, with the attempts that were made of them
	unknown  map[string]bool      // payments to accounts that the restored engine does not have, of which it was told
}

// issued is what an event's id was given out for.
type issued struct {
	kind pix.EventKind
	tx   pix.TxID
	of   pix.CaseID
}

func issuedFor(r *ledger.Record, kind pix.EventKind) issued {
	e := issued{kind: kind}
	if r.Tx != nil {
		e.tx = r.Tx.ID
	} else if r.Case != nil {
		e.of = r.Case.ID
	}
	return e
}

// newGap reads the records that the life has made durable since the snapshot.
func newGap(l *life, t *taken) *gap {
	g := &gap{
		taken: t, at: l.clock, sent: l.outside.sent, made: map[pix.TxID]pix.AccountID{}, settled: map[pix.TxID]bool{}, received: map[string]bool{},
		returns: map[string]bool{}, cases: map[pix.CaseID]bool{}, reports: map[string]bool{}, events: map[pix.EventID]issued{},
		held: map[deliveryName]int{}, unknown: map[string]bool{},
	}
	for id := range l.all() {
		l.recordsOf(id, t.last[id]+1, l.durableOf(id), g.take)
	}
	return g
}

func (g *gap) take(r *ledger.Record) {
	for i := range r.Events {
		g.events[r.Event(i).ID] = issuedFor(r, r.Events[i])
	}
	if r.Case != nil {
		g.cases[r.Case.ID] = true
		g.reports[r.Case.Infraction] = g.reports[r.Case.Infraction] || r.Kind == ledger.CaseOpened
	}
	t := r.Tx
	if t == nil {
		return
	}
	if _, before := g.taken.status[t.ID]; !before {
		g.made[t.ID] = r.Account
	}
	switch r.Kind {
	case ledger.PayoutHeld:
		g.payouts = append(g.payouts, r)
	case ledger.PaymentReceived:
		g.received[t.EndToEnd] = true
	case ledger.ReturnReceived:
		g.returns[t.EndToEnd] = true
	}
	if t.Status == pix.StatusSettled {
		g.settled[t.ID] = true
	}
}

// lacks reports whether a movement at the scheme is in the gap.
func (g *gap) lacks(l *life, m *sim.SettledMovement) bool {
	if g == nil {
		return false
	}
	switch m.Kind {
	case sim.MovedPayment:
		if l.receivedAs(m.EndToEnd, m.Account) == nil && (g.received[m.EndToEnd] || g.unknown[m.EndToEnd] || m.Account > l.known) {
			l.count("restored: payments of the gap are missing")
			return true
		}
	case sim.MovedReturn:
		_, credited := l.chronicle0.given[m.ReturnID]
		return !credited && (g.returns[m.ReturnID] || g.made[m.Tx] != 0 || g.returnsUnknown(l, m))
	case sim.MovedRefund:
		t := l.chronicle0.refunds.newest[m.Tx]
		return t == nil && g.made[m.Tx] != 0 || t != nil && g.settledLate(m.Tx, t.Status)
	case sim.MovedPayout:
		return g.lacksPayout(l, m)
	}
	return false
}

// lacksPayout is lacks for a payout. One that only waited when the snapshot was taken, for an
// operator or in the queue, may have been paid since. The restored engine learns of that where it
// sends it under the same id; under a renewed id it pays it again.
func (g *gap) lacksPayout(l *life, m *sim.SettledMovement) bool {
	p := l.chronicle0.payouts[m.Tx]
	if p == nil {
		return g.made[m.Tx] != 0
	}
	switch {
	case g.settledLate(m.Tx, p.tx.Status):
		l.count("restored: a late settlement in the gap is missing")
		return true
	case g.waited(m.Tx) && g.paidOtherwise(l, m, &p.tx):
		l.count("restored: a payout that waited was paid in the gap")
		return true
	case g.settled[m.Tx]:
		l.count("restored: settled in the gap, and here too")
	}
	return false
}

// waited reports whether a payout waited for an operator or in the queue when the snapshot was
// taken, or was held or on its way then and came to wait in the gap for so long that its id was
// renewed.
func (g *gap) waited(tx pix.TxID) bool {
	switch g.taken.status[tx] {
	case pix.StatusQueued, pix.StatusPending:
		return true
	case pix.StatusHeld, pix.StatusSending:
		return g.sent[tx] != "" && g.sent[tx] != g.taken.endToEnd[tx]
	}
	return false
}

// paidOtherwise reports whether a payout that waited was paid by this movement without the
// restored engine's knowledge: it did not settle here, or under another id.
func (g *gap) paidOtherwise(l *life, m *sim.SettledMovement, t *ledger.Transaction) bool {
	another := t.EndToEnd != m.EndToEnd
	if t.Status != pix.StatusSettled {
		_, refused := ledger.ParseRefusal(t.ReasonCode) // by the directory, before it was sent here
		unsent := refused || slices.Contains([]string{ledger.ReasonQueueTimeout, ledger.ReasonExpired, ledger.ReasonDeclined}, t.ReasonCode)
		return another || g.settled[m.Tx] || unsent && g.sent[m.Tx] != ""
	}
	all, _, err := l.outside.sim.Settled(ctx, 0, "", 1_000_000)
	return err == nil && another && slices.ContainsFunc(all, func(o sim.SettledMovement) bool { return o.Tx == t.ID && o.EndToEnd == t.EndToEnd })
}

// returnsUnknown reports whether a return is of a payout that the restored engine does not know to
// be paid under this id: it alerts and credits nothing.
func (g *gap) returnsUnknown(l *life, m *sim.SettledMovement) bool {
	p := l.chronicle0.payouts[m.Tx]
	return p != nil && m.EndToEnd == g.sent[m.Tx] && (g.underTwoIDs(&p.tx) || g.failedHere(&p.tx))
}

// underTwoIDs reports whether a payout that waited was sent in the gap, and has another id here.
func (g *gap) underTwoIDs(t *ledger.Transaction) bool {
	return g != nil && g.waited(t.ID) && g.sent[t.ID] != "" && g.sent[t.ID] != t.EndToEnd
}

// paid reports whether the scheme got a payout in the gap that has another id here or has failed
// here, so that what the scheme tells of it contradicts what is known here.
func (g *gap) paid(l *life, tx pix.TxID) bool {
	if g == nil {
		return false
	}
	t, err := l.shown(tx)
	if err == nil && t == nil { // it is still held
		return g.taken.status[tx] == pix.StatusHeld && g.waited(tx)
	}
	return err == nil && (g.underTwoIDs(t) || g.failedHere(t))
}

// failedHere reports whether a payout that waited was sent in the gap, and has reached its time
// limit here before it was sent.
func (g *gap) failedHere(t *ledger.Transaction) bool {
	return g.waited(t.ID) && g.sent[t.ID] != "" && t.Status == pix.StatusFailed
}

// settledLate reports whether what had failed when the snapshot was taken, and is failed here,
// settled since: the restored engine does not ask about it any more.
func (g *gap) settledLate(tx pix.TxID, now pix.TxStatus) bool {
	return g != nil && g.taken.status[tx] == pix.StatusFailed && g.settled[tx] && now != pix.StatusSettled
}

// about reports whether a notice is about what the restored journal lacks.
func (g *gap) about(l *life, n *scheme.Notice) bool {
	switch {
	case g == nil:
		return false
	case n.Kind == scheme.PaymentArrived:
		_, ours := l.registry.PixKey(n.Arrived.Key)
		ours = ours || l.receivedAs(n.EndToEnd, n.Account) != nil // a repeat of what was credited before the key was removed
		g.unknown[n.EndToEnd] = g.unknown[n.EndToEnd] || !ours
		return !ours
	case n.Kind == scheme.InfractionCancelled && g.reports[n.Infraction]:
		_, opened, _ := l.journal.Get(layout.InfractionKey(n.Infraction, n.Account))
		return !opened
	case n.Infraction != "":
		lacks := (g.received[n.EndToEnd] || g.unknown[n.EndToEnd]) && l.receivedAs(n.EndToEnd, n.Account) == nil
		if lacks && n.Kind == scheme.InfractionOpened {
			g.reports[n.Infraction] = true // it is not told again, even if the payment is
		}
		return lacks
	}
	return g.made[n.Tx] != 0 && l.standing(n.Tx, n.EndToEnd) == nil
}

// refuses checks that the engine refuses a notice about what it lacks: the scheme would tell it
// again until somebody has caught up.
func (g *gap) refuses(l *life, n *scheme.Notice) {
	l.count("restored: notices about the gap")
	l.take(delivery{*n, func(err error) {
		if err == nil && !l.refusals.Has(n.EndToEnd) { // a report of a payment that was given back has no effect
			l.fail("a notice of %v %s, which the restored journal lacks, is acknowledged", n.Tx, n.EndToEnd)
		}
	}})
}

// freshIDs checks that no id that the original has given out since the snapshot was given out
// again for something else.
func (g *gap) freshIDs(l *life) {
	for id := range l.all() {
		last, _, _ := l.journal.Last(wal.Stream(id))
		l.recordsOf(id, g.taken.last[id]+1, last, func(r *ledger.Record) {
			if found := r.Kind == ledger.RefundFound || r.Tx != nil && l.chronicle0.refunds.found[r.Tx.ID]; r.Tx != nil && g.made[r.Tx.ID] != 0 && !found {
				l.fail("%v was given out in the gap, and is given out again", r.Tx.ID)
			}
			if r.Case != nil && g.cases[r.Case.ID] && g.taken.cases[r.Case.ID].ID != r.Case.ID {
				l.fail("%v was given out in the gap, and is given out again", r.Case.ID)
			}
			for i := range r.Events {
				if first, there := g.events[r.Event(i).ID]; there && first != issuedFor(r, r.Events[i]) {
					l.fail("event %v was given out in the gap for %+v, and is given out again for %+v", r.Event(i).ID, first, issuedFor(r, r.Events[i]))
				}
			}
		})
	}
}
