package due

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"pixd/actors/ledger"
)

// Scanner is the shell around Machine.
type Scanner struct {
	rows  Rows
	start func(Task, func(Result)) // the second is called once, when the task has ended
	now   func() ledger.Reading
	log   *slog.Logger
	wake  chan struct{} // capacity 1

	mu      sync.Mutex
	machine *Machine
}

// NewScanner finds tasks in rows and starts them.
func NewScanner(m *Machine, r Rows, start func(Task, func(Result)), now func() ledger.Reading, log *slog.Logger) *Scanner {
	return &Scanner{rows: r, start: start, now: now, log: log, wake: make(chan struct{}, 1), machine: m}
}

// Run scans until the context ends.
func (s *Scanner) Run(ctx context.Context) {
	ticker := time.NewTicker(time.Duration(lookEvery) * time.Millisecond)
	defer ticker.Stop()
	for ctx.Err() == nil {
		s.mu.Lock()
		tasks, err := s.machine.Tick(s.now(), s.rows)
		s.mu.Unlock()
		if err != nil {
			s.log.Error("due: waiting payouts not looked at; tried again", "error", err)
		}
		for _, t := range tasks {
			s.start(t, func(r Result) { s.done(t, r) })
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		case <-s.wake:
		}
	}
}

func (s *Scanner) done(t Task, r Result) {
	s.mu.Lock()
	alert := s.machine.Done(t, r, s.now().Clock)
	s.mu.Unlock()
	if alert {
		s.log.Warn("the scheme cannot be reached: payouts that wait for its word are asked for again, and nothing is voided",
			"alert", "scheme_unreachable", "account", t.Account.String(), "transaction", ledger.TxID(t.ID).Public(ledger.TxPayout))
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
