package admin

import (
	"encoding/json"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"pixd/httpapi/control"
)

// fakeSnapshots is a folder with five snapshots, of which one cannot be read.
type fakeSnapshots struct {
	running, last     *SnapshotRun
	checking, checked *SnapshotCheck
	refuse            error
	base              string // of the newest start
	file              string // of the newest verification
}

// Verify implements Snapshots.
func (f *fakeSnapshots) Verify(file string) (SnapshotCheck, error) {
	f.file = file
	return SnapshotCheck{File: file, StartedAt: testNow, Stage: "checksum"}, f.refuse
}

// Checks implements Snapshots.
func (f *fakeSnapshots) Checks() (running, last *SnapshotCheck) { return f.checking, f.checked }

// Start implements Snapshots.
func (f *fakeSnapshots) Start(base string) (SnapshotRun, error) {
	f.base = base
	return SnapshotRun{StartedAt: 1_000, Base: base}, f.refuse
}

// Runs implements Snapshots.
func (f *fakeSnapshots) Runs() (running, last *SnapshotRun) { return f.running, f.last }

// List implements Snapshots.
func (f *fakeSnapshots) List() (all []Snapshot, err error) {
	for _, n := range []string{"5", "4", "3", "2", "1"} {
		s := Snapshot{File: "pixd-20260131T12000" + n + "Z-" + n + ".snap", Path: "/snaps/" + n, Size: 7, Needs: []string{}}
		if n == "3" {
			why := "damaged"
			s.Err = &why
		} else {
			at, position, accounts := "2026-01-31T12:00:00.000Z", uint64(9), 2
			s.CreatedAt, s.Newest, s.Position, s.Accounts = &at, &at, &position, &accounts
			base, warning := "pixd-1.snap", "old"
			s.Base, s.Warning = &base, &warning
			s.Balance, s.Pending, s.MEDHeld = new(big.Int).Lsh(big.NewInt(1), 70), new(big.Int), big.NewInt(5)
		}
		all = append(all, s)
	}
	return all, nil
}

// TestSnapshots checks the answers about snapshots: a 202, the refusals, pages of the list newest
// first, and what is being made.
func TestSnapshots(t *testing.T) {
	f := &fakeSnapshots{}
	s := &service{Options: Options{Snapshots: f}}
	ctx := func(query, body string) *fasthttp.RequestCtx {
		c := &fasthttp.RequestCtx{}
		c.Request.SetRequestURI("/admin/snapshots?" + query)
		c.Request.SetBodyString(body)
		return c
	}
	for body, want := range map[string]int{
		"": 202, "{}": 202, `{"name":"x"}`: 400, "[]": 400, `{"base":"auto"}`: 202, `{"base":"x.snap"}`: 202, `{"base":""}`: 400, `{"base":null}`: 400, `{"base":7}`: 400,
	} {
		status, got, err := s.createSnapshot(ctx("", body))
		if problem, is := err.(*control.Problem); is { //nolint:errorlint // it is returned bare
			status = problem.Status
		} else if err != nil && want == 400 {
			status = 400
		}
		if status != want {
			t.Errorf("body %q: %d %v %v", body, status, got, err)
		}
	}
	for body, want := range map[string]string{"": "", "{}": "", `{"base":"auto"}`: "auto"} {
		_, got, err := s.createSnapshot(ctx("", body))
		if run := got.(*runRow); err != nil || f.base != want || (run.Base == nil) != (want == "") || run.Base != nil && *run.Base != want {
			t.Errorf("body %q: base %q, %+v, %v", body, f.base, got, err)
		}
	}
	f.refuse = control.Refuse(409, "a snapshot is under way")
	if _, _, err := s.createSnapshot(ctx("", "")); err == nil {
		t.Error("a refusal was lost")
	}
	f.running = &SnapshotRun{StartedAt: 1_000, Stage: "packing", Done: 3, Total: 9}
	f.last = &SnapshotRun{StartedAt: 500, FinishedAt: 900, Stage: "packing", Err: "disk full"}
	var files []string
	query := "limit=2"
	for pages := 1; ; pages++ {
		status, got, err := s.listSnapshots(ctx(query, ""))
		if status != 200 || err != nil {
			t.Fatal(status, err)
		}
		b, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		var l struct {
			Data          []map[string]any
			Next          *string `json:"next_cursor"`
			Running, Last map[string]any
		}
		if err := json.Unmarshal(b, &l); err != nil {
			t.Fatal(err)
		}
		if l.Running["status"] != "running" || l.Running["stage"] != "packing" || l.Running["bytes_done"] != 3.0 || l.Running["finished_at"] != nil ||
			l.Last["status"] != "failed" || l.Last["error"] != "disk full" || l.Last["stage"] != nil || l.Last["finished_at"] == nil || l.Last["path"] != nil {
			t.Errorf("running %v, last %v", l.Running, l.Last)
		}
		if pages == 1 && !strings.Contains(string(b), `"balance":1180591620717411303424,`) {
			t.Errorf("%s", b)
		}
		for _, row := range l.Data {
			files = append(files, row["file"].(string))
			if bad := row["error"] != nil; bad != (row["position"] == nil) || bad != (row["balance"] == nil) || len(row) != 14 {
				t.Errorf("%v", row)
			}
		}
		if l.Next == nil {
			if pages != 3 {
				t.Errorf("%d pages", pages)
			}
			break
		}
		query = "limit=2&cursor=" + *l.Next
	}
	want := []string{"pixd-20260131T120005Z-5.snap", "pixd-20260131T120004Z-4.snap", "pixd-20260131T120003Z-3.snap", "pixd-20260131T120002Z-2.snap", "pixd-20260131T120001Z-1.snap"}
	if !reflect.DeepEqual(files, want) {
		t.Errorf("%v", files)
	}
	for _, query := range []string{"limit=0", "limit=x", "cursor=x", "cursor=../../etc/passwd"} {
		if _, _, err := s.listSnapshots(ctx(query, "")); err == nil {
			t.Errorf("%s was taken", query)
		}
	}
	if r := runOf(&SnapshotRun{FinishedAt: 5, Path: "/x"}); r.Status != "finished" || *r.Path != "/x" || r.Err != nil {
		t.Errorf("%+v", r)
	}
}

// TestSnapshotsBehind checks that a page goes on behind the snapshot that its cursor names, in whatever
// order names are, and also where that one was removed since.
func TestSnapshotsBehind(t *testing.T) {
	for name, want := range map[string]string{"4": "1 3 2", "1": "3 2", "2": "", "5": "4 1 3 2", "35": "1 3 2"} {
		var got []string
		for _, s := range behind([]Snapshot{{File: "4"}, {File: "1"}, {File: "3"}, {File: "2"}}, name) {
			got = append(got, s.File)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("behind %s: %q, want %s", name, got, want)
		}
	}
}

// TestSnapshotVerify checks how a verification is begun, that its beginning is on record, and what the list
// says of it.
func TestSnapshotVerify(t *testing.T) {
	f, fake := newFixture(t), &fakeSnapshots{}
	f.options.Snapshots = fake
	f.handler = New(f.options)
	const path, at = "/admin/snapshots/pixd-20260131T120005Z-5.snap/verify", `"started_at":"`
	begun := `{"file":"pixd-20260131T120005Z-5.snap","status":"running",` + at + testNow.String() + `","stage":"checksum","bytes_done":0,"bytes_total":0,"batches_done":0,"batches_total":0,` +
		`"records_done":0,"rows_done":0,"finished_at":null,"totals":null,"error":null}`
	f.expect("POST", path, "", 202, begun)
	if fake.file != "pixd-20260131T120005Z-5.snap" {
		t.Error(fake.file)
	}
	if actions := f.expect("GET", "/admin/actions", "", 200, `{…`); !strings.Contains(actions, `"method":"POST","path":"`+path+`"`) {
		t.Error(actions)
	}
	state := func(want string) {
		t.Helper()
		if got := f.expect("GET", "/admin/snapshots?limit=1", "", 200, `{…`); !strings.HasSuffix(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	state(`"verifying":null,"verified":null}`)
	fake.checking = &SnapshotCheck{File: "x", StartedAt: testNow, Stage: "records", Done: 8, Total: 9, Records: 3, Batches: 1, OfBatches: 2, Rows: 4}
	fake.checked = &SnapshotCheck{File: "y", StartedAt: testNow, FinishedAt: testNow + 1, Stage: "tables", Totals: &SnapshotTotals{
		Position: 7, Records: 9, Rows: 11, Accounts: 1, Balance: new(big.Int).Lsh(big.NewInt(1), 70), Pending: new(big.Int), MEDHeld: big.NewInt(5),
	}}
	state(`"verifying":{"file":"x","status":"running",` + at + testNow.String() + `","stage":"records","bytes_done":8,"bytes_total":9,"batches_done":1,"batches_total":2,"records_done":3,"rows_done":4,"finished_at":null,"totals":null,"error":null},` +
		`"verified":{"file":"y","status":"passed",` + at + testNow.String() + `","stage":null,"bytes_done":0,"bytes_total":0,"batches_done":0,"batches_total":0,"records_done":0,"rows_done":0,"finished_at":"` + (testNow + 1).String() +
		`","totals":{"position":7,"records":9,"rows":11,"accounts":1,"balance":1180591620717411303424,"pending":0,"med_held":5},"error":null}}`)
	fake.checking, fake.checked = nil, &SnapshotCheck{File: "y", StartedAt: testNow, FinishedAt: testNow, Err: "it is damaged"}
	state(`"verifying":null,"verified":{"file":"y","status":"failed",` + at + testNow.String() + `","stage":null,"bytes_done":0,"bytes_total":0,"batches_done":0,"batches_total":0,"records_done":0,"rows_done":0,"finished_at":"` +
		testNow.String() + `","totals":null,"error":"it is damaged"}}`)
	for _, refusal := range []*control.Problem{control.Missing("x"), control.Refuse(409, "x"), control.Refuse(503, "x")} {
		fake.refuse = refusal
		f.expect("POST", path, "", refusal.Status, problem(refusal.Status, "x"))
	}
}

// TestSnapshotsElsewhere checks that all paths about snapshots go to the node that makes them.
func TestSnapshotsElsewhere(t *testing.T) {
	f, fake := newFixture(t), &fakeSnapshots{}
	f.options.OnSnapshots = NewSnapshots(fake, f.options.Log)
	f.handler = New(f.options)
	f.expect("POST", "/admin/snapshots", "", 202, `{…`)
	f.expect("POST", "/admin/snapshots/x/verify", "", 202, `{…`)
	f.expect("GET", "/admin/snapshots/x/verify", "", 405, problem(405, "this path does not take this method"))
	if fake.file != "x" {
		t.Error("it was not asked")
	}
	for path, want := range map[string]bool{"/admin/snapshots": true, "/admin/snapshots/x/verify": true, "/admin/snapshotsx": false, "/admin/audit": false} {
		if AboutSnapshots(path) != want {
			t.Error(path)
		}
	}
}
