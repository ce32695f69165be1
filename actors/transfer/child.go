package transfer

import (
	"context"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"pixd/actors/ledger"
	"pixd/actors/scheme"
)

// Runner has the dependencies of children, the same for all.
type Runner struct {
	Context context.Context // its end cancels the children's calls
	Scheme  scheme.Scheme
	Timeout time.Duration   // time for one job: lookup and submit together
	Work    *sync.WaitGroup // counts running jobs; the sender of a job adds 1
}

// Brought is a child's report of a job to its parent.
type Brought struct {
	Job     *Job
	Outcome ledger.ResolvePayout
	Child   *actor.PID // the child, which is idle again; nil: it has stopped
}

// child is an actor that carries jobs to the scheme, one after the other, for the account's
// actor that spawned it.
type child struct{ runner *Runner }

// Props makes the Props of children. A panic in a child is handled by its parent's
// supervisor.
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
