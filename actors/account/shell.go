package account

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"pixd/actors/ledger"
	"pixd/actors/transfer"
	"pixd/wal"
)

// errPassivated is never seen by callers: the host keeps them away.
var errPassivated = errors.New("account: passivated")

// shell connects one machine to its mailbox, the journal and the scheme. It
// has no rules of its own: what happens is the machine's word.
type shell struct {
	*Dependencies
	id       ledger.AccountID
	machine  *Machine
	waiting  map[ledger.TxID][]waiter
	running  map[ledger.TxID]carried // payouts whose child was started and has not reported
	idle     []*actor.PID            // children with nothing to carry
	actor    actor.Context           // nil: without actors
	broken   error                   // quarantined: why
	panics   []time.Time
	undone   atomic.Pointer[undo] // entries that the journal refused, until the next message
	refusals atomic.Uint64        // how many there were
	seen     uint64               // how many of them the message at work knows of
	flying   atomic.Int64         // guarded entries of which the journal has not told yet what became
}

// Receive implements actor.Actor.
func (s *shell) Receive(c actor.Context) {
	s.actor = c
	s.receive(c.Message())
}

func (s *shell) receive(message any) {
	if why := s.Ending(); why != nil && isWork(message) {
		refuse(message, why)
		return
	}
	// Counted before it is looked for: a refusal is counted after it can be found, so
	// that one which is counted here is undone here.
	if s.seen = s.refusals.Load(); s.undone.Load() != nil {
		s.catchUp()
	}
	switch m := message.(type) {
	case *assign:
		s.id = m.id
		s.load()
	case *transfer.Brought:
		s.brought(m)
	case *trim:
		if s.broken == nil && !s.machine.Trim(s.Journal.Durable()) {
			m.again()
		} else if len(s.waiting) == 0 {
			s.reapChildren()
		}
	case *call:
		s.attempt(m)
	case reload: // it has caught up
	case *passivate:
		done := false
		if _, panicked := s.contain(func() error { done = s.passivate(); return nil }); panicked {
			s.quarantine(errors.New("panic while it was passivated"))
		}
		m.done <- done
	case *closing:
		s.cut(context.Canceled)
		close(m.done)
	}
}

// attempt carries a command out and contains a panic in it: a request is told that
// nothing of it was journaled, what is kept is tried once more after the rebuild.
func (s *shell) attempt(m *call) {
	for s.broken == nil {
		err, panicked := s.contain(func() error { return s.command(m) })
		switch {
		case panicked:
			s.rebuild()
			if m.from.keeps() {
				continue
			}
			err = ledger.ErrInternal
		case err == nil:
			return
		case wal.IsDamage(err):
			s.quarantine(err) // it never guesses
			continue
		case !errors.Is(err, ledger.ErrBusy):
			s.Log.Error("account: command", "account", s.id.String(), "error", err)
			err = fmt.Errorf("%w: %w", ledger.ErrInternal, err)
		}
		m.from.failed(err)
		return
	}
	m.from.failed(fmt.Errorf("%w: %w", ledger.ErrQuarantined, s.broken))
}

func (s *shell) contain(work func() error) (err error, panicked bool) {
	defer func() {
		if p := recover(); p != nil {
			s.Log.Error("account: panic", "account", s.id.String(), "panic", p, "stack", string(debug.Stack()))
			panicked = true
		}
	}()
	return work(), false
}

func (s *shell) command(m *call) error {
	c := Call{Command: m.command, Now: s.Now(), Entropy: s.Entropy(), Durable: s.Journal.Durable()}
	if ledger.NeedsActive(m.command) {
		c.Inactive = !s.Active(s.id)
	}
	entry, effects, err := s.machine.Step(s.Rows, c)
	if err != nil {
		return err
	}
	s.carryOut(&entry, effects, m)
	return nil
}

// carryOut hands the effects on: everything that leaves rides in the entry and
// is released by the journal when the entry is durable.
func (s *shell) carryOut(entry *wal.Entry, effects []Effect, m *call) {
	var u undo
	task := m.task
	for i := range effects {
		switch e := &effects[i]; e.Kind {
		case Reply:
			if t, is := m.from.(*taskOf); is && e.Attended != nil && len(entry.Records) == 0 {
				// It tells nobody outside anything, and while the scanner waits for it
				// the payout is passed over.
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
				entry.Out = append(entry.Out, &raised{s.Config.Alerts, s.id, e.Alert})
			}
		case Launch:
			l := &launch{s.Children, s.child(), s.machine.job(e.Child)}
			l.job.Task, task = task, nil // the first child's
			entry.Out = append(entry.Out, l)
			if s.running == nil {
				s.running = map[ledger.TxID]carried{}
			}
			s.running[l.job.Tx.ID] = carried{&l.job.Tx, l.child}
			u.started = append(u.started, l.job.Tx.ID)
		}
	}
	s.submit(entry, u)
}

// park keeps a request until a payout's outcome is there.
func (s *shell) park(e *Effect, from asker) {
	to, ok := from.(*caller)
	if !ok {
		panic(fmt.Sprintf("account %v: %T waits for an outcome", s.id, from))
	}
	to.joined.Store(e.Join)
	if s.waiting == nil {
		s.waiting = map[ledger.TxID][]waiter{}
	}
	s.waiting[e.Payout] = append(s.waiting[e.Payout], waiter{to, e.Join, e.Other})
}

// submit hands the entry to the journal. What all that the entry's outs can tell is
// durable they need not queue behind other accounts' writes.
func (s *shell) submit(entry *wal.Entry, u undo) {
	guarded := len(entry.Records) > 0 || len(u.started) > 0
	if len(entry.Records) == 0 && len(entry.Ops) == 0 && s.machine.overlay.empty() && s.landed() {
		if guarded {
			s.guard(u).Release(nil)
		}
		for _, o := range entry.Out {
			o.Release(nil)
		}
		return
	}
	if guarded {
		entry.Out = append([]wal.Out{s.guard(u)}, entry.Out...)
	}
	if len(entry.Records) == 0 {
		s.holdToWritten(entry.Out)
	}
	entry.Stream = wal.Stream(s.id)
	s.machine.Submitted(s.Journal.Append(entry))
}

// landed tells that every guarded entry was written. The journal counts one as durable before it
// tells that it was refused, so what is durable does not say so.
func (s *shell) landed() bool { return s.flying.Load() == 0 && s.refusals.Load() == s.seen }

// holdToWritten has what leaves without records of its own refused where an entry before
// it is: it was decided on what that would have written.
func (s *shell) holdToWritten(outs []wal.Out) {
	for i, o := range outs {
		outs[i] = &dependent{o, s, s.seen}
	}
}

// guard stands in every entry with records, or that starts a child: the journal refuses
// one only where the account is not where the machine believes it to be.
func (s *shell) guard(u undo) wal.Out {
	s.flying.Add(1)
	if u.ended != nil || len(u.started) > 0 {
		return &guard{s, u}
	}
	return s
}

// guard is the shell in an entry that ends a child or starts one.
type guard struct {
	shell *shell
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
func (s *shell) Release(err error) { s.refused(err, new(undo)) }

// refused is told on the journal's goroutine. Nothing may be decided any more on what
// was never written: whatever message comes next finds it here first, and a message
// of our own sees to it that one comes.
func (s *shell) refused(err error, u *undo) {
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
func (s *shell) catchUp() {
	if s.broken == nil {
		s.remake()
	}
}

// unwritten takes back what an entry that was never written did to the children: the
// one whose end it held will report again, the one that it was to start never began,
// and who waits for that one is cut.
func (s *shell) unwritten(r *undo) {
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
