package webhook

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// child is an actor that makes one attempt after the other.
type child struct{ d *Dispatcher }

// Receive implements actor.Actor.
func (c *child) Receive(ctx actor.Context) {
	t, ok := ctx.Message().(*Task)
	if !ok {
		return
	}
	defer c.d.work.Done()
	r := c.d.attempt(t)
	c.d.rested(ctx.Self())
	if c.d.ending.Err() != nil && r.Status == 0 {
		return // the attempt was cut short by the end of the process: the next start makes it again
	}
	c.d.attempted(t, r)
}

// attempt makes one attempt. A panic in it is an attempt that failed.
func (d *Dispatcher) attempt(t *Task) (r Result) {
	began := d.Now()
	r = Begun(began, nil)
	defer func() {
		if p := recover(); p != nil {
			d.Log.Error("webhook: panic", "webhook", t.Subscription.ID.String(), "event", t.Sequence, "panic", p, "stack", string(debug.Stack()))
			r.Status, r.Err = 0, "internal error"
		}
		now := d.Now()
		drawn := d.Entropy()
		r.End(began, now, d.ahead, uint16(drawn[0])<<8|uint16(drawn[1]))
	}()
	record, err := d.Record(t.Account, t.Record)
	if err == nil && int(t.Event) >= len(record.Events) {
		err = fmt.Errorf("record %d of %v has no event %d", t.Record, t.Account, t.Event)
	}
	if err != nil {
		d.Log.Error("webhook: event not read", "account", t.Account.String(), "error", err)
		r.Err = "internal error"
		return r
	}
	r = Begun(began, record)
	event := record.Event(int(t.Event))
	r.Answer = d.Post(d.ending, Post{
		URL: t.Subscription.URL, EventID: event.ID.String(), Secret: t.Subscription.Shown(), Former: t.Subscription.FormerShown(began),
		At: time.UnixMilli(int64(began.Clock)), Body: d.Render(event),
	})
	return r
}
