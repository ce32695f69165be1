package transfer

import (
	"context"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"pixd/actors/ledger"
	"pixd/actors/scheme"
)

// Runner has the dependencies that all child actors share.
type Runner struct {
	Context context.Context // its end cancels the child actors' calls to the scheme
	Scheme  scheme.Scheme
	Timeout time.Duration   // most time for one job: lookup and submit together
	Work    *sync.WaitGroup // counts running jobs; whoever sends a job to a child actor adds 1 first
	Lanes   *Lanes          // nil: every job begins at once, and asks again at a pace of its own
}

// JobReport is the message in which a child actor reports the outcome of a job to its
// account.
type JobReport struct {
	Job     *Job
	Outcome ledger.ResolveTransfer
	Child   *actor.PID // the child actor, which is idle again; nil: the child actor has stopped
}

// child is an actor that carries jobs to the scheme, one after the other. The account's
// actor that spawned it gives it the jobs and gets the reports.
type child struct{ runner *Runner }

// Props makes protoactor's Props for child actors. A panic in a child actor is handled by
// the supervisor of the account's actor.
func Props(r *Runner, opts ...actor.PropsOption) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return &child{r} }, opts...)
}

// Receive implements actor.Actor.
func (c *child) Receive(ctx actor.Context) {
	j, ok := ctx.Message().(*Job)
	if !ok {
		return
	}
	out := c.runner.carry(j)
	ctx.Send(ctx.Parent(), &JobReport{j, out, ctx.Self()})
	c.runner.Work.Done()
}

// carry carries one job out.
func (r *Runner) carry(j *Job) ledger.ResolveTransfer {
	if r.Lanes != nil {
		return r.Lanes.carry(r.Context, r.Scheme, j, r.Timeout)
	}
	within, cancel := context.WithTimeout(r.Context, r.Timeout)
	defer cancel()
	return Carry(within, r.Scheme, *j)
}
