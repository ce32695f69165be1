// Package auditor audits a running engine: it computes every account's sums anew from its records, compares them with the
// rows that the engine works with, and the settled movements with the scheme's book. The engine works on meanwhile.
package auditor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/audit"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/httpapi/admin"
	"pixd/httpapi/control"
	"pixd/wal"
)

// The stages of an audit.
const (
	StageBook      = "book"      // it waits for the scheme's book
	StageRecords   = "records"   // it reads the accounts' records
	StageComparing = "comparing" // it compares with the scheme's book, and reads both again while they differ
)

// Options are what an Auditor works with.
type Options struct {
	Book     func(context.Context) (scheme.Book, error) // reads the scheme's book of settled payments
	Look     func(wal.Stream, func(*wal.View) error) error
	Accounts func() []pix.AccountID    // that the engine has
	Damaged  func() []audit.Difference // accounts that are closed off, as differences
	Now      func() pix.Millis
	Ending   context.Context // ends a running audit
	Log      *slog.Logger
}

// Auditor lets one audit run at a time, whoever asked for it, and none once Close has begun. It knows
// how far that one is, and what came of the last.
type Auditor struct {
	Options
	Patience time.Duration // in place of patience and bookWithin, set by tests

	mu    sync.Mutex
	run   *admin.AuditRun // the audit that runs; nil: none
	last  *admin.AuditRun // the one that ended last since the start; nil: none
	ended bool
	work  sync.WaitGroup
}

var errNotReady = control.Refuse(fasthttp.StatusServiceUnavailable, "the engine is starting or ending")

// begin begins an audit. Whoever called it must call done once.
func (a *Auditor) begin() (admin.AuditRun, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.ended:
		return admin.AuditRun{}, errNotReady
	case a.run != nil:
		return admin.AuditRun{}, control.Refuse(fasthttp.StatusConflict, "an audit is under way")
	}
	a.run = &admin.AuditRun{StartedAt: a.Now(), Stage: StageBook}
	a.work.Add(1)
	return *a.run, nil
}

// stage says what the audit does from now on. An audit that was not begun here, as tests make them, has no stages.
func (a *Auditor) stage(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.run != nil {
		a.run.Stage = name
	}
}

// read says how many accounts and records the audit has read.
func (a *Auditor) read(p audit.Progress) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.run != nil {
		a.run.Accounts, a.run.OfAccounts, a.run.Records = p.Accounts, p.OfAccounts, p.Records
	}
}

// done ends the audit with its report or its error.
func (a *Auditor) done(r *audit.Report, err error) {
	defer a.work.Done()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last, a.run = a.run, nil
	a.last.FinishedAt = a.Now()
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

// Runs returns the audit that runs, and the one that ended last since the start; nil: there is none.
func (a *Auditor) Runs() (running, last *admin.AuditRun) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.run != nil {
		now := *a.run
		running = &now
	}
	return running, a.last // which is not changed any more
}

// Close waits for the running audit, which Ending ends, and refuses every later audit.
func (a *Auditor) Close() {
	a.mu.Lock()
	a.ended = true
	a.mu.Unlock()
	a.work.Wait()
}

// Answer answers GET /admin/audit with the report.
func (a *Auditor) Answer() (any, error) {
	if _, err := a.begin(); err != nil {
		return nil, err
	}
	r, err := a.carryOut()
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Begin answers POST /admin/audit: it does not wait for the report.
func (a *Auditor) Begin() (admin.AuditRun, error) {
	run, err := a.begin()
	if err != nil {
		return run, err
	}
	go func() {
		defer func() {
			if p := recover(); p != nil {
				a.Log.Error("audit: panic", "panic", p, "stack", string(debug.Stack()))
			}
		}()
		if _, err := a.carryOut(); err != nil && a.Ending.Err() == nil {
			a.Log.Error("no audit was made", "error", err)
		}
	}()
	return run, nil
}

// carryOut carries out the audit that was begun.
func (a *Auditor) carryOut() (report *audit.Report, err error) {
	defer func() { a.done(report, err) }()
	r, err := a.Make(a.Ending)
	if err != nil && a.Ending.Err() != nil {
		return nil, errNotReady
	}
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	r.AddDifferences(a.Damaged())
	return r.Finish(), nil
}
