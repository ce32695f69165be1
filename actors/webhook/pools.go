package webhook

import (
	"pixd/actors/fair"
	"pixd/actors/pix"
)

// Places are how many attempts of a pool run at once.
type Places struct {
	All     int // most of all accounts together
	Account int // most of one account: the rest is left to others
}

// pool counts the attempts of one class that run. It also has the line of the queues that wait
// for a place. Accounts get their turns one after the other, and each turn is for the next of the
// account's queues; so an account with many subscriptions gets no more turns than one with one.
// An account that has all places of its share waits aside until one of its attempts ends.
type pool struct {
	fair.Line[pix.AccountID, *queue]
	places Places
	aside  uint64 // how often a queue came into line while its account had all places of its share
}

func newPool(p Places) *pool {
	return &pool{Line: fair.NewLine[pix.AccountID, *queue](p.All, p.Account), places: p}
}

// add puts a queue at the end of its account's line.
func (p *pool) add(q *queue) {
	q.pool, q.place = p, p.Add(q.target.Account, q)
	if p.Shared(q.target.Account) {
		p.aside++
	}
}

// next takes the queue out of the line whose turn it is; nil where no account has a turn.
func (p *pool) next() *queue {
	_, q, ok := p.Next()
	if ok {
		q.pool = nil
	}
	return q
}
