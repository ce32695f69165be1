package simulation

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"pixd/actors/account"
	"pixd/actors/account/accounttest"
	"pixd/actors/due"
	"pixd/actors/history"
	"pixd/actors/keyed"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/transfer"
	"pixd/wal"
	"pixd/wal/waltest"
)

// rows reads records and rows from the journal for accounts.
type rows struct{ *waltest.InMemory }

// Record implements account.Rows.
func (r rows) Record(a pix.AccountID, seq uint64) (*ledger.Record, error) {
	return history.Record(r.InMemory, a, seq)
}

// filled returns a new filter over the rows that are mostly absent. Sometimes it is filled only after the
// process has worked for a while.
func (l *life) filled() *keyed.Filter {
	l.filter = keyed.NewFilter(1 << 10)
	f := l.filter
	if !l.odds(3) {
		l.fill()
	}
	return f
}

// fill adds all those rows to the filter, unless the filter is already filled.
func (l *life) fill() {
	if l.filter == nil {
		return
	}
	if err := account.FillPresent(ctx, l.filter, l.journal.Scan); err != nil {
		l.fail("filter over rows: %v", err)
	}
	l.filter = nil
}

// child is a child actor that carries one payout to the scheme, one act at a time.
type child struct {
	account  pix.AccountID
	machine  *transfer.Machine
	act      transfer.Act
	deadline pix.Millis
	task     *due.Task    // the due task for which the child was started; nil: none
	heard    bool         // the scheme has answered the child's last question
	said     scheme.State // the payout's state at the scheme in that answer
	goal     ledger.Goal
	settings []ledger.Settings // the settings that the account had from the payout's newest record until the child began
	owner    string            // the document of the key's owner; empty: the key was not looked up
}

// Begin implements account.Children.
func (l *life) Begin(_ *actor.PID, job *transfer.Job) {
	j := *job
	m := transfer.New(j)
	l.say("child of %v %v begins, goal %d", j.Account, j.Tx.ID, j.Goal)
	l.count("goal: " + goals[j.Goal])
	if at := l.retried[j.Tx.ID]; j.Goal == ledger.GoalRetry && at.Clock >= j.Tx.Payout.QueueEnds && !at.Doubted && !j.Tx.Doubted {
		l.fail("%v is retried %d ms after its time in the queue", j.Tx.ID, at.Clock-j.Tx.Payout.QueueEnds)
	}
	first := j.Goal == ledger.GoalClear && j.Tx.SentAt() > l.terms.RestoredAt && (j.Tx.Payout.QueueEnds != 0 || j.Tx.Payout.Decision != 0) // it waited in the snapshot
	first = first || j.Tx.Payout.Released > l.terms.RestoredAt
	if j.Tx.ID.Time() <= l.terms.RestoredAt && j.Tx.Refund.Case == nil && !first && (j.Goal == ledger.GoalResume || j.Goal == ledger.GoalClear) {
		l.fail("%v is from before a restore: it may have failed since, and is to be sent again", j.Tx.ID)
	}
	l.children = append(l.children, &child{
		account: j.Account, machine: m, act: m.Begin(), deadline: l.clock + schemeTimeout, task: job.Task,
		settings: l.settingsOf(&j), goal: j.Goal, owner: j.Tx.Counterparty.Document,
	})
}

// settingsOf returns the settings that the account has had since the payout's newest record:
// the child's start was decided under one of these. It returns none for a child that only
// submits a payout whose key an earlier child has looked up.
func (l *life) settingsOf(j *transfer.Job) (s []ledger.Settings) {
	if j.Goal == ledger.GoalSend {
		return nil
	}
	newest := j.Tx.Record()
	for r := l.recordAfter(j, newest); j.Goal != ledger.GoalPay && r != nil; r = l.recordAfter(j, r.Seq) {
		if r.Settings != nil {
			s = append(s, *r.Settings)
		}
	}
	for seq := newest; seq > 0; seq-- {
		w, _, err := l.journal.Record(wal.Stream(j.Account), seq)
		if kind := ledger.RecordKind(w.Kind); err == nil && kind != ledger.AccountOpened && kind != ledger.SettingsChanged {
			continue // most records are decoded in vain
		}
		r, err := rows{l.journal}.Record(j.Account, seq)
		if err != nil {
			return nil // the record is damaged
		}
		if r.Settings != nil {
			return append(s, *r.Settings)
		}
	}
	return nil
}

// recordAfter returns the account's record after seq, or nil if there is none.
func (l *life) recordAfter(j *transfer.Job, seq uint64) *ledger.Record {
	r, err := rows{l.journal}.Record(j.Account, seq+1)
	if err != nil {
		return nil
	}
	return r
}

// kept reports whether all of c.settings refuse payouts to the owner of the PIX key.
func (c *child) kept() bool {
	return c.owner != "" && len(c.settings) > 0 && !slices.ContainsFunc(c.settings, func(s ledger.Settings) bool {
		return !s.RefusesPayoutTo(c.owner)
	})
}

var goals = [...]string{"pay", "resume", "retry", "send", "clear", "void", "find"}

// carryNewest lets the journal finish its work and takes the newest children some acts
// further, so that the payout of the newest request is submitted.
func (l *life) carryNewest() {
	l.settle()
	for n := 0; n < 8 && len(l.children) > 0; n++ {
		l.carry(len(l.children) - 1)
	}
	l.settle()
}

// carry performs one act of a child. After the child's last act it reports the outcome to the
// account.
func (l *life) carry(i int) {
	c := l.children[i]
	act := c.act
	if act == transfer.Submit && !l.flipped[c.account] && c.kept() {
		l.fail("%v is submitted, and the account's control keeps money from %s", c.machine.Outcome.ID, c.owner)
	}
	if refund := c.machine.Refund(); act == transfer.Submit && refund.Original != "" {
		l.submitsRefund(c, refund)
	} else if act == transfer.Submit {
		l.submits(c)
	}
	r := l.outside.act(c.machine, act, c.deadline)
	switch act {
	case transfer.Ask:
		c.heard, c.said = l.outside.heard && r.Refused == nil, r.State
	case transfer.Lookup:
		if !r.Failed && r.Refused == nil {
			c.owner = r.Owner.Document
		}
		l.outside.anotherMinute(c.machine.Payment())
	}
	c.act = c.machine.Step(r)
	l.say("%v: act %d: %+v, next %d", c.machine.Outcome.ID, act, r, c.act)
	if c.act != transfer.Report {
		return
	}
	l.children = append(l.children[:i], l.children[i+1:]...)
	l.report(c)
}

// submits checks that a submission agrees with the payout in the journal.
func (l *life) submits(c *child) {
	p := c.machine.Payment()
	if l.flipped[c.account] {
		return
	}
	t := l.standing(p.Tx, p.EndToEnd)
	if t == nil || t.Amount != p.Amount || t.EndToEnd != p.EndToEnd || t.Payout.Key.Value != p.Key.Value || t.Payout.Key.Type != p.Key.Type ||
		t.Payout.RecipientISPB != p.RecipientISPB || t.Description != p.Description || p.Account != c.account {
		l.fail("%+v is submitted, and the journal has %+v", p, t)
	} else if s := t.Status; s == pix.StatusQueued || s == pix.StatusPending || s == pix.StatusRefused {
		l.fail("%v is submitted, and in the journal it is %v", p.Tx, s)
	}
}

func (l *life) report(c *child) {
	out := c.machine.Outcome
	l.say("%v reports %d (doubt %v, refusal %v)", out.ID, out.Result, out.Doubt, out.Refusal)
	if out.Result == ledger.TransferIsSending && !l.flipped[c.account] && c.kept() {
		l.fail("%v leaves the queue, and the account's control keeps money from %s", out.ID, c.owner)
	}
	if out.Result == ledger.TransferIsVoided && !c.heard {
		l.fail("%v is voided, and the scheme was not heard", out.ID)
	}
	if out.Result == ledger.TransferIsVoided && (c.said.Progress == scheme.Settled || c.said.Progress == scheme.Rejected || c.goal == ledger.GoalFind && c.said.Progress != scheme.Unknown) {
		l.fail("%v is voided, and the scheme has said what became of it", out.ID)
	}
	l.account(c.account).Report(account.Report{Account: c.account, Outcome: out, Task: c.task})
}

// NotTaken implements account.Children: the report is sent again, after the letters that
// already wait.
func (l *life) NotTaken(r *account.Report, err error) {
	l.say("outcome of %v not taken: %v", r.Outcome.ID, err)
	again := *r
	l.mail = append(l.mail, letter{r.Account, func(a *accounttest.Driver) {
		if a.Broken() == nil {
			a.Report(again)
		}
	}})
}

// take passes a notice to the account that it concerns, as the engine does.
func (l *life) take(d delivery) {
	l.stated()
	l.say("notice %d of %v %s", d.notice.Kind, d.notice.Tx, d.notice.EndToEnd)
	if l.feed == nil {
		l.feed = l.newFeed()
	}
	reported := new(bool)
	l.unheard = append(l.unheard, func() {
		if !*reported {
			d.done(errLost)
		}
	})
	l.feed.Take(d.notice, func(err error) {
		*reported = true
		if err != nil {
			l.say("notice of %v not taken: %v", d.notice.Tx, err)
		}
		d.done(err)
	})
}

// newFeed returns the feed of a new process.
func (l *life) newFeed() *account.Feed {
	return &account.Feed{
		Rows: l.journal, Recent: l.deps.Config.Recent,
		Key: l.registry.KeyOwner, Moved: l.registry.Moved, Refused: l.refusals.Has, Refuse: l.refusals.Refuse,
		Notice: func(id pix.AccountID, c ledger.Command, done func(error)) { l.account(id).Notice(c, done) },
	}
}

// Handle implements slog.Handler: it adds what the engine logs to the run's log.
func (h *listener) Handle(_ context.Context, r slog.Record) error {
	said := map[string]string{}
	r.Attrs(func(a slog.Attr) bool { said[a.Key] = a.Value.String(); return true })
	stack := said["stack"]
	delete(said, "stack") // no two stacks are the same
	h.l.say("log %s %v", r.Message, said)
	if r.Message == "account: panic" && said["panic"] != "{}" {
		h.l.fail("panic: %s\n%s", said["panic"], stack)
	}
	return nil
}

// Enabled implements slog.Handler.
func (h *listener) Enabled(context.Context, slog.Level) bool { return true }

var errDisk = errors.New("no space left on device")
