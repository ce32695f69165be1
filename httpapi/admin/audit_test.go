package admin

import (
	"errors"
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
	f.expect("POST", "/admin/audit", "", 405, problem(405, "this path does not take this method"))
}
