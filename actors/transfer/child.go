package transfer

import (
	"context"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"pixd/actors/ledger"
	"pixd/actors/scheme"
)

// Runner is what children work with, the same for all.
type Runner struct {
	Context context.Context // ends their calls
	Scheme  scheme.Scheme
	Timeout time.Duration   // of one job: lookup and submit together
	Work    *sync.WaitGroup // counts jobs under way; whoever sends one adds it
}

// Brought is what a child tells its parent of a job.
type Brought struct {
	Job     *Job
	Outcome ledger.ResolvePayout
	Child   *actor.PID // idle again; nil: it has stopped
}

// child is an actor that carries jobs to the scheme, one after the other, for the
// account's actor that spawned it.
type child struct{ runner *Runner }

// Props makes children. What panics in one is its parent's to see.
func Props(r *Runner, opts ...actor.PropsOption) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return &child{r} }, opts...)
}

// Receive implements actor.Actor.
func (c *child) Receive(ctx actor.Context) {
	j, ok := ctx.Message().(*Job)
	if !ok {
		return
	}
	within, cancel := context.WithTimeout(c.runner.Context, c.runner.Timeout)
	defer cancel()
	out := Carry(within, c.runner.Scheme, *j)
	ctx.Send(ctx.Parent(), &Brought{j, out, ctx.Self()})
	c.runner.Work.Done()
}
