package console

import (
	"math/big"
	"net/url"
	"path"
	"slices"
	"strconv"
	"time"

	"pixd/actors/pix"
	"pixd/httpapi/admin"
)

// alert is an alert of the operator API.
type alert struct {
	ID          string  `json:"id"`
	Kind        string  `json:"kind"`
	Account     *string `json:"account_id"`
	Transaction *string `json:"transaction_id"`
	Message     string  `json:"message"`
	CreatedAt   string  `json:"created_at"`
}

// alertHours are the spans of which alerts can be shown.
var alertHours = []int{1, 24, 24 * 7, 24 * 90}

// alerts shows the alerts of a span of time, the newest first.
func alerts(v *visit) error {
	hours, err := strconv.Atoi(v.Arg("hours"))
	if err != nil || !slices.Contains(alertHours, hours) {
		hours = 24
	}
	since := v.Now - pix.Millis(time.Duration(hours)*time.Hour/time.Millisecond)
	q := url.Values{"limit": {"100"}, "order": {"newest"}, "since": {since.String()}, "cursor": {v.arg("cursor")}}
	var l list[alert]
	err = v.get("/admin/alerts?"+q.Encode(), &l)
	v.Data = map[string]any{"List": l, "Hours": hours, "All": alertHours}
	return err
}

// difference is what an audit has found.
type difference struct {
	Account     string      `json:"account_id"`
	Kind        string      `json:"kind"`
	Transaction *string     `json:"transaction_id"`
	Message     string      `json:"message"`
	Engine      *pix.Amount `json:"engine"`
	Scheme      *pix.Amount `json:"scheme"`
}

// auditRun is an audit that runs, or has ended.
type auditRun struct {
	StartedAt  string  `json:"started_at"`
	Stage      *string `json:"stage"`
	Accounts   int     `json:"accounts_done"`
	OfAccounts int     `json:"accounts_total"`
	Records    uint64  `json:"records_done"`
	FinishedAt *string `json:"finished_at"`
	Agrees     *bool   `json:"agrees"`
	Report     *struct {
		Book        string       `json:"book"`
		Accounts    int          `json:"accounts"`
		Records     uint64       `json:"records"`
		InFlight    int          `json:"in_flight"`
		Balance     *big.Int     `json:"balance"`
		Pending     *big.Int     `json:"pending"`
		MEDHeld     *big.Int     `json:"med_held"`
		Cases       int          `json:"cases"`
		Differences []difference `json:"differences"`
	} `json:"report"`
	Error *string `json:"error"`
}

// Says is the word for what the audit has found; empty: it has found nothing yet, or has failed.
func (r *auditRun) Says() string {
	switch {
	case r.Agrees == nil || r.Report == nil:
		return ""
	case !*r.Agrees:
		return "audit_differs"
	case r.Report.Book != bookCompared:
		return "audit_alone"
	}
	return "audit_agrees"
}

// Doing is the word for what the audit is doing; empty: nothing is said of it.
func (r *auditRun) Doing() string {
	if r.Stage == nil {
		return ""
	}
	return "stage_" + *r.Stage
}

// bookCompared is how a report says that the scheme's book was compared.
const bookCompared = "compared"

// audit shows the audit that runs, and the last one.
func audit(v *visit) error {
	var runs struct{ Running, Last *auditRun }
	err := v.get("/admin/audit/run", &runs)
	v.Data = runs
	return err
}

// beginAudit begins an audit.
func beginAudit(v *visit) outcome { return v.did(v.post("/admin/audit", nil, nil), "audit_begun") }

// snapshotRun is a snapshot that is being made, or was made last.
type snapshotRun struct {
	Status     string  `json:"status"`
	StartedAt  string  `json:"started_at"`
	Stage      *string `json:"stage"`
	Done       int64   `json:"bytes_done"`
	Total      int64   `json:"bytes_total"`
	FinishedAt *string `json:"finished_at"`
	Path       *string `json:"path"`
	Error      *string `json:"error"`
	File       string  `json:"file"` // of a verification
}

// Percent is how much of it is done.
func (r *snapshotRun) Percent() int64 {
	if r.Total <= 0 {
		return 0
	}
	return min(100, 100*r.Done/r.Total)
}

// snapshots lists the snapshots, and what is being done about them.
func snapshots(v *visit) error {
	var l snapshotList
	err := v.get("/admin/snapshots?limit=50&cursor="+url.QueryEscape(v.arg("cursor")), &l)
	v.Data = &l
	return err
}

// snapshotList is a page of the list of snapshots.
type snapshotList struct {
	list[admin.Snapshot]
	Running   *snapshotRun `json:"running"`
	Last      *snapshotRun `json:"last"`
	Verifying *snapshotRun `json:"verifying"`
	Verified  *snapshotRun `json:"verified"`
}

// Newest is the newest snapshot on the page that can be used; nil: there is none.
func (l *snapshotList) Newest() *admin.Snapshot {
	for i := range l.Data {
		if l.Data[i].Err == nil {
			return &l.Data[i]
		}
	}
	return nil
}

// Folder is where the newest snapshot lies.
func (l *snapshotList) Folder() string { return path.Dir(l.Newest().Path) }

// makeSnapshot begins a snapshot: one that has all its files, or an increment.
func makeSnapshot(v *visit) outcome {
	var body any
	if v.field("base") != "" {
		body = map[string]string{"base": "auto"}
	}
	return v.did(v.post("/admin/snapshots", body, nil), "snapshot_begun")
}

// verifySnapshot begins to verify a snapshot.
func verifySnapshot(v *visit) outcome {
	return v.did(v.post("/admin/snapshots/"+url.PathEscape(v.field("file"))+"/verify", nil, nil), "verify_begun")
}
