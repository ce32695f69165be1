package account

import (
	"pixd/actors/ledger"
	"pixd/wal"
)

// guard stands in every entry with records, or that starts a child: the journal refuses
// one only where the account is not where the machine believes it to be.
func (s *Shell) guard(u undo) wal.Out {
	s.flying.Add(1)
	if u.ended != nil || len(u.started) > 0 {
		return &guard{s, u}
	}
	return s
}

// guard is the shell in an entry that ends a child or starts one.
type guard struct {
	shell *Shell
	undo  undo
}

// undo is what an entry that was refused did to the children: it ended one's work, or
// was to start others.
type undo struct {
	ended   *carried
	started []ledger.TxID
	next    *undo
}

// Release implements wal.Out.
func (g *guard) Release(err error) { g.shell.refused(err, &g.undo) }

// Release implements wal.Out.
func (s *Shell) Release(err error) { s.refused(err, new(undo)) }

// refused is told on the journal's goroutine. Nothing may be decided any more on what
// was never written: whatever message comes next finds it here first, and a message
// of our own sees to it that one comes.
func (s *Shell) refused(err error, u *undo) {
	defer s.flying.Add(-1)
	if err == nil {
		return
	}
	s.Log.Error("account: entry refused", "account", s.id.String(), "error", err)
	for u.next = s.undone.Load(); !s.undone.CompareAndSwap(u.next, u); u.next = s.undone.Load() {
	}
	s.refusals.Add(1)
	s.Again(s.id, reload{})
}

// catchUp makes the machine again where entries of it were refused.
func (s *Shell) catchUp() {
	if s.broken == nil {
		s.remake()
	}
}

// unwritten takes back what an entry that was never written did to the children: the
// one whose end it held will report again, the one that it was to start never began,
// and who waits for that one is cut.
func (s *Shell) unwritten(r *undo) {
	for _, id := range r.started {
		s.rested(s.running[id].child)
		delete(s.running, id)
		if w := s.waiting[id]; len(w) > 0 {
			delete(s.waiting, id)
			(&outcomes{to: w}).Release(wal.ErrSequence)
		}
	}
	if r.ended != nil { // perhaps of the same payout, whose next child never began
		s.running[r.ended.tx.ID] = *r.ended
	}
}
