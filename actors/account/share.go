package account

import (
	"sync/atomic"

	"pixd/actors/pix"
)

// enter counts a request or a read of one account that is in work, and returns how many of them
// there are.
func (d *Host) enter(lane *atomic.Int64) int64 {
	n := lane.Add(1)
	if n == 1 {
		d.inWork.Add(1)
	}
	return n
}

func (d *Host) leave(lane *atomic.Int64) {
	if lane.Add(-1) == 0 {
		d.inWork.Add(-1)
	}
}

// Modest tells whether an account has fewer requests in work than its equal share: than most
// divided by the number of accounts that have requests in work. Where most of all requests
// together are in work, those of such an account are taken all the same.
func (d *Host) Modest(id pix.AccountID, most int) bool {
	e, ok := d.entries.Get(id)
	if !ok {
		return d.inWork.Load() < int64(most)
	}
	return d.modest(e, most, 0)
}

// modest is Modest for an account of whose requests in work the given number do not count.
func (d *Host) modest(e *entry, most int, without int64) bool {
	accounts, own := d.inWork.Load(), e.inWork.Load()-without
	if own <= 0 && without == 0 {
		accounts++ // the account itself
	}
	return own < int64(most)/max(accounts, 1)
}

// Figures are the figures of the bounds on requests in work.
type Figures struct {
	RefusedRequests  uint64 // refused because their account had too many in work
	Transfers        int    // payouts and refunds that wait for an answer, of all accounts
	RefusedTransfers uint64
	RefusedEquals    uint64 // payouts refused because too many are under way under their end-to-end id
}

// Figures returns the figures of now.
func (d *Host) Figures() Figures {
	return Figures{
		RefusedRequests: d.refused.requests.Load(), Transfers: int(d.transfers.Load()),
		RefusedTransfers: d.refused.transfers.Load(), RefusedEquals: d.refused.equals.Load(),
	}
}

// Moves returns the counters of what moved since the process started.
func (d *Host) Moves() *Moves { return d.deps.Moves }

// MostInWork returns the number of requests in work of the account that has the most of them. It
// looks at every account that was used since the start.
func (d *Host) MostInWork() (most int) {
	d.entries.Each(func(_ pix.AccountID, e *entry) bool {
		most = max(most, int(e.inWork.Load()), int(e.reads.Load()))
		return true
	})
	return most
}

// InMemory returns the number of accounts whose actor runs.
func (d *Host) InMemory() int { return int(d.inMemory.Load()) }
