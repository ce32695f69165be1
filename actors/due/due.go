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
	visit func(Visit, func(Came)) // starts a visit; the second is called once
	now   func() ledger.Reading
	log   *slog.Logger
	wake  chan struct{} // capacity 1

	mu      sync.Mutex
	machine *Machine
}

// NewScanner looks into rows and has payouts visited.
func NewScanner(m *Machine, r Rows, visit func(Visit, func(Came)), now func() ledger.Reading, log *slog.Logger) *Scanner {
	return &Scanner{rows: r, visit: visit, now: now, log: log, wake: make(chan struct{}, 1), machine: m}
}

// Run scans until the context ends.
func (s *Scanner) Run(ctx context.Context) {
	ticker := time.NewTicker(time.Duration(lookEvery) * time.Millisecond)
	defer ticker.Stop()
	for ctx.Err() == nil {
		s.mu.Lock()
		visits, err := s.machine.Tick(s.now(), s.rows)
		s.mu.Unlock()
		if err != nil {
			s.log.Error("due: waiting payouts not looked at; tried again", "error", err)
		}
		for _, v := range visits {
			s.visit(v, func(c Came) { s.came(v, c) })
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		case <-s.wake:
		}
	}
}

func (s *Scanner) came(v Visit, c Came) {
	s.mu.Lock()
	alert := s.machine.Came(v, c, s.now().Clock)
	s.mu.Unlock()
	if alert {
		s.log.Warn("the scheme cannot be reached: payouts that wait for its word are asked for again, and nothing is voided",
			"alert", "scheme_unreachable", "account", v.Account.String(), "transaction", v.ID.Public(ledger.TxPayout))
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
