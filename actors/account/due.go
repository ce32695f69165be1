package account

import (
	"pixd/actors/due"
	"pixd/actors/ledger"
)

// Due starts what a waiting payout needs: a child, or the end of its waiting. The
// call's command is the task's.
func (m *Machine) Due(rows Rows, t due.Task, c Call) (Effects, error) {
	c.Command = ledger.Attend{Kind: t.Kind(), ID: t.ID, Seq: t.Seq, Retry: t.Retry}
	return m.Step(rows, c)
}

// result is what a due task came to where no child was started for it.
func (e *Effects) result() due.Result {
	a := e.Attended
	if a == nil {
		return due.Result{}
	}
	return due.Result{Again: a.Again, Unheard: a.Unheard, Open: a.Open, Queued: a.Queued, Skipped: a.Skipped}
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
