package admin

import (
	"errors"
	"strings"
	"testing"

	"pixd/httpapi/control"
)

// TestAudit checks that the report of an audit is sent unchanged, and that a failed audit is
// answered with the audit's error.
func TestAudit(t *testing.T) {
	f := newFixture(t)
	var report any
	var failed error
	f.options.Audit = func() (any, error) { return report, failed }
	f.handler = New(f.options)
	report = auditReport()
	f.expect("GET", "/admin/audit", "", 200, string(control.Encode(report)))
	failed = control.Refuse(409, "an audit is under way")
	f.expect("GET", "/admin/audit", "", 409, problem(409, "an audit is under way"))
	failed = errors.New("rows are gone")
	f.expect("GET", "/admin/audit", "", 500, problem(500, "internal error"))
	failed = control.Refuse(503, "the scheme's book cannot be read")
	f.expect("GET", "/admin/audit", "", 503, problem(503, "the scheme's book cannot be read"))
	f.expect("PUT", "/admin/audit", "", 405, problem(405, "this path does not take this method"))
}

// TestAuditRuns checks how an audit in the background is begun, that its beginning is on record, and what
// is said while it runs and once it has ended.
func TestAuditRuns(t *testing.T) {
	f := newFixture(t)
	var running, last *AuditRun
	var failed error
	f.options.BeginAudit = func() (AuditRun, error) { return AuditRun{StartedAt: testNow, Stage: "book"}, failed }
	f.options.AuditRuns = func() (*AuditRun, *AuditRun) { return running, last }
	f.handler = New(f.options)
	at := testNow.String()
	state := func(want string) { t.Helper(); f.expect("GET", "/admin/audit/run", "", 200, want) }
	state(`{"running":null,"last":null}`)
	begun := `{"started_at":"` + at + `","stage":"book","accounts_done":0,"accounts_total":0,"records_done":0,"finished_at":null,"agrees":null,"report":null,"error":null}`
	f.expect("POST", "/admin/audit", "", 202, begun)
	actions := f.expect("GET", "/admin/actions", "", 200, `{…`)
	if !strings.Contains(actions, `"method":"POST","path":"/admin/audit"`) {
		t.Error(actions)
	}
	running = &AuditRun{StartedAt: testNow, Stage: "records", Accounts: 1, OfAccounts: 3, Records: 7}
	last = &AuditRun{StartedAt: testNow, Stage: "comparing", Accounts: 2, OfAccounts: 2, Records: 9, FinishedAt: testNow + 1, Report: auditReport()}
	state(`{"running":{"started_at":"` + at + `","stage":"records","accounts_done":1,"accounts_total":3,"records_done":7,"finished_at":null,"agrees":null,"report":null,"error":null},` +
		`"last":{"started_at":"` + at + `","stage":null,"accounts_done":2,"accounts_total":2,"records_done":9,"finished_at":"` + (testNow + 1).String() +
		`","agrees":false,"report":` + string(control.Encode(last.Report)) + `,"error":null}}`)
	running, last = nil, &AuditRun{StartedAt: testNow, FinishedAt: testNow, Err: "the scheme's book cannot be read"}
	state(`{"running":null,"last":{"started_at":"` + at + `","stage":null,"accounts_done":0,"accounts_total":0,"records_done":0,"finished_at":"` + at +
		`","agrees":null,"report":null,"error":"the scheme's book cannot be read"}}`)
	failed = control.Refuse(409, "an audit is under way")
	f.expect("POST", "/admin/audit", "", 409, problem(409, "an audit is under way"))
	failed = errors.New("the engine is ending")
	f.expect("POST", "/admin/audit", "", 500, problem(500, "internal error"))
}
