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

// Shell connects one machine to its mailbox, the journal and the scheme. It
// has no rules of its own: what happens is the machine's word.
type Shell struct {
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

// NewShell is one account's shell, restored from the journal or new, for who carries its
// messages itself, one at a time, and without actors.
func NewShell(d *Dependencies, id ledger.AccountID) *Shell {
	d.complete()
	s := &Shell{Dependencies: d}
	s.Take(&assign{id})
	return s
}

// Broken is why the account is quarantined; nil where it is not.
func (s *Shell) Broken() error { return s.broken }

// Head is a copy of the account's head in memory, durable or not.
func (s *Shell) Head() ledger.Account { return s.machine.head }

// Working tells how many payouts of the account have a child.
func (s *Shell) Working() int { return len(s.machine.work) }

// Receive implements actor.Actor.
func (s *Shell) Receive(c actor.Context) {
	s.actor = c
	s.Take(c.Message())
}

// Take carries one message: one of those that message.go lists or makes.
func (s *Shell) Take(message any) {
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
func (s *Shell) attempt(m *call) {
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

func (s *Shell) contain(work func() error) (err error, panicked bool) {
	defer func() {
		if p := recover(); p != nil {
			s.Log.Error("account: panic", "account", s.id.String(), "panic", p, "stack", string(debug.Stack()))
			panicked = true
		}
	}()
	return work(), false
}

func (s *Shell) command(m *call) error {
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
