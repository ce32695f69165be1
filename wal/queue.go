package wal

import "time"

// lazyDelay is the longest time for which a lazy entry waits for one that is not lazy.
const lazyDelay = 2 * time.Millisecond

func (s *Store) submit(e *Entry) Ticket {
	s.mu.Lock()
	if s.closing || s.fail.set.Load() {
		s.mu.Unlock()
		return s.Submitted() + 1
	}
	t := s.submitted.Add(1)
	if s.idle && len(s.queue) == 0 && e.Parked() {
		s.durable.Store(t)
		s.mu.Unlock()
		s.Tell(e.Stream, e.Out)
		return Ticket(t)
	}
	s.queue = append(s.queue, e)
	if !e.Parked() {
		s.newest[e.Stream] = Ticket(t)
	}
	if e.Lazy && !s.urgent {
		s.hurryLater()
		s.mu.Unlock()
		return Ticket(t)
	}
	s.writeNow()
	return Ticket(t)
}

// hurryLater has the queue written within the store's lazyDelay. The caller holds s.mu.
func (s *Store) hurryLater() {
	if !s.timed {
		s.timed = true
		time.AfterFunc(s.opts.lazyDelay, s.hurry)
	}
}

// hurry has the lazy entries written that no other entry took along.
func (s *Store) hurry() {
	s.mu.Lock()
	s.timed = false
	if len(s.queue) == 0 {
		s.mu.Unlock()
		return
	}
	s.writeNow()
}

// writeNow has the writer write the queue, and wakes it where it sleeps. The caller holds s.mu,
// and writeNow unlocks it.
func (s *Store) writeNow() {
	s.urgent = true
	wake := s.idle
	s.idle = false
	s.mu.Unlock()
	if wake {
		s.wake <- struct{}{}
	}
}
