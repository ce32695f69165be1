package admin

import (
	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
)

// AuditRun is an audit that runs, or has ended.
type AuditRun struct {
	StartedAt            pix.Millis
	Stage                string // what is being done: book, records or comparing
	Accounts, OfAccounts int    // accounts that were read, of all; both are 0 before stage records
	Records              uint64 // records that were read
	FinishedAt           pix.Millis
	Report               any    // as Options.Audit returns it; nil: it runs, or has failed
	Agrees               bool   // the report names no difference
	Err                  string // why there is no report; empty: there is one, or it runs
}

// auditRow is an AuditRun as operators see it.
type auditRow struct {
	StartedAt  string  `json:"started_at"`
	Stage      *string `json:"stage"`
	Accounts   int     `json:"accounts_done"`
	OfAccounts int     `json:"accounts_total"`
	Records    uint64  `json:"records_done"`
	FinishedAt *string `json:"finished_at"`
	Agrees     *bool   `json:"agrees"`
	Report     any     `json:"report"`
	Err        *string `json:"error"`
}

func auditOf(r *AuditRun) *auditRow {
	if r == nil {
		return nil
	}
	row := &auditRow{
		StartedAt: r.StartedAt.String(), Accounts: r.Accounts, OfAccounts: r.OfAccounts, Records: r.Records,
		FinishedAt: instant(r.FinishedAt), Report: r.Report, Err: orNull(r.Err),
	}
	if r.FinishedAt == 0 {
		row.Stage = orNull(r.Stage)
	}
	if r.Report != nil {
		row.Agrees = &r.Agrees
	}
	return row
}

// audit is GET /admin/audit.
func (s *service) audit(*fasthttp.RequestCtx) (int, any, error) {
	report, err := s.Audit()
	return fasthttp.StatusOK, report, err
}

// beginAudit is POST /admin/audit.
func (s *service) beginAudit(*fasthttp.RequestCtx) (int, any, error) {
	run, err := s.BeginAudit()
	if err != nil {
		return 0, nil, err
	}
	return fasthttp.StatusAccepted, auditOf(&run), nil
}

// showAudit is GET /admin/audit/run.
func (s *service) showAudit(*fasthttp.RequestCtx) (int, any, error) {
	running, last := s.AuditRuns()
	return fasthttp.StatusOK, struct {
		Running *auditRow `json:"running"`
		Last    *auditRow `json:"last"`
	}{auditOf(running), auditOf(last)}, nil
}
