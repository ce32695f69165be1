package account

import (
	"context"
	"runtime/debug"
	"sync"

	"pixd/actors/due"
	"pixd/actors/ledger"
	"pixd/actors/transfer"

	"github.com/asynkron/protoactor-go/actor"
)

// launch starts a child: an actor that the account's actor has spawned, or, without
// actors, whatever Children makes of it.
type launch struct {
	children Children
	child    *actor.PID
	job      transfer.Job
}

// Release implements wal.Out: what the child carries is durable, so it may begin.
// A hold that was never written has no payout, and who asked hears of that.
func (l *launch) Release(err error) {
	if err == nil {
		l.children.Begin(l.child, &l.job)
	}
}

// Begin implements Children. Where the end has begun it starts none: the next start
// finds the payout by its due row.
func (d *Host) Begin(child *actor.PID, j *transfer.Job) {
	if d.children.begin() {
		d.root.Send(child, j)
	} else if j.Task != nil {
		d.deps.Tasks.Done(*j.Task, due.Result{Err: context.Canceled})
	}
}

// carried is a payout that a child carries.
type carried struct {
	tx    *ledger.Transaction // as it stood when the child began
	child *actor.PID
}

// child is an idle child of the account's, or a new one.
func (s *Shell) child() *actor.PID {
	if n := len(s.idle); n > 0 {
		pid := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return pid
	}
	if s.actor == nil {
		return nil // without actors
	}
	return s.actor.Spawn(s.ChildProps)
}

// rested takes a child back that has nothing to carry.
func (s *Shell) rested(pid *actor.PID) {
	if pid != nil {
		s.idle = append(s.idle, pid)
	}
}

// reapChildren stops idle children: an account at rest keeps none.
func (s *Shell) reapChildren() {
	for _, pid := range s.idle {
		s.actor.Stop(pid)
	}
	s.idle = nil
}

// brought takes what a child has brought.
func (s *Shell) brought(b *transfer.Brought) {
	s.rested(b.Child)
	s.Take(ReportMessage(s.Dependencies, Report{b.Job.Account, b.Outcome, b.Job.Task, outcomeAgain}))
}

// overChildren supervises children: one that panics is stopped, and what it had sent is
// not known, so that its payout is in doubt.
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
	d.send(j.Account, d.entry(j.Account), &transfer.Brought{Job: j, Outcome: transfer.Lost(*j)})
	d.children.work.Done()
}

// children knows how many run, and lets none begin after the end.
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

func (c *children) end() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
}

// over is closed once the last child has reported, after end.
func (c *children) over() <-chan struct{} {
	done := make(chan struct{})
	go func() { c.work.Wait(); close(done) }()
	return done
}
