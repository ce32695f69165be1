package account

import (
	"pixd/actors/ledger"
	"pixd/wal"
)

// guard returns an Out for every entry that has records or starts a child. The journal
// refuses such an entry only where the account's newest record is not the one that the
// machine expects.
func (s *Shell) guard(u undo) wal.Out {
	s.flying.Add(1)
	if u.ended != nil || len(u.started) > 0 {
		return &guard{s, u}
	}
	return s
}

// guard is the Out of an entry that ends a child's work or starts a child.
type guard struct {
	shell *Shell
	undo  undo
}

// undo is the change to children that must be taken back if an entry is refused: the entry
// ended one child's work, or was to start other children.
type undo struct {
	ended   *carried
	started []ledger.TxID
	next    *undo
}

// Release implements wal.Out.
func (g *guard) Release(err error) { g.shell.refused(err, &g.undo) }

// Release implements wal.Out.
func (s *Shell) Release(err error) { s.refused(err, new(undo)) }

// refused is called on the journal's goroutine with the result of an entry. After a refused
// entry nothing more may be decided on its records: the next message restores the machine
// first, and a reload message makes sure that there is a next message.
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

// catchUp restores the machine from the journal after entries were refused.
func (s *Shell) catchUp() {
	if s.broken == nil {
		s.remake()
	}
}

// unwritten takes back the changes to children of an entry that was never written. A child
// whose end was in the entry will report again. A child that the entry was to start never
// began, and the requests that wait for its payout are cut.
func (s *Shell) unwritten(r *undo) {
	for _, id := range r.started {
		s.rested(s.running[id].child)
		delete(s.running, id)
		if w := s.waiting[id]; len(w) > 0 {
			delete(s.waiting, id)
			(&outcomes{to: w}).Release(wal.ErrSequence)
		}
	}
	if r.ended != nil { // may be a payout in r.started too, whose next child never began
		s.running[r.ended.tx.ID] = *r.ended
	}
}
