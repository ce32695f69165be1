package account

import (
	"context"
	"runtime/debug"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"pixd/actors/due"
	"pixd/actors/ledger"
	"pixd/actors/transfer"
)

// launch is the Out that starts a child actor once the entry of its payout or refund is durable.
// child is the child actor that the account's actor has spawned; it is nil in a shell
// without actors, where children.Begin runs the job in another way.
type launch struct {
	children Children
	child    *actor.PID
	job      transfer.Job
}

// Release implements wal.Out. Without an error the transaction of the job is durable, so the
// child actor begins its work. If the entry was refused, it was never written and
// no work begins; the caller gets the error through another Out of the same entry.
func (l *launch) Release(err error) {
	if err == nil {
		l.children.Begin(l.child, &l.job)
	}
}

// Begin implements Children. After Close was called no child actor begins work: the next
// start of the engine finds the transaction by its due row.
func (d *Host) Begin(child *actor.PID, j *transfer.Job) {
	if d.children.begin() {
		d.root.Send(child, j)
	} else if j.Task != nil {
		d.deps.Tasks.Done(*j.Task, due.Result{Err: context.Canceled})
	}
}

// carriedTransfer is a payout or refund that a child actor carries to the scheme.
type carriedTransfer struct {
	tx    *ledger.Transaction // its state when the child actor began its work
	child *actor.PID
}

// child returns an idle child actor of the account, or spawns a new one.
func (s *Shell) child() *actor.PID {
	if n := len(s.idle); n > 0 {
		pid := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return pid
	}
	if s.actor == nil {
		return nil // a shell that runs without actors has no child actors
	}
	return s.actor.Spawn(s.ChildProps)
}

// rested puts a child actor that has finished its job on the list of idle child actors.
func (s *Shell) rested(pid *actor.PID) {
	if pid != nil {
		s.idle = append(s.idle, pid)
	}
}

// reapChildren stops the account's idle child actors.
func (s *Shell) reapChildren() {
	for _, pid := range s.idle {
		s.actor.Stop(pid)
	}
	s.idle = nil
}

// takeJobReport puts the reporting child actor on the idle list and hands its report to the
// account.
func (s *Shell) takeJobReport(b *transfer.JobReport) {
	s.rested(b.Child)
	s.Take(ReportMessage(s.Dependencies, Report{b.Job.Account, b.Outcome, b.Job.Task, outcomeAgain}))
}

// overChildren supervises child actors. A child actor that panics is stopped. It is not
// known whether it had sent its payout or refund to the scheme, so that is in doubt.
type overChildren struct{ host *Host }

// HandleFailure implements actor.SupervisorStrategy.
func (o overChildren) HandleFailure(_ *actor.ActorSystem, s actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, message any) {
	s.StopChildren(child)
	d := o.host
	j, ok := actor.UnwrapEnvelopeMessage(message).(*transfer.Job)
	if !ok {
		d.deps.Log.Error("transfer: child stopped", "actor", child.Id, "panic", reason)
		return
	}
	d.deps.Log.Error("transfer: panic", "transaction", j.Tx.Public(), "panic", reason, "stack", string(debug.Stack()))
	// This runs in the account's actor. It must not wait for the entry's lock: whoever
	// passivates the account holds the lock while it waits for this actor.
	d.again(j.Account, &transfer.JobReport{Job: j, Outcome: transfer.Lost(*j)})
	d.children.work.Done()
}

// children counts the child actors that are at work. After endReports was called, no child
// actor begins work.
type children struct {
	mu    sync.Mutex
	ended bool
	work  sync.WaitGroup
}

func (c *children) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.work.Add(1)
	}
	return !c.ended
}

func (c *children) endReports() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
}

// over returns a channel that is closed once every child actor at work has reported. It is
// called after endReports.
func (c *children) over() <-chan struct{} {
	done := make(chan struct{})
	go func() { c.work.Wait(); close(done) }()
	return done
}
