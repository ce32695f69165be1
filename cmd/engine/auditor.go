package engine

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/audit"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/httpapi/admin"
	"pixd/httpapi/control"
)

// The stages of an audit.
const (
	stageBook      = "book"      // it waits for the scheme's book
	stageRecords   = "records"   // it reads the accounts' records
	stageComparing = "comparing" // it compares with the scheme's book, and reads both again while they differ
)

// auditor lets one audit run at a time, whoever asked for it, and none once Close has begun. It knows
// how far that one is, and what came of the last.
type auditor struct {
	mu    sync.Mutex
	run   *admin.AuditRun // the audit that runs; nil: none
	last  *admin.AuditRun // the one that ended last since the start; nil: none
	ended bool
	work  sync.WaitGroup

	patience time.Duration // longest time of an audit, set by tests; 0: auditPatience
}

func (a *auditor) patient() time.Duration {
	if a.patience != 0 {
		return a.patience
	}
	return auditPatience
}

// begin begins an audit at an instant. Whoever called it must call done once.
func (a *auditor) begin(at pix.Millis) (admin.AuditRun, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.ended:
		return admin.AuditRun{}, errNotReady
	case a.run != nil:
		return admin.AuditRun{}, control.Refuse(fasthttp.StatusConflict, "an audit is under way")
	}
	a.run = &admin.AuditRun{StartedAt: at, Stage: stageBook}
	a.work.Add(1)
	return *a.run, nil
}

// stage says what the audit does from now on. An audit that was not begun here, as tests make them, has no stages.
func (a *auditor) stage(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.run != nil {
		a.run.Stage = name
	}
}

// read says how many accounts and records the audit has read.
func (a *auditor) read(p audit.Progress) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.run != nil {
		a.run.Accounts, a.run.OfAccounts, a.run.Records = p.Accounts, p.OfAccounts, p.Records
	}
}

// done ends the audit with its report or its error.
func (a *auditor) done(at pix.Millis, r *audit.Report, err error) {
	defer a.work.Done()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last, a.run = a.run, nil
	a.last.FinishedAt = at
	if r == nil {
		a.last.Err = whyNot(err)
		return
	}
	a.last.Report, a.last.Agrees = r, len(r.Differences) == 0
}

// whyNot says to operators why an audit ended without a report. Nil: it panicked.
func whyNot(err error) string {
	if err == nil {
		return "internal error"
	}
	if problem := (*control.Problem)(nil); errors.As(err, &problem) {
		return problem.Message
	}
	return err.Error()
}

// runs returns the audit that runs, and the one that ended last since the start; nil: there is none.
func (a *auditor) runs() (running, last *admin.AuditRun) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.run != nil {
		now := *a.run
		running = &now
	}
	return running, a.last // which is not changed any more
}

// stopAudits waits for the running audit, whose context the engine's end cancels, and refuses every
// later audit.
func (a *auditor) stopAudits() {
	a.mu.Lock()
	a.ended = true
	a.mu.Unlock()
	a.work.Wait()
}

// audit answers GET /admin/audit: it audits the running engine.
func (s *Served) audit() (any, error) {
	if _, err := s.auditor.begin(s.Clock.Now()); err != nil {
		return nil, err
	}
	r, err := s.carryOutAudit()
	if err != nil {
		return nil, err
	}
	return r, nil
}

// beginAudit answers POST /admin/audit: it audits the running engine and does not wait for the report.
func (s *Served) beginAudit() (admin.AuditRun, error) {
	run, err := s.auditor.begin(s.Clock.Now())
	if err != nil {
		return run, err
	}
	go func() {
		defer func() {
			if p := recover(); p != nil {
				s.Config.Log.Error("audit: panic", "panic", p, "stack", string(debug.Stack()))
			}
		}()
		_, err := s.carryOutAudit()
		s.logError("no audit was made", err)
	}()
	return run, nil
}

// carryOutAudit carries out the audit that was begun.
func (s *Served) carryOutAudit() (report *audit.Report, err error) {
	defer func() { s.auditor.done(s.Clock.Now(), report, err) }()
	r, err := s.Engine.audit(s.ending)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	for _, id := range s.Config.alerts.Quarantined() {
		if _, err := s.Accounts.Do(id, ledger.ReadAccount{}); errors.Is(err, ledger.ErrQuarantined) {
			r.AddDifferences([]audit.Difference{{Account: id, Kind: audit.KindQuarantine, Message: err.Error()}})
		}
	}
	return r.Finish(), nil
}
