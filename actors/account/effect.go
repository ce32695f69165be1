package account

import (
	"pixd/actors/ledger"
)

// EffectKind says what an Effect is.
type EffectKind uint8

// The kinds. What must be durable before one takes place stands with each.
const (
	// Reply answers who handed the command in, with Answer and Attended. First durable:
	// the step's entry, and everything that the step was decided on.
	Reply EffectKind = iota + 1
	// Park keeps who handed the command in until the outcome of Payout is there. It takes
	// place at once: only the shell's memory changes.
	Park
	// Finish answers everyone who is parked for Payout, with Answer. First durable: the
	// step's entry.
	Finish
	// Launch starts a child for Child. First durable: the step's entry, and everything
	// that the step was decided on.
	Launch
	// Raise tells the operators of Alert. First durable: the step's entry, in which the
	// alert's row lies.
	Raise
)

// Effect is one thing that a step asks the shell to do.
type Effect struct {
	Kind     EffectKind
	Payout   ledger.TxID
	Answer   *ledger.Answer
	Attended *ledger.Attended // with Reply: what came of looking after a payout; nil where a child goes on with it
	Join     bool             // with Park: another request waits for it already: a 2xx is a replay here
	Other    bool             // and that request's body was another
	Child    ledger.Launch
	Alert    ledger.Alert
}

// effects are what a decision asks the shell to do, in this order: who asked is answered
// or parked, who waited is answered, the operators hear, and children start.
func (m *Machine) effects(c ledger.Command, d *ledger.Decision, a *ledger.Answer) []Effect {
	out := append(make([]Effect, 0, 3), m.reply(c, d, a))
	if t := d.Ended; t != nil {
		delete(m.work, t.ID)
		outcome := a
		if t != d.Tx && d.Tx != nil {
			outcome = &ledger.Answer{Tx: t, Stored: a.Stored}
		}
		out = append(out, Effect{Kind: Finish, Payout: t.ID, Answer: outcome})
	}
	for _, alert := range d.Alerts {
		out = append(out, Effect{Kind: Raise, Alert: alert})
	}
	for _, l := range d.Launch {
		if m.work == nil {
			m.work = map[ledger.TxID]*ledger.Transaction{}
		}
		m.work[l.Tx.ID] = l.Tx
		out = append(out, Effect{Kind: Launch, Child: l})
	}
	return out
}

// reply is what becomes of who asked.
func (m *Machine) reply(c ledger.Command, d *ledger.Decision, a *ledger.Answer) Effect {
	switch earlier := d.Earlier; {
	case earlier != nil && earlier.Stored == nil:
		return Effect{Kind: Park, Payout: earlier.Payout, Join: true, Other: earlier.Other}
	case earlier != nil:
		return Effect{Kind: Reply, Answer: &ledger.Answer{Stored: earlier.Stored, Replay: true, Mismatch: earlier.Other}}
	case d.Await:
		return Effect{Kind: Park, Payout: d.Tx.ID}
	}
	switch c := c.(type) {
	case ledger.KeepAnswer:
		a.Stored = &c.Stored
	case ledger.ReadAccount, ledger.OpenAccount, ledger.ChangeSettings:
		head := m.head
		a.Head = &head
	}
	return Effect{Kind: Reply, Answer: a, Attended: d.Attended}
}
