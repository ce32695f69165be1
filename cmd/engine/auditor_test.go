package engine

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/audit"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/cmd/auditor"
	"pixd/cmd/metrics"
	"pixd/wal"
)

// auditRun is an audit in an answer of the operator API.
type auditRun struct {
	StartedAt  string `json:"started_at"`
	Stage      *string
	Accounts   int     `json:"accounts_done"`
	OfAccounts int     `json:"accounts_total"`
	Records    uint64  `json:"records_done"`
	FinishedAt *string `json:"finished_at"`
	Agrees     *bool
	Report     *audit.Report
	Error      *string
}

func (w *harness) auditRuns() (running, last *auditRun) {
	w.t.Helper()
	var is struct{ Running, Last *auditRun }
	if status, got := w.operate("GET", "/admin/audit/run", ""); status != 200 || json.Unmarshal([]byte(got), &is) != nil {
		w.t.Fatalf("%d %s", status, got)
	}
	return is.Running, is.Last
}

// ended waits until an audit that was begun in the background is over.
func (w *harness) ended() *auditRun {
	w.t.Helper()
	w.becomes("over", soon, func() bool { running, last := w.auditRuns(); return running == nil && last != nil })
	_, last := w.auditRuns()
	return last
}

// TestAuditInBackground checks that an audit in the background tells how far it is and then what it found,
// that none is made beside it, and that one for which a client waits is told of as well.
func TestAuditInBackground(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem())
	w.pays()
	if running, last := w.auditRuns(); running != nil || last != nil {
		t.Errorf("at the start: %+v, %+v", running, last)
	}
	reading, release := make(chan bool), make(chan scheme.Book)
	w.Engine.scheme = metrics.NewSchemeCalls(&keptBook{read: func() scheme.Book { reading <- true; return <-release }})
	status, got := w.operate("POST", "/admin/audit", "")
	if status != 202 || !strings.Contains(got, `"stage":"book"`) {
		t.Fatalf("%d %s", status, got)
	}
	<-reading
	for _, method := range []string{"GET", "POST"} {
		if status, got := w.operate(method, "/admin/audit", ""); status != 409 {
			t.Errorf("%s: %d %s", method, status, got)
		}
	}
	if running, last := w.auditRuns(); last != nil || *running.Stage != auditor.StageBook || running.OfAccounts != 0 || running.FinishedAt != nil || running.Agrees != nil {
		t.Errorf("%+v, %+v", running, last)
	}
	release <- w.booked(500, 70)
	<-reading // once more, now that the records are held still
	if running, _ := w.auditRuns(); *running.Stage != auditor.StageBook || running.Accounts != 0 {
		t.Errorf("%+v", running)
	}
	release <- w.booked(400, 70) // which differs
	<-reading
	if running, _ := w.auditRuns(); *running.Stage != auditor.StageComparing || running.Accounts != 1 || running.OfAccounts != 1 || running.Records == 0 {
		t.Errorf("%+v", running)
	}
	release <- w.booked(500, 70)
	<-reading
	release <- w.booked(500, 70)
	last := w.ended()
	if last.Stage != nil || last.FinishedAt == nil || !*last.Agrees || last.Report.Book != audit.Compared || last.Report.Records != last.Records || last.Accounts != 1 || last.Error != nil {
		t.Errorf("%+v", last)
	}
	w.Engine.scheme = metrics.NewSchemeCalls(&keptBook{read: func() scheme.Book { return w.booked(600, 70) }})
	report := w.audits()
	if _, last = w.auditRuns(); *last.Agrees || len(last.Report.Differences) != 1 || last.Report.At != report.At {
		t.Errorf("for which a client waited: %+v", last)
	}
	w.Engine.scheme = metrics.NewSchemeCalls(scheme.Unassigned{})
	w.operate("POST", "/admin/audit", "")
	w.becomes("failed", soon, func() bool {
		running, last := w.auditRuns()
		return running == nil && last.Error != nil && strings.HasPrefix(*last.Error, "the scheme's book cannot be read") && last.Agrees == nil && last.Report == nil
	})
}

// TestAuditEnds checks that a panic in an audit in the background ends it alone, and that it ends with the
// engine.
func TestAuditEnds(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem())
	w.Engine.scheme = metrics.NewSchemeCalls(&keptBook{read: func() scheme.Book { panic("for the test") }})
	if status, got := w.operate("POST", "/admin/audit", ""); status != 202 {
		t.Fatalf("%d %s", status, got)
	}
	if last := w.ended(); last.Error == nil || *last.Error != "internal error" {
		t.Errorf("%+v", last)
	}
	w.Engine.scheme = metrics.NewSchemeCalls(silentBook{})
	if status, got := w.operate("POST", "/admin/audit", ""); status != 202 {
		t.Fatalf("%d %s", status, got)
	}
	began := time.Now()
	w.Engine.cancel()
	w.auditor.Close()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it ended after %v", took)
	}
	if running, last := w.auditor.Runs(); running != nil || last.Err == "" {
		t.Errorf("%+v, %+v", running, last)
	}
	if status, got := w.operate("POST", "/admin/audit", ""); status != 503 {
		t.Errorf("after the end: %d %s", status, got)
	}
}

// TestAuditTells checks that an audit tells of every account, and of 1,024 records at a time of a long one.
func TestAuditTells(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem())
	id, _ := pix.ParseAccountID(w.ID)
	for range 1100 {
		if _, err := w.Accounts.Do(id, ledger.Credit{Kind: pix.TxTED, Amount: 1}); err != nil {
			t.Fatal(err)
		}
	}
	var all []audit.Progress
	b, r := &audit.Books{Tell: func(p audit.Progress) { all = append(all, p) }}, audit.NewReport(now())
	ids, _ := w.Registry.Accounts(0, math.MaxInt)
	err := w.Store.Look(0, func(v *wal.View) error { return b.Derive(t.Context(), v, ids, r) })
	if want := []audit.Progress{{OfAccounts: 1}, {OfAccounts: 1, Records: 1024}, {Accounts: 1, OfAccounts: 1, Records: r.Records}}; err != nil || len(all) != 3 ||
		all[0] != want[0] || all[1] != want[1] || all[2] != want[2] || r.Records <= 1100 {
		t.Errorf("%+v, want %+v (%v)", all, want, err)
	}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	b.Tell = func(p audit.Progress) {
		if p.Accounts == 1 {
			end() // whoever waits for the engine's end does not wait for the other accounts
		}
	}
	if err := w.Store.Look(0, func(v *wal.View) error { return b.Derive(ctx, v, append(ids, 99), r) }); !errors.Is(err, context.Canceled) {
		t.Errorf("an audit that is ended among short accounts: %v", err)
	}
	if err := w.Store.Look(0, func(v *wal.View) error { _, err := audit.CountWaiting(ctx, v); return err }); !errors.Is(err, context.Canceled) {
		t.Errorf("one that is ended before them: %v", err)
	}
}
