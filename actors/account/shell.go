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
	"pixd/actors/pix"
	"pixd/actors/transfer"
	"pixd/wal"
)

// errPassivated is the error of a shell whose account was passivated. No caller ever gets
// it, because the host sends nothing to such a shell.
var errPassivated = errors.New("account: passivated")

// Shell connects one machine to its mailbox, the journal and the scheme. It has no rules of
// its own: the machine decides everything.
type Shell struct {
	*Dependencies
	id         pix.AccountID
	machine    *Machine   // nil: it could not be restored; see load
	unread     error      // why it could not
	toldUnread pix.Millis // when the newest alert about a failed read was raised; 0: never
	waiting    map[pix.TxID][]waiter
	running    map[pix.TxID]carriedTransfer // payouts and refunds for which a child actor was started that has not reported yet
	idle       []*actor.PID                 // child actors that carry nothing at present
	actor      actor.Context                // nil in a shell without actors
	broken     error                        // why the account is quarantined or passivated; nil: it is neither
	panics     []time.Time
	undone     atomic.Pointer[undo] // list of entries that the journal refused; the next message takes back what they changed
	refusals   atomic.Uint64        // number of entries that the journal has refused since the shell was made
	seen       uint64               // value of refusals when the shell took the message that it now handles
	flying     atomic.Int64         // guarded entries whose result the journal has not reported yet
}

// NewShell makes the shell of one account, restored from the journal or new. The shell runs
// without an actor: the caller hands it messages through Take, one at a time.
func NewShell(d *Dependencies, id pix.AccountID) *Shell {
	d.complete()
	s := &Shell{Dependencies: d}
	s.Take(&assign{id})
	return s
}

// Broken returns why the account is quarantined or passivated; nil where it is neither.
func (s *Shell) Broken() error { return s.broken }

// Head returns a copy of the account's head in memory, which may include records that are
// not durable yet.
func (s *Shell) Head() ledger.Account { return s.machine.head }

// Working returns how many payouts and refunds of the account are carried by child actors.
func (s *Shell) Working() int { return len(s.machine.work) }

// Receive implements actor.Actor. The actor goes on after any panic, because the host waits for its answers.
func (s *Shell) Receive(c actor.Context) {
	s.actor = c
	if _, panicked := s.contain(func() error { s.Take(c.Message()); return nil }); panicked {
		s.closeOff(c.Message())
	}
}

// Take handles one message: one of the types in message.go, or a child actor's report.
func (s *Shell) Take(message any) {
	if why := s.Ending(); why != nil && isWork(message) {
		refuse(message, why)
		return
	}
	// seen is read before undone. The method refused adds to undone first and to refusals
	// afterwards, so every refusal that is counted in seen is also taken back here.
	if s.seen = s.refusals.Load(); s.undone.Load() != nil {
		s.catchUp()
	}
	switch m := message.(type) {
	case *assign:
		s.id = m.id
		s.load()
	case *transfer.JobReport:
		s.takeJobReport(m)
	case *trim:
		if s.machine != nil && s.broken == nil && !s.machine.Trim(s.Journal.Durable()) {
			m.again()
		} else if len(s.waiting) == 0 {
			s.reapChildren()
		}
	case *call:
		s.attempt(m)
	case reload: // catchUp above has done the work
	case *passivate:
		done := false
		if _, panicked := s.contain(func() error { done = s.passivate(); return nil }); panicked {
			s.quarantine(errors.New("panic while it was passivated"))
		}
		m.done <- done
	case *closing:
		s.cut(context.Canceled)
		s.keepHead(m.heads)
		close(m.done)
	}
}

// attempt carries a command out and contains a panic in it. After a panic the account is
// rebuilt. Then a request fails with ErrInternal, since nothing of it was journaled, and a
// child actor's report or a notice is tried again.
func (s *Shell) attempt(m *call) {
	for s.broken == nil {
		if s.machine == nil {
			if s.load(); s.unread != nil {
				m.from.failed(fmt.Errorf("%w: %w", ledger.ErrInternal, s.unread))
				return
			}
			continue
		}
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
			s.quarantine(err) // the account does not guess what the damaged row or record said
			continue
		case wal.IsUnread(err):
			s.tellUnread("account: a row or record not read; tried again when it is needed", err)
			err = fmt.Errorf("%w: %w", ledger.ErrInternal, err)
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
	if ledger.TraitsOf(m.command).NeedsActive {
		c.Inactive = !s.Active(s.id)
	}
	entry, effects, err := s.machine.Step(s.Rows, c)
	if err != nil {
		return err
	}
	s.carryOut(&entry, effects, m)
	return nil
}
