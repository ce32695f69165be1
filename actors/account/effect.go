package account

import (
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// EffectKind says what an Effect is.
type EffectKind uint8

// The kinds of effect. The comment of each kind says what must be durable before the effect
// takes place.
const (
	// Reply hands Answer and Attended to the asker of the command. First durable: the
	// step's entry, and every earlier entry that the step's decision read.
	Reply EffectKind = iota + 1
	// Park lets the asker of the command wait until Payout has its outcome. It takes place
	// at once, before the step's entry is durable: only the shell's memory changes.
	Park
	// Finish gives Answer to every asker that is parked for Payout. First durable: the
	// step's entry.
	Finish
	// Launch starts a child actor with the job Child. First durable: the step's entry, and
	// every earlier entry that the step's decision read.
	Launch
	// Raise reports Alert to the operators. First durable: the step's entry, which also
	// holds the alert's row.
	Raise
	// Emit hands the record Emitted to the webhooks. First durable: the step's entry.
	Emit
)

// Effect is one thing that a step asks the shell to do.
type Effect struct {
	Kind   EffectKind
	Payout pix.TxID
	Answer *ledger.Answer
	// With Reply: the result of a due task; nil where a child actor was started, which will
	// report the result.
	Attended *ledger.Attended
	// With Park: an earlier request under the same idempotency key already waits for this
	// transaction, so a 2xx answer is a replay for the asker that is parked now.
	Join bool
	// With Park and Join: the earlier request had a different body.
	Other bool
	Child ledger.Launch
	Alert *ledger.Alert
	// With Emit: a record that causes events for subscriptions, or is about a subscription.
	Emitted *ledger.Record
}

// effects lists what a decision asks the shell to do, in this order: answer or park the
// asker of the command; answer the askers that are parked for the payout or refund that ended; raise
// alerts; hand events to the webhooks; start child actors.
func (m *Machine) effects(d *ledger.Decision) []Effect {
	a := d.Answer
	if d.ShowsHead {
		head := m.head
		a.Head = &head
	}
	out := append(make([]Effect, 0, 2), replyTo(d, &a))
	if t := d.Ended; t != nil {
		delete(m.work, t.ID)
		outcome := &a
		if t != d.Tx && d.Tx != nil {
			outcome = &ledger.Answer{Tx: t, Stored: a.Stored}
		}
		out = append(out, Effect{Kind: Finish, Payout: t.ID, Answer: outcome})
	}
	for i := range d.Alerts {
		out = append(out, Effect{Kind: Raise, Alert: &d.Alerts[i]})
	}
	for i := range d.Records {
		if r := &d.Records[i]; r.Subscription != nil || len(r.Deliveries) > 0 {
			out = append(out, Effect{Kind: Emit, Emitted: r})
		}
	}
	for _, l := range d.Launch {
		if m.work == nil {
			m.work = map[pix.TxID]*ledger.Transaction{}
		}
		m.work[l.Tx.ID] = l.Tx
		out = append(out, Effect{Kind: Launch, Child: l})
	}
	return out
}

// replyTo is the effect for the asker of the command: Park or Reply.
func replyTo(d *ledger.Decision, a *ledger.Answer) Effect {
	switch earlier := d.Earlier; {
	case earlier != nil && earlier.Stored == nil:
		return Effect{Kind: Park, Payout: earlier.Payout, Join: true, Other: earlier.Other}
	case earlier != nil:
		return Effect{Kind: Reply, Answer: &ledger.Answer{Stored: earlier.Stored, Replay: true, Mismatch: earlier.Other}}
	case d.Await:
		return Effect{Kind: Park, Payout: d.Tx.ID}
	}
	return Effect{Kind: Reply, Answer: a, Attended: d.Attended}
}
