package account

import (
	"errors"
	"maps"
	"time"

	"pixd/actors/ledger"
	"pixd/wal"
)

// load makes the machine from the journal, and opens an account that was only
// claimed so far.
func (s *shell) load() {
	err, panicked := s.contain(func() error {
		m, err := Restore(s.Config, s.id, s.Tail)
		if err != nil {
			return err
		}
		s.machine = m
		if m.Opened() {
			return nil
		}
		return s.open()
	})
	if err != nil {
		s.quarantine(err)
	} else if panicked {
		s.quarantine(errors.New("restore panicked"))
	}
}

func (s *shell) open() error {
	settings, ok := s.Opening(s.id)
	if !ok {
		return ledger.ErrUnknown
	}
	e, err := s.machine.Step(s.Rows, Call{
		Command: ledger.OpenAccount{Settings: settings}, Now: s.Now(), Durable: s.Journal.Durable(),
	})
	if err != nil {
		return err
	}
	s.machine.Submitted(s.Journal.Append(&e.Entry))
	return nil
}

// rebuild throws the machine away and makes it again from the journal, once
// what it has queued is durable. Its payouts' children go on: the new machine
// knows of them, or a repeat would start a second one. A third panic within a
// minute quarantines the account.
func (s *shell) rebuild() {
	now := s.Now().Clock.Time()
	recent := s.panics[:0]
	for _, t := range s.panics {
		if now.Sub(t) < time.Minute {
			recent = append(recent, t)
		}
	}
	s.panics = append(recent, now)
	if len(s.panics) >= 3 {
		s.quarantine(errors.New("third panic within a minute"))
		return
	}
	s.remake()
}

// remake makes the machine again from the journal, once what it has queued is
// durable or refused.
func (s *shell) remake() {
	if err := s.Write(&wal.Entry{Stream: wal.Stream(s.id)}); err != nil {
		s.quarantine(err)
		return
	}
	s.Config.Recent.forget(s.id)
	if s.load(); s.broken == nil && len(s.running) > 0 {
		s.machine.work = maps.Clone(s.running)
	}
}

// quarantine closes the account off. Who waits for an outcome is cut: any
// status would be read as one.
func (s *shell) quarantine(why error) {
	s.broken = why
	s.Log.Error("account: quarantined", "alert", "quarantine", "account", s.id.String(), "error", why)
	s.cut(why)
}

// cut gives up everyone who waits for an outcome.
func (s *shell) cut(why error) {
	for id, waiters := range s.waiting {
		(&outcomes{to: waiters}).Release(why)
		delete(s.waiting, id)
	}
}

// putAway leaves the head row behind, where nothing moves.
func (s *shell) putAway() bool {
	if s.broken != nil || len(s.waiting) > 0 || !s.machine.Resting(s.Journal.Durable()) {
		return false
	}
	e := s.machine.PutAway()
	if s.Write(&e) != nil {
		return false
	}
	s.broken = errPutAway
	return true
}
