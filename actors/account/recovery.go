package account

import (
	"errors"
	"fmt"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// load restores the machine from the journal. If a read fails, the account has no machine
// afterwards; the next command, or the next search for idle accounts, calls load again.
func (s *Shell) load() {
	s.machine, s.unread = nil, nil
	err, panicked := s.contain(s.restore)
	switch {
	case panicked:
		s.quarantine(errors.New("restore panicked"))
	case wal.IsUnread(err):
		s.machine, s.unread = nil, err
		s.tellUnread("account: not read; tried again when it is needed", err)
	case err != nil:
		s.quarantine(err)
	}
}

// unreadQuiet is the time between two alerts of an account about reads that fail, in ms.
const unreadQuiet = 60 * 60 * 1000

// tellUnread logs that a read has failed. It raises an alert, but not again within the hour.
func (s *Shell) tellUnread(what string, err error) {
	s.Log.Error(what, "account", s.id.String(), "error", err)
	now := s.Now().Clock
	if s.Config.Alerts == nil || s.toldUnread != 0 && now-s.toldUnread < unreadQuiet {
		return
	}
	s.toldUnread = now
	s.Config.Alerts.Raise(s.id, ledger.Alert{Kind: AlertDamage, Message: what + ": " + err.Error()})
}

// restore makes the machine. An account of the registry that has no record yet is opened.
func (s *Shell) restore() error {
	m, err := Restore(s.Config, s.id, s.Tail)
	if err != nil {
		return err
	}
	s.machine = m
	if !m.Opened() {
		return s.openAccount()
	}
	return s.reviveWork()
}

func (s *Shell) openAccount() error {
	settings, ok := s.Opening(s.id)
	if !ok {
		return ledger.ErrUnknown
	}
	entry, _, err := s.machine.Step(s.Rows, Call{
		Command: ledger.OpenAccount{Settings: settings}, Now: s.Now(), Durable: s.Journal.Durable(),
	})
	if err != nil {
		return err
	}
	s.submit(&entry, undo{})
	return nil
}

// rebuild throws the machine away after a panic and restores it from the journal, once
// every entry that the account has queued is durable or refused. The child actors of its
// payouts and refunds go on working, and the new machine is given these: otherwise a repeated
// request would start a second child actor. A third panic within a minute quarantines the
// account.
func (s *Shell) rebuild() {
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

// remake restores the machine from the journal. It first waits until every entry that the
// account has queued is durable or refused, so that all refused entries are known.
func (s *Shell) remake() {
	if err := s.Write(&wal.Entry{Stream: wal.Stream(s.id)}); err != nil {
		s.quarantine(err)
		return
	}
	for u := s.undone.Swap(nil); u != nil; u = u.next {
		s.unwritten(u)
	}
	s.Config.Recent.forget(s.id)
	s.load()
}

// reviveWork gives the new machine the payouts and refunds that child actors carry, in their newest
// state: a notice may have changed one since its child actor began.
func (s *Shell) reviveWork() error {
	if len(s.running) == 0 {
		return nil
	}
	r := &reader{s.machine, s.Rows}
	s.machine.work = map[pix.TxID]*ledger.Transaction{}
	for id, c := range s.running {
		t, err := ledger.State(r, &s.machine.head, id, c.tx.Record())
		if err != nil {
			return fmt.Errorf("account %v: transaction %v, whose child runs: %w", s.id, id, err)
		}
		if !t.Ended() {
			s.machine.work[id] = t
		}
	}
	return nil
}

// The kinds of alerts about accounts that cannot work.
const (
	AlertQuarantine = "quarantine" // the account was quarantined
	AlertDamage     = "damage"     // a read failed: the account, or a row or record of it, is read again when it is needed
)

// quarantine stops the account: it refuses every later command. The connections of requests
// that wait for a payout's or refund's outcome are cut, because the client would read any status as an
// outcome.
func (s *Shell) quarantine(why error) {
	s.broken = why
	s.Log.Error("account: quarantined", "account", s.id.String(), "error", why)
	if s.Config.Alerts != nil {
		s.Config.Alerts.Raise(s.id, ledger.Alert{Kind: AlertQuarantine, Message: "account: quarantined: " + why.Error()})
	}
	s.cut(why)
}

// closeOff quarantines the account after a panic that nothing else has contained, and answers the message in
// which it came. What has become of a command is not known.
func (s *Shell) closeOff(message any) {
	_, _ = s.contain(func() error { s.quarantine(errors.New("panic outside of a command")); return nil })
	switch m := message.(type) {
	case *call:
		m.from.failed(ledger.ErrCut)
	case *passivate:
		m.done <- false
	case *closing:
		close(m.done)
	}
}

// cut answers ErrCut to every request that waits for a payout's or refund's outcome.
func (s *Shell) cut(why error) {
	for id, waiters := range s.waiting {
		(&outcomes{to: waiters}).Release(why)
		delete(s.waiting, id)
	}
}

// passivate writes the head row of an idle account, which then takes no more commands. It
// returns false where the account is not idle or an entry was refused.
func (s *Shell) passivate() bool {
	if s.machine == nil && s.broken == nil {
		s.load()
	}
	if s.broken != nil || s.machine == nil || len(s.waiting) > 0 || !s.machine.Resting(s.Journal.Durable()) {
		return false
	}
	// The journal counts a refused entry as durable before it reports the refusal. If the
	// account relied on such an entry, the head row would include a record that was never
	// written. The empty entry written here shows whether an earlier one was refused.
	if s.Write(&wal.Entry{Stream: wal.Stream(s.id)}) != nil || s.undone.Load() != nil {
		return false
	}
	e := s.machine.Passivate()
	if s.Write(&e) != nil {
		return false
	}
	s.broken = errPassivated
	return true
}
