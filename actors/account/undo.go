package account

import (
	"pixd/actors/pix"
	"pixd/wal"
)

// guard returns an Out for an entry that has records or starts a child actor; the Out
// notices when the journal refuses the entry. The journal does so only where the account's
// newest record is not the one that the machine expects.
func (s *Shell) guard(u undo) wal.Out {
	s.flying.Add(1)
	if u.ended != nil || len(u.started) > 0 {
		return &guard{s, u}
	}
	return s
}

// guard is the Out of an entry that ends a child actor's work or starts a child actor.
type guard struct {
	shell *Shell
	undo  undo
}

// undo is what must be taken back if an entry is refused: the entry ended one child actor's
// work, or was to start other child actors.
type undo struct {
	ended   *carriedTransfer
	started []pix.TxID
	next    *undo
}

// Release implements wal.Out.
func (g *guard) Release(err error) { g.shell.refused(err, &g.undo) }

// Release implements wal.Out.
func (s *Shell) Release(err error) { s.refused(err, new(undo)) }

// refused is called on the journal's goroutine with the result of an entry. After a refused
// entry nothing more may be decided on its records: the shell restores the machine before
// it handles its next message, and a reload message makes sure that there is a next
// message.
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

// unwritten takes back what an entry that was never written changed about child actors. A
// child actor whose report was in the entry counts as running again, because the report
// will be sent again. A child actor that the entry was to start never began, and the
// connections of requests that wait for its payout or refund are cut.
func (s *Shell) unwritten(r *undo) {
	for _, id := range r.started {
		s.rested(s.running[id].child)
		delete(s.running, id)
		if w := s.waiting[id]; len(w) > 0 {
			delete(s.waiting, id)
			(&outcomes{to: w}).Release(wal.ErrSequence)
		}
	}
	if r.ended != nil { // the same transaction may be in r.started too: one child actor reported, and the next one never began
		s.running[r.ended.tx.ID] = *r.ended
	}
}
