package account

import (
	"context"
	"runtime/debug"
	"sync"

	"pixd/actors/due"
	"pixd/actors/ledger"
	"pixd/actors/payout"
)

// Job is what a child carries, and the due task that it was started for, if any.
type Job struct {
	payout.Job
	Task *due.Task
}

// launch starts a child.
type launch struct {
	children Children
	job      Job
}

// Release implements wal.Out: what the child carries is durable, so it may begin.
// A hold that was never written has no payout, and who asked hears of that.
func (l *launch) Release(err error) {
	if err == nil {
		l.children.Begin(l.job)
	}
}

// child carries one payout to the scheme and reports to the account, through
// the host like everyone else. Nobody sends it messages, so it is a
// function on one of the actors' workers and not an actor: making an actor for
// each payout was a tenth of the engine's time.
type child struct {
	dir *Host
	job Job
}

// Begin starts a child on one of the actors' workers. Where the end has begun it
// starts none: the next start finds the payout by its due row.
func (d *Host) Begin(j Job) {
	if d.children.begin() {
		d.workers.Schedule((&child{d, j}).run)
	} else if j.Task != nil {
		d.deps.Tasks.Done(*j.Task, due.Result{Err: context.Canceled})
	}
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

func (p *child) run() {
	defer p.dir.children.work.Done()
	p.dir.bring(&Report{p.job.Account, p.carry(), p.job.Task, outcomeAgain})
}

// carry contains a panic on the way: what was sent is not known then, so the
// payout is in doubt.
func (p *child) carry() (out ledger.ResolvePayout) {
	ctx, cancel := context.WithTimeout(p.dir.running, p.dir.limits.SchemeTimeout)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			p.dir.deps.Log.Error("payout: panic", "transaction", p.job.Tx.Public(), "panic", r, "stack", string(debug.Stack()))
			out = payout.Lost(p.job.Job)
		}
	}()
	return payout.Carry(ctx, p.dir.scheme, p.job.Job)
}
