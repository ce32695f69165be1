package account

import (
	"context"
	"runtime/debug"

	"pixd/actors/ledger"
	"pixd/actors/payout"
)

// child carries one payout to the scheme and reports to the account, through
// the directory like everyone else. Nobody sends it messages, so it is a
// function on one of the actors' workers and not an actor: making an actor for
// each payout was a tenth of the engine's time.
type child struct {
	dir  *Directory
	job  payout.Job
	then func(Visited) // of the visit that sent it out; may be nil
}

// errand starts a child.
type errand struct {
	around *Around
	job    payout.Job
	then   func(Visited) // of the visit that sent it out; may be nil

	outcome bool // another child's outcome starts it: who brings that hears of an error, and tells
}

// Release implements wal.Out: what the child carries is durable, so it may begin.
// A hold that was never written has no payout.
func (p *errand) Release(err error) {
	if err == nil {
		p.around.Begin(p.job, p.then)
	} else if p.then != nil && !p.outcome {
		p.then(Visited{Err: err})
	}
}

// begin starts a child on one of the actors' workers.
func (d *Directory) begin(j payout.Job, then func(Visited)) {
	c := &child{d, j, then}
	d.workers.Schedule(c.run)
}

func (p *child) run() { p.dir.outcome(p.job.Account, p.carry(), p.then, outcomeAgain) }

// carry contains a panic on the way: what was sent is not known then, so the
// payout is in doubt.
func (p *child) carry() (out ledger.ResolvePayout) {
	ctx, cancel := context.WithTimeout(p.dir.running, p.dir.limits.SchemeTimeout)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			p.dir.around.Log.Error("payout: panic", "transaction", p.job.Tx.Public(), "panic", r, "stack", string(debug.Stack()))
			out = payout.Lost(p.job)
		}
	}()
	return payout.Carry(ctx, p.dir.scheme, p.job)
}
