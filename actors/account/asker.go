package account

import (
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"pixd/actors/due"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/transfer"
)

// asker is the party that handed the account a command. It gets the command's result once.
type asker interface {
	// answered is called once everything that the answer says is durable. at is the result
	// of a due task (see ledger.Attend). It is nil for every other command, and where a
	// child actor was started and will report the task's result.
	answered(a *ledger.Answer, at *ledger.Attended)
	// failed is called with ErrCut where it is not known whether the command will be
	// carried out, and with any other error where nothing of the command was carried out.
	failed(err error)
	// keeps is true for an asker whose command holds a fact that nobody else knows (a child
	// actor's report, a scheme's notice). When the account panics on the command of such an
	// asker, it tries the command again; it fails the command of any other asker.
	keeps() bool
}

// Tasks receives the results of due tasks.
type Tasks interface {
	// Done is called once for each due task that an account was given.
	Done(t due.Task, r due.Result)
}

// taskOf is the asker of a due task. Where the account starts a child actor for the task,
// the child actor's report ends the task.
type taskOf struct {
	tasks Tasks
	task  due.Task
}

func (t *taskOf) answered(_ *ledger.Answer, at *ledger.Attended) { ended(t.tasks, &t.task, at) }
func (t *taskOf) failed(err error)                               { t.tasks.Done(t.task, due.Result{Err: err}) }
func (t *taskOf) keeps() bool                                    { return false }

// ended reports the result of a due task. It does nothing where there is no task, or where
// at is nil because a child actor was started and will report the task's result.
func ended(tasks Tasks, task *due.Task, at *ledger.Attended) {
	if task != nil && at != nil {
		tasks.Done(*task, due.Result{Again: at.Again, Unheard: at.Unheard, Open: at.Open, Rarely: at.Rarely, Queued: at.Queued, Skipped: at.Skipped, Public: at.Public})
	}
}

// Report is what a child actor reports to its account about one payout or refund.
type Report struct {
	Account pix.AccountID
	Outcome ledger.ResolveTransfer
	Task    *due.Task     // the due task that the child actor was started for; nil: it was started for a request
	Again   time.Duration // how long to wait before this report is sent again, after the account could not take it
}

// Children starts child actors and takes back reports that an account could not take.
type Children interface {
	// Begin starts the child actor's work on its job. The payout or refund that the job names is
	// durable by then.
	Begin(child *actor.PID, j *transfer.Job)
	// NotTaken says that an account could not take a report. The report must be sent again,
	// because nobody else knows the outcome.
	NotTaken(r *Report, err error)
}

// reportOf is the asker of a child actor's report. If the report fails, the due task that
// it belongs to gets the first failure as its result; the task does not wait until a later
// try of the report succeeds.
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

// noticeOf is the asker of a scheme's notice. done is called with nil once the notice's
// effect is durable, or with the error that prevented the effect.
type noticeOf struct{ done func(error) }

func (n noticeOf) answered(a *ledger.Answer, _ *ledger.Attended) {
	if r := a.Refusal; r != nil && !r.AfterHold {
		n.done(errors.New(r.Message)) // the notice is about money that cannot be booked yet: the scheme must send the notice again
		return
	}
	n.done(nil)
}

// toldOf is the asker of what an engine that was restored is told. done is called once its effect is
// durable, and with whether there was any; or with the error that prevented it.
type toldOf struct{ done func(changed bool, err error) }

func (t toldOf) answered(a *ledger.Answer, _ *ledger.Attended) {
	noticeOf{func(err error) { t.done(err == nil && !a.Repeat, err) }}.answered(a, nil)
}

func (t toldOf) failed(err error) { t.done(false, err) }
func (t toldOf) keeps() bool      { return true }

func (n noticeOf) failed(err error) { n.done(err) }
func (n noticeOf) keeps() bool      { return true }
