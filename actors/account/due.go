package account

import (
	"fmt"

	"pixd/actors/due"
	"pixd/actors/ledger"
	"pixd/actors/payout"
)

// busy is when the task of a payout starts again whose child is on its way.
const busy = ledger.Millis(1000)

// Due starts what a waiting payout needs: a child, or the end of its waiting. The
// result says when the task is to start again where nothing is to be done now. The
// call's command is not looked at.
func (m *Machine) Due(rows Rows, task due.Task, c Call) (Effects, due.Result, error) {
	m.overlay.forget(c.Durable)
	f := m.facts(rows)
	now := c.Now.Clock
	t, err := m.waiting(f, task)
	if err != nil {
		return Effects{}, due.Result{}, fmt.Errorf("account %v: due task of %v: %w", m.head.ID, task.ID, err)
	}
	var e Effects
	switch {
	case m.work[t.ID] != nil:
		return e, due.Result{Again: now + busy, Queued: t.Status == ledger.StatusQueued, Skipped: true}, nil
	case task.Retry:
		if t.Status != ledger.StatusQueued || c.Inactive || now >= t.DueAt && !c.Now.Doubted {
			return e, due.Result{Queued: t.Status == ledger.StatusQueued, Skipped: true}, nil
		}
		m.start(&e, t, payout.Retry)
		return e, due.Result{}, nil
	}
	switch t.Status {
	case ledger.StatusHeld, ledger.StatusSending:
		m.start(&e, t, payout.Resume)
	case ledger.StatusAccepted:
		switch orphan := t.OrphanAt(c.Now, &m.config.Terms); {
		case now >= orphan:
			m.start(&e, t, payout.Void)
		case t.Doubt:
			m.start(&e, t, payout.Clear)
		default:
			return e, due.Result{Again: orphan}, nil
		}
	case ledger.StatusQueued, ledger.StatusPending:
		if now < t.DueAt {
			return e, due.Result{Again: t.DueAt}, nil
		}
		c.Command = ledger.ExpirePayout{ID: t.ID}
		e, err = m.Step(rows, c)
		return e, due.Result{}, err
	}
	return e, due.Result{}, nil
}

// waiting is the payout as it stands: from what is in flight, else from the
// record that the row names.
func (m *Machine) waiting(f facts, task due.Task) (*ledger.Transaction, error) {
	t, err := m.payout(f, task.ID, "")
	if err != nil || t != nil {
		return t, err
	}
	if task.Seq == 0 {
		return nil, errUnknownPayout
	}
	return f.state(task.ID, task.Seq)
}

// result is what a due task came to that a command has just ended.
func (e *Effects) result() due.Result {
	r := due.Result{Unheard: e.unheard, Open: e.open}
	if a := e.Answer; a != nil && a.Tx != nil {
		r.Queued = a.Tx.Status == ledger.StatusQueued
	}
	return r
}

// ended tells who started a due task what came of it.
type ended struct {
	then    func(due.Result)
	result  due.Result
	outcome bool // a child's outcome ended the task: who brings it hears of an error, and tells
}

// Release implements wal.Out.
func (o *ended) Release(err error) {
	if err != nil && o.outcome {
		return
	}
	o.result.Err = err
	o.then(o.result)
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
