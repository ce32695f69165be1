package account

import (
	"errors"
	"time"

	"pixd/actors/due"
	"pixd/actors/ledger"
	"pixd/actors/transfer"

	"github.com/asynkron/protoactor-go/actor"
)

// asker is who handed the account a command. It hears once what came of it.
type asker interface {
	// answered: everything that the answer tells is durable. The second says what came of
	// looking after a payout; nil where it does not matter, or a child goes on with it.
	answered(a *ledger.Answer, at *ledger.Attended)
	// failed: nothing of the command was carried out, or, with ErrCut, what becomes of
	// it is not known here.
	failed(err error)
	// keeps tells who brings what nobody else knows: it is kept, and tried again where a
	// request would fail.
	keeps() bool
}

// Tasks hears what came of due tasks.
type Tasks interface {
	// Done is called once for each task that an account was given.
	Done(t due.Task, r due.Result)
}

// taskOf is a due task that asks. Where the account starts a child for it, the child
// brings the task's end.
type taskOf struct {
	tasks Tasks
	task  due.Task
}

func (t *taskOf) answered(_ *ledger.Answer, at *ledger.Attended) { ended(t.tasks, &t.task, at) }
func (t *taskOf) failed(err error)                               { t.tasks.Done(t.task, due.Result{Err: err}) }
func (t *taskOf) keeps() bool                                    { return false }

// ended tells what came of a due task, where it has come to an end.
func ended(tasks Tasks, task *due.Task, at *ledger.Attended) {
	if task != nil && at != nil {
		tasks.Done(*task, due.Result{Again: at.Again, Unheard: at.Unheard, Open: at.Open, Queued: at.Queued, Skipped: at.Skipped})
	}
}

// Report is what a child brings back.
type Report struct {
	Account ledger.AccountID
	Outcome ledger.ResolvePayout
	Task    *due.Task     // that the child was started for; nil: none
	Again   time.Duration // how long it waits before it is brought again
}

// Children carry payouts.
type Children interface {
	// Begin has one carry a job: what it carries is durable.
	Begin(child *actor.PID, j *transfer.Job)
	// NotTaken says that an account could not take a report: it must be brought again,
	// because nobody else knows it.
	NotTaken(r *Report, err error)
}

// reportOf is a child's report that asks. The task hears of the first failure, and need
// not wait for the last try.
type reportOf struct {
	deps   *Dependencies
	report Report
}

func (r *reportOf) answered(_ *ledger.Answer, at *ledger.Attended) {
	ended(r.deps.Tasks, r.report.Task, at)
}

func (r *reportOf) failed(err error) {
	if t := r.report.Task; t != nil {
		r.report.Task = nil
		r.deps.Tasks.Done(*t, due.Result{Err: err})
	}
	r.deps.Children.NotTaken(&r.report, err)
}

func (r *reportOf) keeps() bool { return true }

// noticeOf is the scheme's word that asks: done hears that its effect is durable.
type noticeOf struct{ done func(error) }

func (n noticeOf) answered(a *ledger.Answer, _ *ledger.Attended) {
	if r := a.Refusal; r != nil && !r.AfterHold {
		n.done(errors.New(r.Message)) // word of money that cannot be booked yet: it must come again
		return
	}
	n.done(nil)
}

func (n noticeOf) failed(err error) { n.done(err) }
func (n noticeOf) keeps() bool      { return true }
