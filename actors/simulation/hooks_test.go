package simulation

import (
	"fmt"

	"pixd/actors/history"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/webhook"
	"pixd/wal"
)

// hooks are the merchants' webhooks as the outside world knows them: the subscriptions, the
// receivers, and what each receiver got. A crash of the engine changes nothing of it.
type hooks struct {
	wanted   bool                           // merchants subscribe in this run
	schedule []pix.Millis                   // most processes' waits before the second and each later attempt
	bounds   webhook.Bounds                 // of every process of this run
	targets  []layout.Target                // subscriptions whose making was confirmed, in that order
	made     map[layout.Target]*subscriber  // the same by target
	known    map[deliveryName]*hookDelivery // deliveries of which anything was attempted or ended
	names    []deliveryName                 // their names, in the order in which they became known
	ids      map[pix.EventID]eventName      // events that receivers have seen, by id
}

// subscriber is a merchant's subscription and its receiver.
type subscriber struct {
	ledger.Subscription
	temper int  // fails one attempt in so many; 1: each; 0: none
	ended  bool // it was confirmed that the subscription is stopped or removed
}

// deliveryName names a delivery: a subscription, and the sequence of an event.
type deliveryName struct {
	layout.Target
	sequence uint64
}

// eventName names an event by its account and its sequence.
type eventName struct {
	account  pix.AccountID
	sequence uint64
}

// pump is the part of a process that delivers webhooks.
type pump struct {
	machine  *webhook.Machine
	schedule []pix.Millis // waits before the second and each later attempt
	running  []*attempt
	ahead    pix.Millis                   // how far engine time was behind the newest record at the start
	handed   int                          // tasks that the machine has handed out and that have not begun
	paused   map[layout.Target]pix.Millis // simulated time until which a subscription may pause after a failure
	inbox    *webhook.Inbox               // what the machine is told before its next step
	changes  map[layout.Target]int        // how often the inbox was told that a subscription changed
}

// schedules are over within a run.
var schedules = [][]pix.Millis{{}, {1_000}, {500, 2_000}, {1_000, 5_000, 30_000}, {200, 200, 60_000, 600_000}}

// mostTries is how many attempts the longest schedule has.
const mostTries = 5

// newHooks draws how webhooks behave in this run: the engine's own bounds or small ones, and a
// schedule.
func (l *life) newHooks() *hooks {
	h := &hooks{
		wanted: l.odds(2), bounds: webhook.DefaultBounds(), made: map[layout.Target]*subscriber{},
		known: map[deliveryName]*hookDelivery{}, ids: map[pix.EventID]eventName{},
	}
	h.schedule = schedules[l.rng.IntN(len(schedules))]
	if l.odds(2) {
		for _, bound := range []*int{
			&h.bounds.Each, &h.bounds.Good.All, &h.bounds.Good.Account, &h.bounds.Failing.All, &h.bounds.Failing.Account,
			&h.bounds.Slow.All, &h.bounds.Slow.Account, &h.bounds.Look, &h.bounds.Find, &h.bounds.Remember,
		} {
			*bound = [...]int{*bound, 4, 2, 1}[l.rng.IntN(4)]
		}
	}
	return h
}

// newPump returns the deliverer of a new process. Its flags may have another schedule.
func (l *life) newPump() pump {
	schedule := l.hooks.schedule
	if l.odds(8) {
		schedule = schedules[l.rng.IntN(len(schedules))]
	}
	return pump{
		machine: webhook.New(schedule, l.hooks.bounds), schedule: schedule,
		paused: map[layout.Target]pix.Millis{}, ahead: webhook.Ahead(l.time.Read()), inbox: new(webhook.Inbox), changes: map[layout.Target]int{},
	}
}

// webhooks lets one random thing happen to the webhooks.
func (l *life) webhooks() {
	if !l.hooks.wanted {
		return
	}
	switch n := l.rng.IntN(120); {
	case n < 3 || len(l.hooks.targets) == 0 && n < 20:
		l.subscribe()
	case n < 4:
		l.unsubscribe()
	case n < 7:
		l.putBack()
	case n < 9 && len(l.hooks.targets) > 0:
		l.testSubscription()
	}
	l.finishSome()
	if l.odds(2) {
		l.dispatch()
	}
}

// subscribe has a merchant subscribe to some kinds of events, or to all.
func (l *life) subscribe() {
	l.numbers++
	n, events := l.numbers, pix.EventMask(0)
	for _, k := range pix.EventKinds() {
		if n%3 != 0 || l.odds(2) {
			events = events.With(k)
		}
	}
	if events == 0 {
		events = events.With(pix.EventCompleted)
	}
	key := ""
	if l.odds(2) {
		key = fmt.Sprintf("w%d", n)
	}
	secret := make([]byte, 32)
	secret[0], secret[1] = byte(n), byte(n>>8)
	l.ask(&request{account: l.someone(), key: key, make: func() ledger.Command {
		return ledger.Subscribe{URL: fmt.Sprintf("https://merchant.example/%d", n), Events: events, Secret: secret, Claim: l.claim(key)}
	}})
}

// unsubscribe has a merchant remove a subscription, often one of which a delivery waits.
func (l *life) unsubscribe() {
	if len(l.hooks.targets) == 0 {
		return
	}
	t := l.hooks.targets[l.rng.IntN(len(l.hooks.targets))]
	for i := len(l.hooks.names) - 1; i >= 0 && !l.odds(20); i-- {
		if name := l.hooks.names[i]; l.hooks.known[name].now.state == layout.DeliveryPending && l.hooks.made[name.Target] != nil {
			t = name.Target
			break
		}
	}
	l.endSubscription(t, false)
}

func (l *life) endSubscription(t layout.Target, stop bool) {
	id := l.hooks.made[t].ID
	l.ask(&request{account: t.Account, make: func() ledger.Command { return ledger.EndSubscription{ID: id, Stop: stop} }})
}

// testSubscription has a merchant test a subscription, perhaps one that has ended.
func (l *life) testSubscription() {
	t := l.hooks.targets[l.rng.IntN(len(l.hooks.targets))]
	id := l.hooks.made[t].ID
	l.ask(&request{account: t.Account, make: func() ledger.Command { return ledger.TestSubscription{ID: id} }})
}

// tested takes the answer to a request for a test.
func (l *life) tested(r *request, c ledger.TestSubscription, a *ledger.Answer) {
	s := l.hooks.made[layout.Target{Account: r.account, Number: c.ID.Number()}]
	switch {
	case a.Refusal != nil:
		l.count("webhook: a test was refused")
	case s.ended || a.Event == nil || a.Event.Kind != pix.EventTest:
		l.fail("%v tests %+v and hears %+v", r.account, s, a)
	default:
		l.count("webhook: a test")
	}
}

// subscribed takes the answer to a request about a subscription.
func (l *life) subscribed(r *request, a *ledger.Answer) {
	s := a.Subscription
	if s == nil || a.Refusal != nil {
		return
	}
	t := layout.Target{Account: r.account, Number: s.ID.Number()}
	known := l.hooks.made[t]
	switch c := r.make().(type) {
	case ledger.Subscribe:
		if known == nil {
			l.hooks.made[t] = &subscriber{Subscription: *s, temper: [...]int{0, 0, 20, 4, 2, 1}[l.rng.IntN(6)]}
			l.hooks.targets = append(l.hooks.targets, t)
		}
		if s.URL != c.URL || s.Events != c.Events || s.Status != ledger.SubscriptionActive {
			l.fail("%v subscribed with %+v and has %+v", r.account, c, *s)
		}
	case ledger.EndSubscription:
		if s.ID != c.ID || s.Status == ledger.SubscriptionActive {
			l.fail("%v ended %v and has %+v", r.account, c.ID, *s)
		}
		known.ended = true
		l.count("webhook: a subscription ended")
	}
}

// hookRows reads rows and subscriptions for the machine that delivers webhooks.
type hookRows struct{ rows }

// Subscription implements webhook.Rows.
func (r hookRows) Subscription(t layout.Target) (*ledger.Subscription, error) {
	return history.Subscription(r.InMemory, t)
}

func (l *life) hookRows() hookRows { return hookRows{rows{l.journal}} }

// Emitted implements account.Webhooks.
func (l *life) Emitted(r *ledger.Record) {
	if s := r.Subscription; s != nil {
		l.pump.changes[layout.Target{Account: r.Account, Number: s.ID.Number()}]++
	}
	l.pump.inbox.Emitted(r)
}

// durable reports whether an account's record is durable.
func (l *life) durable(id pix.AccountID, seq uint64) bool {
	for _, e := range l.appended[wal.Stream(id)] {
		if e.ticket > l.journal.Durable() && e.first <= seq {
			return false
		}
	}
	return true
}
