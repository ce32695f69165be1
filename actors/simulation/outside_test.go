package simulation

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/scheme/sim"
	"pixd/actors/transfer"
	"pixd/wal"
	"pixd/wal/waltest"
)

// outside is the scheme's simulator, and the unreliable network between it and the engine.
type outside struct {
	l     *life
	sim   *sim.Sim
	down  pix.Millis       // the scheme cannot be reached before this time
	gone  string           // the key that the directory has forgotten
	heard bool             // the scheme has answered the last act
	deaf  bool             // the scheme's next answer is lost
	late  []scheme.Payment // submissions that are delayed and have not reached the scheme yet

	lateRefunds []scheme.Refund     // the same of refunds
	tries       map[pix.TxID]int    // submissions of refunds that are refused for now
	unanswered  map[pix.TxID]bool   // refunds of which a submission had no answer
	received    []string            // end-to-end ids of customers' payments, in order
	reports     map[string]report   // payers' reports, by infraction id
	reported    []string            // their ids, in order
	refusing    bool                // the next refund is late, and every further submission of it is refused
	refused     pix.TxID            // that refund
	held        []delivery          // notices that have not reached the engine yet; any of them may arrive next
	sent        map[pix.TxID]string // payouts that the scheme has taken, with their end-to-end ids
	book        sim.Options
	paid        map[string]arrived // customers' payments, by end-to-end id
}

// arrived is a customer's payment.
type arrived struct {
	account pix.AccountID
	amount  pix.Amount
	txid    string
}

// delivery is a notice that has not reached the engine yet.
type delivery struct {
	notice scheme.Notice
	done   func(error)
}

// prompt is the store of the scheme's simulator. Its entries are durable when Append returns.
type prompt struct{ *waltest.InMemory }

// Append implements sim.Store.
func (p prompt) Append(e *wal.Entry) wal.Ticket {
	t := p.InMemory.Append(e)
	p.Settle()
	return t
}

func newOutside(l *life) *outside {
	o := &outside{l: l, sent: map[pix.TxID]string{}, paid: map[string]arrived{}, reports: map[string]report{}}
	delay := [...]time.Duration{0, 200 * time.Millisecond, 5 * time.Second}[l.rng.IntN(3)]
	o.book = sim.Options{
		Store: prompt{waltest.NewInMemory()}, SettleDelay: delay, OpenAtOnce: l.few(0),
		Now: func() pix.Millis { return l.clock }, Entropy: l.entropy, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	o.open()
	return o
}

// open starts the scheme's simulator on its book.
func (o *outside) open() {
	s, err := sim.Open(o.book)
	if err != nil {
		o.l.fail("scheme: %v", err)
	}
	o.sim = s
}

// restart ends the scheme's simulator and starts it again. The acknowledgements of notices
// that are still on their way are lost, so the new simulator sends those notices again.
func (o *outside) restart() {
	o.l.count("fault: the scheme restarts")
	before := o.sim
	for i := range o.held {
		o.held[i].done = func(error) {}
	}
	if err := before.Close(); err != nil {
		o.l.fail("scheme: close: %v", err)
	}
	o.open()
}

func (o *outside) register(k pix.Key, id pix.AccountID) {
	if err := o.sim.RegisterKey(context.Background(), k, id); err != nil {
		o.l.fail("register %s: %v", k.Value, err)
	}
}

var errLost = errors.New("the wire is dead")

// act performs one act of a payout's or refund's child, as the engine does, and returns the reply.
func (o *outside) act(m *transfer.Machine, act transfer.Act, deadline pix.Millis) (r transfer.Reply) {
	expired := o.l.clock >= deadline
	o.heard = false
	if act != transfer.Pause {
		r = transfer.Perform(ctx, wire{o}, m, act)
	}
	r.Expired = expired
	return r
}

func (o *outside) take(p scheme.Payment) (scheme.State, error) {
	state, err := o.sim.Submit(context.Background(), p)
	if err == nil {
		o.sent[p.Tx] = p.EndToEnd
	}
	return state, err
}

// arrive lets one late submission reach the scheme.
func (o *outside) arrive() {
	if n := len(o.lateRefunds); n > 0 && (len(o.late) == 0 || o.l.odds(2)) {
		o.refundArrives(o.l.rng.IntN(n))
		return
	}
	if len(o.late) == 0 {
		return
	}
	i := o.l.rng.IntN(len(o.late))
	p := o.late[i]
	o.late = append(o.late[:i], o.late[i+1:]...)
	state, err := o.take(p)
	o.l.say("late submission of %v arrives: %v %v", p.Tx, state, err)
}

// tell handles one notice of the scheme: the notice is lost, doubled, delayed, falsified, or
// delivered.
func (o *outside) tell() bool {
	if len(o.held) > 0 && o.l.odds(2) {
		i := o.l.rng.IntN(len(o.held))
		d := o.held[i]
		o.held = append(o.held[:i], o.held[i+1:]...)
		o.l.take(d)
		return true
	}
	n, acknowledge, ok := o.sim.Due()
	if !ok {
		return false
	}
	if n.Kind == scheme.PaymentArrived {
		o.l.copied(&n)
	}
	if o.l.gap.about(o.l, &n) {
		o.l.gap.refuses(o.l, &n)
		acknowledge(nil) // the scheme would tell it for ever
		return true
	}
	from := o.sim
	done := func(err error) {
		if from == o.sim {
			acknowledge(err)
		}
	}
	o.l.refuses = n.Kind == scheme.ReturnReceived && o.l.mood.refuse > 0 && o.l.odds(2)
	if m := &o.l.mood; n.Kind == scheme.ReturnReceived && m.doubled > 0 && o.l.odds(3) {
		done = o.returnedTwice(n, done)
	}
	if m := &o.l.mood; n.Kind == scheme.InfractionOpened && m.doubled > 0 && o.l.odds(3) {
		done = o.reportedTwice(n, done)
	}
	d := delivery{n, done}
	switch m := &o.l.mood; {
	case o.l.clock < o.down || o.l.odds(m.lost):
		o.l.count("fault: notice lost")
		done(errLost)
	case o.l.odds(m.late):
		o.l.count("fault: notice late")
		o.held = append(o.held, d)
	case o.l.odds(m.doubled):
		o.l.count("fault: notice doubled")
		o.l.take(delivery{n, func(error) {}})
		o.l.take(d)
	case m.doubled > 0 && o.l.odds(20) && n.Kind != scheme.PaymentArrived && n.Infraction == "":
		// The scheme confuses two payments: a false notice names our payout with another
		// payment's end-to-end id.
		o.l.count("fault: notice of another id")
		o.l.forged++
		wrong := n
		wrong.EndToEnd = wrong.EndToEnd[:len(wrong.EndToEnd)-4] + "else"
		switch n.Kind { // the false notice also has the opposite outcome
		case scheme.PaymentSettled:
			wrong.Kind, wrong.Reason = scheme.PaymentRejected, "AC03"
		case scheme.PaymentRejected:
			wrong.Kind, wrong.Reason = scheme.PaymentSettled, ""
		case scheme.RefundSettled:
			wrong.Kind, wrong.Reason = scheme.RefundRejected, "CH16"
		case scheme.RefundRejected:
			wrong.Kind, wrong.Reason = scheme.RefundSettled, ""
		}
		o.l.take(delivery{wrong, func(error) {}})
		o.l.take(d)
	case o.l.odds(m.lost): // the notice arrives, and its acknowledgement is lost
		o.l.count("fault: acknowledgement lost")
		o.l.take(delivery{n, func(error) {}})
		done(errLost)
	default:
		o.l.take(d)
	}
	return true
}

// returnedTwice returns the callback for a notice of a return. When the notice is
// acknowledged, the callback reports the same return again, for another payout.
func (o *outside) returnedTwice(n scheme.Notice, done func(error)) func(error) {
	return func(err error) {
		done(err)
		for i := range o.l.answers {
			a := &o.l.answers[i]
			if err != nil || a.tx.Kind != pix.TxPayout || a.refused || a.tx.ID == n.Tx || o.l.flipped[a.account] || o.l.odds(2) {
				continue
			}
			wrong := n
			wrong.Tx, wrong.EndToEnd, wrong.Account = a.tx.ID, a.tx.EndToEnd, a.account
			o.forge("fault: notice of another's return", wrong)
			return
		}
	}
}

// anotherMinute sometimes sends a false notice of settlement for a payout whose key was just
// looked up. The notice has the payout's end-to-end id with another minute.
func (o *outside) anotherMinute(p scheme.Payment) {
	if o.l.mood.doubled == 0 || !o.l.odds(20) || !o.l.living {
		return
	}
	digit := p.EndToEnd[20]
	other := p.EndToEnd[:20] + string('0'+(digit-'0'+1)%10) + p.EndToEnd[21:]
	o.forge("fault: notice of another minute", scheme.Notice{Kind: scheme.PaymentSettled, Tx: p.Tx, EndToEnd: other})
}

// forge sends a notice that is false.
func (o *outside) forge(what string, n scheme.Notice) {
	o.l.count(what)
	o.l.forged++
	o.held = append(o.held, delivery{n, func(error) {}})
}

// pay has a customer pay an amount to an account.
func (o *outside) pay(id pix.AccountID, amount pix.Amount, txid string) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // the customer does not wait for the engine's acknowledgement
	e2e, _, err := o.sim.Pay(ctx, sim.Payment{Key: keyOf(id), Amount: amount, TxID: txid})
	if err != nil {
		o.l.fail("pay %v: %v", id, err)
		return
	}
	o.paid[e2e] = arrived{id, amount, txid}
	o.received = append(o.received, e2e)
	o.l.say("a customer pays %v %d as %s", id, amount, e2e)
}

// giveBack has the recipient return an amount of a settled payout; with amount 0 the
// recipient returns all of it.
func (o *outside) giveBack(endToEnd string, amount pix.Amount) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	id, err := o.sim.ReturnPayout(ctx, sim.PayoutReturn{EndToEnd: endToEnd, Amount: amount, Reason: "MD06"})
	o.l.say("return of %s, %d: %s %v", endToEnd, amount, id, err)
}
