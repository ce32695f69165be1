package account

import (
	"fmt"
	"slices"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// carryOut carries out the effects of a step. It puts every answer, alert and start of a
// child actor into the entry as an Out, which the journal releases when the entry is
// durable.
func (s *Shell) carryOut(entry *wal.Entry, effects []Effect, m *call) {
	var u undo
	task := m.task
	records := s.machine.records
	entry.Out = s.Moves.of(records, make([]wal.Out, 0, len(records)+len(effects)+1)) // one more for the guard; see submit
	for i := range effects {
		switch e := &effects[i]; e.Kind {
		case Reply:
			if e.Attended != nil {
				task = nil // the task has its result, so no child actor reports it
			}
			if t, is := m.from.(*taskOf); is && e.Attended != nil && len(entry.Records) == 0 {
				// The result of a due task changes nothing outside the process, and the
				// scanner does not start the task again before it has the result. So the
				// result need not wait for the journal.
				t.answered(e.Answer, e.Attended)
				continue
			}
			entry.Out = append(entry.Out, &reply{m.from, e.Answer, e.Attended})
		case Park:
			s.park(e, m.from)
		case Finish:
			if c, is := s.running[e.Payout]; is {
				u.ended = &c
			}
			delete(s.running, e.Payout)
			if w := s.waiting[e.Payout]; len(w) > 0 {
				delete(s.waiting, e.Payout)
				entry.Out = append(entry.Out, &outcomes{w, e.Answer})
			}
		case Raise:
			if s.Config.Alerts != nil {
				entry.Out = append(entry.Out, &alertOut{s.Config.Alerts, s.id, *e.Alert})
			}
		case Emit:
			if s.Config.Webhooks != nil {
				entry.Out = append(entry.Out, &eventOut{s.Config.Webhooks, e.Emitted})
			}
		case Launch:
			l := &launch{s.Children, s.child(), s.machine.job(e.Child)}
			l.job.Task, task = task, nil // if the step starts several child actors, the first one gets the task
			entry.Out = append(entry.Out, l)
			if s.running == nil {
				s.running = map[pix.TxID]carriedTransfer{}
			}
			s.running[l.job.Tx.ID] = carriedTransfer{l.job.Tx, l.child}
			u.started = append(u.started, l.job.Tx.ID)
		}
	}
	entry.Lazy = lazy(m.command, entry.Out)
	s.submit(entry, u)
}

// lazy tells whether a command's entry with these outs is one that no client waits for: a notice
// of the scheme ended a payout or a refund whose request has its answer, and no other refund begins.
func lazy(c ledger.Command, outs []wal.Out) bool {
	return ledger.TraitsOf(c).IsNotice && !slices.ContainsFunc(outs, func(o wal.Out) bool {
		switch o.(type) {
		case *outcomes, *launch:
			return true
		}
		return false
	})
}

// park keeps a request waiting until a payout or refund has its outcome.
func (s *Shell) park(e *Effect, from asker) {
	to, ok := from.(*caller)
	if !ok {
		panic(fmt.Sprintf("account %v: %T waits for an outcome", s.id, from))
	}
	to.joined.Store(e.Join)
	if s.waiting == nil {
		s.waiting = map[pix.TxID][]waiter{}
	}
	s.waiting[e.Payout] = append(s.waiting[e.Payout], waiter{to, e.Join, e.Other})
}

// submit hands the entry to the journal. Where the entry has no records and rows, and every
// earlier entry of the account is durable, the entry does not queue behind other accounts'
// writes: its answers are released at once.
func (s *Shell) submit(entry *wal.Entry, u undo) {
	guarded := len(entry.Records) > 0 || len(u.started) > 0
	if len(entry.Records) == 0 && len(entry.Ops) == 0 && s.machine.overlay.empty() && s.allEntriesWritten() {
		if guarded {
			s.guard(u).Release(nil)
		}
		s.Journal.Tell(wal.Stream(s.id), entry.Out)
		return
	}
	if guarded {
		entry.Out = slices.Insert(entry.Out, 0, s.guard(u))
	}
	if len(entry.Records) == 0 {
		s.holdToWritten(entry.Out)
	}
	entry.Stream = wal.Stream(s.id)
	s.machine.Submitted(s.Journal.Append(entry))
}

// allEntriesWritten tells whether every guarded entry (see guard) was written. Durability alone does
// not prove it: the journal counts an entry as durable before it reports that it refused
// the entry.
func (s *Shell) allEntriesWritten() bool { return s.flying.Load() == 0 && s.refusals.Load() == s.seen }

// holdToWritten wraps the outs of an entry without records. Such an out is refused where an
// earlier entry of the account was refused, because the out was decided on that entry's
// records.
func (s *Shell) holdToWritten(outs []wal.Out) {
	for i, o := range outs {
		outs[i] = &dependent{o, s, s.seen}
	}
}
