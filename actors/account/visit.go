package account

import (
	"fmt"

	"pixd/actors/ledger"
	"pixd/actors/payout"
	"pixd/wal"
)

// Visit is a look at a payout that waits for something.
type Visit struct {
	ID  ledger.TxID
	Seq uint64 // of a record about it; 0: of one that is shown
	Now ledger.Reading
	// Retry: capacity may be back for a queued one. Else its due time has come.
	Retry    bool
	Inactive bool // the account is
	Durable  wal.Ticket
	Chance   [10]byte
}

// Visited is what came of a visit, once that is durable.
type Visited struct {
	Again   ledger.Millis // come again then; 0: no more is to be done
	Unheard bool          // the scheme could not be asked
	Open    bool          // it was heard, and its answer settles nothing
	Queued  bool          // it waits for directory capacity, still or again
	Skipped bool          // nothing was asked
	Err     error         // it could not be looked at
}

// busy is when to come again to a payout whose child is on its way.
const busy = ledger.Millis(1000)

// Visit starts what a waiting payout needs: a child, or the end of its waiting.
// The second result says when to come again where nothing is to be done now.
func (m *Machine) Visit(rows Rows, v Visit) (Effects, Visited, error) {
	m.overlay.forget(v.Durable)
	f := m.facts(rows)
	now := v.Now.Clock
	t, err := m.visited(f, v)
	if err != nil {
		return Effects{}, Visited{}, fmt.Errorf("account %v: visit %v: %w", m.head.ID, v.ID, err)
	}
	var e Effects
	switch {
	case m.work[t.ID] != nil:
		return e, Visited{Again: now + busy, Queued: t.Status == ledger.StatusQueued, Skipped: true}, nil
	case v.Retry:
		if t.Status != ledger.StatusQueued || v.Inactive || now >= t.DueAt && !v.Now.Doubted {
			return e, Visited{Queued: t.Status == ledger.StatusQueued, Skipped: true}, nil
		}
		m.start(&e, t, payout.Retry)
		return e, Visited{}, nil
	}
	switch t.Status {
	case ledger.StatusHeld, ledger.StatusSending:
		m.start(&e, t, payout.Resume)
	case ledger.StatusAccepted:
		switch orphan := t.OrphanAt(v.Now, &m.config.Terms); {
		case now >= orphan:
			m.start(&e, t, payout.Void)
		case t.Doubt:
			m.start(&e, t, payout.Clear)
		default:
			return e, Visited{Again: orphan}, nil
		}
	case ledger.StatusQueued, ledger.StatusPending:
		if now < t.DueAt {
			return e, Visited{Again: t.DueAt}, nil
		}
		e, err = m.Step(rows, Call{Command: ledger.ExpirePayout{ID: t.ID}, Now: v.Now, Chance: v.Chance, Durable: v.Durable})
		return e, Visited{}, err
	}
	return e, Visited{}, nil
}

// visited is the payout as it stands: from what is in flight, else from the
// record that the row names.
func (m *Machine) visited(f facts, v Visit) (*ledger.Transaction, error) {
	t, err := m.payout(f, v.ID, "")
	if err != nil || t != nil {
		return t, err
	}
	if v.Seq == 0 {
		return nil, errUnknownPayout
	}
	return f.state(v.ID, v.Seq)
}

// visited is how a visit ended that a command has just ended.
func (e *Effects) visited() Visited {
	v := Visited{Unheard: e.unheard, Open: e.open}
	if a := e.Answer; a != nil && a.Tx != nil {
		v.Queued = a.Tx.Status == ledger.StatusQueued
	}
	return v
}

// ended tells who visited.
type ended struct {
	then    func(Visited)
	came    Visited
	outcome bool // a child's outcome ended the visit: who brings it hears of an error, and tells
}

// Release implements wal.Out.
func (o *ended) Release(err error) {
	if err != nil && o.outcome {
		return
	}
	o.came.Err = err
	o.then(o.came)
}

// AlertWritten is the field of an alert's log line that says that the alert's row was
// written with the decision that raised it.
const AlertWritten = "alert_written"

// alarm logs alerts once they are durable, with what they are about.
type alarm struct {
	shell  *shell
	alerts []ledger.Alert
}

// Release implements wal.Out.
func (o *alarm) Release(err error) {
	if err != nil {
		return
	}
	for _, a := range o.alerts {
		o.shell.Log.Warn(a.Message, "alert", a.Kind, "account", o.shell.id.String(), "transaction", a.Public,
			AlertWritten, o.shell.Config.Alert != nil)
	}
}
