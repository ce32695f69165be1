package due

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// Scanner is the shell around Machine: it calls Machine.Tick on a timer and hands the tasks
// to accounts.
type Scanner struct {
	rows   layout.Rows
	alerts ledger.Alerts
	now    func() pix.Reading
	log    *slog.Logger
	wake   chan struct{} // a value makes Run call Tick at once; capacity 1

	machine *Machine                // Run's alone: the journal's goroutine, which ends tasks, must not wait while rows are read
	figures atomic.Pointer[Figures] // of the machine's last step

	mu    sync.Mutex
	ended []ended // of which the machine is not told yet; as many at most as are at work
}

// ended is a task that was carried out.
type ended struct {
	task   Task
	result Result
}

// Accounts carries out due tasks. It must call Scanner.Done once for each task.
type Accounts interface{ Due(t Task) }

// AlertUnreachable is the kind of the alert that the scheme cannot be reached.
const AlertUnreachable = "scheme_unreachable"

// NewScanner makes a scanner over due rows and queue rows. alerts may be nil.
func NewScanner(m *Machine, r layout.Rows, now func() pix.Reading, alerts ledger.Alerts, log *slog.Logger) *Scanner {
	return &Scanner{rows: r, alerts: alerts, now: now, log: log, wake: make(chan struct{}, 1), machine: m}
}

// Run hands due tasks to accounts until the context ends.
func (s *Scanner) Run(ctx context.Context, accounts Accounts) {
	ticker := time.NewTicker(time.Duration(lookEvery) * time.Millisecond)
	defer ticker.Stop()
	for ctx.Err() == nil {
		s.hear()
		tasks, err := s.machine.Tick(s.now(), s.rows)
		s.figures.Store(s.machine.figures())
		if err != nil {
			s.log.Error("due: what waits not looked at; tried again", "error", err)
		}
		for _, t := range tasks {
			accounts.Due(t)
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		case <-s.wake:
		}
	}
}

// Figures are how many tasks are at work, and how many due rows wait until their account has fewer.
type Figures struct {
	Scheme, Clock InLane // of tasks that need the scheme, and of those that need the clock
	Tries         int    // tries of payouts that wait for directory capacity
}

// InLane are the figures of one lane.
type InLane struct{ Running, Waiting int }

// Figures returns the figures of the scanner's last step.
func (s *Scanner) Figures() Figures {
	if f := s.figures.Load(); f != nil {
		return *f
	}
	return Figures{}
}

func (m *Machine) figures() *Figures {
	f := &Figures{Tries: m.tries}
	for _, l := range m.lanes {
		in := &f.Scheme
		if l.need == layout.NeedsClock {
			in = &f.Clock
		}
		in.Running += l.line.InUse()
		in.Waiting += l.line.Waiting()
	}
	return f
}

// Done takes the result of a task. It may be called from any goroutine, and waits for nothing.
func (s *Scanner) Done(t Task, r Result) {
	s.mu.Lock()
	s.ended = append(s.ended, ended{t, r})
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// hear tells the machine of the tasks that have ended, and logs those that have failed.
func (s *Scanner) hear() {
	s.mu.Lock()
	all := s.ended
	s.ended = nil
	s.mu.Unlock()
	for _, e := range all {
		if e.result.failed() && !errors.Is(e.result.Err, context.Canceled) {
			s.log.Warn("due: not looked at; it is tried again",
				"account", e.task.Account.String(), "id", pix.TxID(e.task.ID).String(), "error", e.result.Err)
		}
		if s.machine.Done(e.task, e.result, s.now().Clock) && s.alerts != nil {
			s.alerts.Raise(e.task.Account, ledger.Alert{
				Kind: AlertUnreachable, Tx: pix.TxID(e.task.ID), Public: e.result.Public,
				Message: "the scheme cannot be reached: payouts and refunds that wait for its word are asked for again, and nothing is voided",
			})
		}
	}
}
