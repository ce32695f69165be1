package account

import (
	"context"
	"runtime/debug"

	"github.com/asynkron/protoactor-go/actor"

	"pixd/actors/ledger"
	"pixd/actors/payout"
)

// start tells a child that its payout's hold is durable.
type start struct{}

// begin is a child that may start once its entry is durable.
type begin struct {
	root *actor.RootContext
	pid  *actor.PID
}

// Release implements wal.Out. A hold that was never written has no payout.
func (b begin) Release(err error) {
	if err != nil {
		b.root.Stop(b.pid)
		return
	}
	b.root.Send(b.pid, start{})
}

// child is the actor that carries one payout to the scheme and reports to the
// account, through the directory like everyone else.
type child struct {
	dir *Directory
	job payout.Job
}

// Receive implements actor.Actor.
func (p *child) Receive(c actor.Context) {
	if _, ok := c.Message().(start); !ok {
		return
	}
	p.dir.outcome(p.job.Account, p.carry())
	c.Stop(c.Self())
}

// carry contains a panic on the way: what was sent is not known then, so the
// payout is in doubt.
func (p *child) carry() (out ledger.ResolvePayout) {
	ctx, cancel := context.WithTimeout(p.dir.running, p.dir.limits.SchemeTimeout)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			p.dir.log.Error("payout: panic", "transaction", p.job.Tx.Public(), "panic", r, "stack", string(debug.Stack()))
			out = ledger.ResolvePayout{ID: p.job.Tx.ID, EndToEnd: p.job.Tx.EndToEnd, Result: ledger.PayoutIsAccepted}
		}
	}()
	return payout.Carry(ctx, p.dir.scheme, p.job)
}
