package webhook

import (
	"container/list"

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
	places  Places
	running int
	waiting int // queues in line
	shares  map[pix.AccountID]*share
	turns   []*share // accounts with queues in line, in the order of their turns
	aside   uint64   // how often a queue came into line while its account had all places of its share
}

// share is what one account has of a pool.
type share struct {
	pool    *pool
	account pix.AccountID
	running int
	queues  list.List // those in line, of *queue
	turning bool      // it is in pool.turns
}

func (p *pool) share(id pix.AccountID) *share {
	s := p.shares[id]
	if s == nil {
		s = &share{pool: p, account: id}
		p.shares[id] = s
	}
	return s
}

func (p *pool) full() bool  { return p.running >= p.places.All }
func (s *share) full() bool { return s.running >= s.pool.places.Account }

// add puts a queue at the end of its account's line.
func (s *share) add(q *queue) {
	q.share, q.place = s, s.queues.PushBack(q)
	s.pool.waiting++
	if s.full() {
		s.pool.aside++
	}
	s.line()
}

// remove takes a queue out of the line.
func (s *share) remove(q *queue) {
	s.queues.Remove(q.place)
	q.share, q.place = nil, nil
	s.pool.waiting--
	s.forget()
}

// line puts the account at the end of the line, unless it is in it, has no queue for it, or must
// wait aside.
func (s *share) line() {
	if !s.turning && s.queues.Len() > 0 && !s.full() {
		s.turning = true
		s.pool.turns = append(s.pool.turns, s)
	}
}

// next takes the queue out of the line whose turn it is; nil where no account has a turn.
func (p *pool) next() *queue {
	for len(p.turns) > 0 {
		s := p.turns[0]
		p.turns = p.turns[1:]
		s.turning = false
		if s.full() || s.queues.Len() == 0 {
			s.forget()
			continue
		}
		q := s.queues.Front().Value.(*queue)
		s.remove(q)
		s.line()
		return q
	}
	return nil
}

// take counts an attempt.
func (s *share) take() {
	s.running++
	s.pool.running++
}

// release stops counting an attempt. Another of the account may begin.
func (s *share) release() {
	s.running--
	s.pool.running--
	s.line()
	s.forget()
}

// forget drops a share of which nothing runs or waits.
func (s *share) forget() {
	if s.running == 0 && s.queues.Len() == 0 && !s.turning {
		delete(s.pool.shares, s.account)
	}
}
