package simulation

import (
	"net/http"
	"slices"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/webhook"
	"pixd/wal"
)

// attempt is an attempt that runs: what the receiver answers, and when.
type attempt struct {
	task   webhook.Task
	name   deliveryName
	began  pix.Reading
	until  pix.Millis // simulated time at which the answer or the timeout comes
	answer webhook.Answer
	result webhook.Result
}

// dispatch lets the machine that delivers webhooks take one step, and reports whether there was
// anything to start. As in the engine, tasks begin once everything that the machine may have
// read is durable.
func (l *life) dispatch() bool {
	p := &l.pump
	p.inbox.Into(p.machine)
	tasks, err := p.machine.Tick(l.hookTime(), l.hookRows())
	if err != nil && len(l.flipped) == 0 {
		l.fail("webhooks: %v", err)
	}
	for i := range tasks {
		l.mayRun(&tasks[i])
	}
	if len(tasks) == 0 {
		l.nothingForgotten()
		return false
	}
	p.handed += len(tasks)
	l.journal.Append(&wal.Entry{Out: []wal.Out{&handed{l, tasks}}})
	return true
}

// hookTime is the time by which deliveries are due, as in the engine.
func (l *life) hookTime() pix.Millis { return l.time.Now() + l.pump.ahead }

// handed are tasks that begin once what the machine has read is durable.
type handed struct {
	l     *life
	tasks []webhook.Task
}

// Release implements wal.Out.
func (h *handed) Release(error) {
	h.l.pump.handed -= len(h.tasks)
	for i := range h.tasks {
		if t := &h.tasks[i]; t.Bury != nil {
			h.l.bury(t)
		} else {
			h.l.begin(t)
		}
	}
}

// mayRun checks that the machine may start a task now: no other task of the delivery is under
// way, and the subscription was not ended.
func (l *life) mayRun(t *webhook.Task) {
	for i := range t.Bury {
		l.mayRun(&t.Bury[i])
	}
	if t.Bury != nil {
		return
	}
	d := l.delivery(&t.Pending)
	if d.busy {
		l.fail("event %d for subscription %v: two tasks at once", t.Sequence, t.Target)
	}
	if d.now.state != layout.DeliveryPending {
		l.fail("event %d for subscription %v is %v, and is attempted", t.Sequence, t.Target, d.now.state)
	}
	d.busy, d.after = true, l.pump.changes[t.Target]
	if s := l.hooks.made[t.Target]; t.Subscription != nil && s != nil && s.ended {
		l.fail("event %d is sent to subscription %v, which has ended", t.Sequence, t.Target)
	}
}

// begin begins an attempt: the receiver gets the event.
func (l *life) begin(t *webhook.Task) {
	a := &attempt{task: *t, name: deliveryName{t.Target, t.Sequence}, began: l.time.Read(), until: l.clock}
	a.result = webhook.Begun(a.began, nil)
	l.pump.running = append(l.pump.running, a)
	d := l.delivery(&t.Pending)
	d.made++
	r, err := l.hookRows().Record(t.Account, t.Record)
	if err == nil && int(t.Event) < len(r.Events) {
		a.result = webhook.Begun(a.began, r)
		l.arrives(a, d, r)
		return
	}
	a.answer.Err = "internal error"
	if !l.flipped[t.Account] {
		l.fail("event %d for subscription %v: record %d: %v", t.Sequence, t.Target, t.Record, err)
	}
}

// finishSome ends some of the attempts whose answer has come.
func (l *life) finishSome() {
	for i := 0; i < len(l.pump.running); i++ {
		if l.pump.running[i].until <= l.clock && (l.healed != 0 || l.odds(2)) {
			l.finish(i)
			i--
		}
	}
}

// finish ends an attempt and writes what follows from it.
func (l *life) finish(i int) {
	a := l.pump.running[i]
	l.pump.running = slices.Delete(l.pump.running, i, i+1)
	r := a.result
	r.Answer = a.answer
	r.End(a.began, l.time.Read(), l.pump.ahead, uint16(l.rng.Uint32()))
	l.pump.inbox.Into(l.pump.machine)
	o := l.pump.machine.Done(a.task, r)
	d := l.hooks.known[a.name]
	l.rightOutcome(a, d, &r, &o)
	next := standing{state: o.State, tries: d.now.tries + 1, attempts: d.now.attempts + 1}
	var row *layout.Pending
	if o.State == layout.DeliveryPending {
		next.due, row = o.Next.Due, &o.Next
	}
	d.gone, d.soon = o.Stop, 0
	if row != nil {
		d.soon = l.clock + row.Due - l.hookTime()
	}
	if o.Stop {
		l.count("webhook: 410")
		if l.hooks.made[a.task.Target] != nil {
			l.endSubscription(a.task.Target, true)
		}
	}
	d.next = &next
	l.writeHook(a.task, o.Ops, row)
}

// rightOutcome checks what the machine makes of an attempt's result.
func (l *life) rightOutcome(a *attempt, d *hookDelivery, r *webhook.Result, o *webhook.Outcome) {
	tries := d.now.tries
	d.last = false
	if r.Status/100 != 2 && d.after != l.pump.changes[a.task.Target] {
		d.anew++
		l.rightAnew(a, tries, r, o)
		return
	}
	want := layout.DeliveryPending
	switch {
	case r.Status/100 == 2:
		want = layout.DeliveryDelivered
		l.count("webhook: delivered")
		if d.now.attempts > 0 {
			l.count("webhook: delivered by a later attempt")
		}
	case r.Status == http.StatusGone:
		want = layout.DeliveryDead
	case tries >= len(l.pump.schedule):
		want = layout.DeliveryDead
		d.last = true
		l.count("webhook: dead after its last attempt")
	case !r.Doubted && l.hookTime() >= l.attemptsEnd(a):
		want = layout.DeliveryDead
		d.last = true
		l.count("webhook: dead after its time")
	}
	if o.State != want || o.Stop != (r.Status == http.StatusGone) {
		l.fail("event %d for subscription %v is %v (%v) after %d attempts and the answer %d", a.task.Sequence, a.task.Target, o.State, o.Stop, tries+1, r.Status)
		return
	}
	if want == layout.DeliveryDelivered {
		return
	}
	l.pump.paused[a.task.Target] = max(l.pump.paused[a.task.Target], l.clock+max(1_000, pix.Millis(r.RetryAfter.Milliseconds())))
	if want == layout.DeliveryPending {
		l.rightWait(a, tries, r, o)
	}
}

// rightAnew checks what the machine makes of a failure at the receiver that a subscription had before it
// was changed: the present one gets the event at once.
func (l *life) rightAnew(a *attempt, tries int, r *webhook.Result, o *webhook.Outcome) {
	l.count("webhook: failed at the receiver before a change")
	if o.State != layout.DeliveryPending || o.Stop || o.Next.Due != l.hookTime() || int(o.Next.Tries) != tries+1 {
		l.fail("event %d for subscription %v: the receiver before the change answered %d, and it is %v (%v), due in %d ms as try %d",
			a.task.Sequence, a.task.Target, r.Status, o.State, o.Stop, o.Next.Due-l.hookTime(), o.Next.Tries)
	}
}

// attemptsEnd is when the time for attempts of a delivery is over: five minutes after all waits of
// the schedule, counted from the event, or from when the delivery was put back in line.
func (l *life) attemptsEnd(a *attempt) pix.Millis {
	end := a.result.Since
	if s := a.task.Status; s != nil && s.Since != 0 {
		end = s.Since
	}
	for _, wait := range l.pump.schedule {
		end += wait
	}
	return end + 5*60*1000
}

// rightWait checks when a delivery is attempted again.
func (l *life) rightWait(a *attempt, tries int, r *webhook.Result, o *webhook.Outcome) {
	wait, asked := l.pump.schedule[tries], pix.Millis(r.RetryAfter.Milliseconds())
	left := wait + wait // the waits are cut where the time for attempts ends
	if !r.Doubted {
		left = l.attemptsEnd(a) - l.hookTime()
	}
	if got := o.Next.Due - l.hookTime(); got < max(min(wait, left), asked) || got > max(min(wait+wait/5, left), asked) || int(o.Next.Tries) != tries+1 {
		l.fail("event %d for subscription %v is attempted again in %d ms as try %d, the schedule says %d, the receiver %d", a.task.Sequence, a.task.Target, got, o.Next.Tries, wait, asked)
	}
}

// bury ends deliveries of a subscription that is stopped or removed.
func (l *life) bury(t *webhook.Task) {
	if t.Subscription.Status == ledger.SubscriptionActive {
		l.fail("deliveries of subscription %v end, and it is active", t.Target)
	}
	ops := l.pump.machine.Buried(*t)
	for i := range t.Bury {
		d := l.delivery(&t.Bury[i].Pending)
		d.next = &standing{state: layout.DeliveryDead, tries: d.now.tries, attempts: d.now.attempts}
		d.buried = true
		l.count("webhook: ended with its subscription")
		if d.now.due > l.hookTime() {
			l.count("webhook: ended before it was due")
		}
	}
	l.writeHook(*t, ops, nil)
}

// putBack has an operator put a delivery back in line.
func (l *life) putBack() {
	if len(l.hooks.names) == 0 {
		return
	}
	name := l.hooks.names[l.rng.IntN(len(l.hooks.names))]
	if l.hooks.known[name].now.state == layout.DeliveryDead || l.odds(8) {
		l.putBackThis(name)
	}
}

func (l *life) putBackThis(name deliveryName) {
	if l.flipped[name.Account] {
		return
	}
	d := l.hooks.known[name]
	s, err := l.hookRows().Subscription(name.Target)
	if err != nil || s == nil {
		l.fail("subscription %v: %v", name.Target, err)
		return
	}
	l.pump.inbox.Into(l.pump.machine)
	if s.Status != ledger.SubscriptionActive || d.busy {
		return
	}
	state, status, err := layout.FindDelivery(l.hookRows(), name.Target, name.sequence, d.now.due)
	if err != nil || state != d.now.state || len(status.Attempts) != d.now.attempts {
		l.fail("event %d for subscription %v is %+v, and %v %+v is found: %v", name.sequence, name.Target, d.now, state, status, err)
		return
	}
	l.count("webhook: put back in line")
	if state == layout.DeliveryDelivered {
		l.count("webhook: put back in line after it was delivered")
	}
	l.say("event %d for subscription %v is put back in line", name.sequence, name.Target)
	task, o := l.pump.machine.Again(name.Target, name.sequence, state, status, l.hookTime())
	d.busy, d.next = true, &standing{state: layout.DeliveryPending, attempts: d.now.attempts, due: o.Next.Due}
	d.soon = l.clock
	l.writeHook(task, o.Ops, &o.Next)
}

// writeHook writes what follows from a task.
func (l *life) writeHook(t webhook.Task, ops []wal.Op, next *layout.Pending) {
	l.journal.Append(&wal.Entry{Stream: wal.Stream(t.Account), Ops: ops, Shared: true, Out: []wal.Out{&hookSettled{l, t, next}}})
}

// hookSettled is told that what follows from a task is durable.
type hookSettled struct {
	l    *life
	task webhook.Task
	next *layout.Pending
}

// Release implements wal.Out.
func (s *hookSettled) Release(error) {
	s.l.pump.inbox.ResultDurable(&s.task, s.next)
	tasks := s.task.Bury
	if tasks == nil {
		tasks = []webhook.Task{s.task}
	}
	for i := range tasks {
		d := s.l.delivery(&tasks[i].Pending)
		d.now, d.next, d.busy = *d.next, nil, false
	}
}
