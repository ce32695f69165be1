package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pixd/actors/audit"
)

// TestAuditCommand checks an audit of a running engine and one of the files of an ended
// engine, and that files in use are refused.
func TestAuditCommand(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := start(t, dir)
	empty := p.reported("audit")
	if !strings.Contains(empty, "\naccounts       0\n") || !strings.Contains(empty, "\ndifferences    0\n") {
		t.Errorf("%s", empty)
	}
	s := p.shop()
	p.reported("account", "set", s.ID, "--approval-threshold", "0")
	if status, got, err := s.ask(p.merchant, "/pix/cash-out", `{"amount":7,"pix_key":"a@pix.test"}`, ""); status != 202 || err != nil {
		t.Fatalf("%d %s %v", status, got, err)
	}
	const table = `
ACCOUNT               BALANCE  PENDING  IN FLIGHT  MED HELD  SENT  RECEIVED  RETURNED BY  RETURNED TO  DIFFERENCES
ID  1000000000      700          1         0     0         0            0            0            0

read at        {}Z
accounts       1
records        5 of accounts; those of the registry are not looked at
balance        1000000000
pending        700
in flight      1
med held       0
open cases     0
`
	want := strings.ReplaceAll(table, "ID", s.ID)
	same(t, cutAt(p.reported("audit"), "scheme's book"), want)
	var r audit.Report
	if p.read(&r, "audit"); len(r.Rows) != 1 || r.Rows[0].Pending != 700 || r.Differences == nil || len(r.Differences) > 0 {
		t.Errorf("%+v", r)
	}
	code, out, errs := run(t, nil, "audit", "--data-dir", dir)
	if code != 1 || out != "" || !strings.Contains(errs, "in use by process") || !strings.HasSuffix(errs, ": a running engine is audited with --admin\n") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	for args, says := range map[string]string{
		"audit --data-dir x --admin http://127.0.0.1:1": "give --admin or --data-dir",
		"audit --sim-dir x":                             "--sim-dir goes with --data-dir",
		"audit --data-dir " + dir + "-none":             "no such file",
		"audit all":                                     `"all" is one word too many`,
	} {
		if code, out, errs := p.operates(strings.Fields(args)...); code != 1 || out != "" || !strings.Contains(errs, says) {
			t.Errorf("%s: exit %d\n%s%s", args, code, out, errs)
		}
	}
	p.end(syscall.SIGKILL)
	before := contents(t, dir)
	// In the second case the environment sets both flags: the flag on the command line
	// counts.
	for _, env := range [][]string{nil, {"PIXD_ADMIN=" + p.operator, "PIXD_DATA_DIR=/none"}} {
		code, out, errs = run(t, env, "audit", "--data-dir", dir)
		if code != 0 || errs != "" {
			t.Errorf("exit %d\n%s%s", code, out, errs)
		}
		same(t, cutAt(out, "scheme's book"), want)
	}
	if after := contents(t, dir); !maps.Equal(before, after) {
		t.Errorf("the audit changed files: before %q\nafter %q", slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
	}
	// A folder named by --sim-dir must exist; without the flag a missing folder is not an
	// error.
	code, out, errs = run(t, nil, "audit", "--data-dir", dir, "--sim-dir", dir+"-none")
	if code != 1 || out != "" || errs != "pixd: no simulator's book in "+dir+"-none\n" {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if err := os.Rename(filepath.Join(dir, "sim"), filepath.Join(dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	_, out, _ = run(t, nil, "audit", "--data-dir", dir, "--json")
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Book != "not compared: no simulator's book in "+dir+"/sim" || r.Accounts != 1 {
		t.Errorf("%s %v", out, err)
	}
	if code, out, errs = run(t, nil, "audit", "--data-dir", dir, "--sim-dir", filepath.Join(dir, "elsewhere")); code != 0 || errs != "" || !strings.Contains(out, "scheme's book  compared\n") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

// cutAt returns the part of s before word.
func cutAt(s, word string) string {
	before, _, _ := strings.Cut(s, word)
	return before
}

// TestAuditDiffers checks that differences are printed with exit status 1, and that an answer
// which is no audit report is an error.
func TestAuditDiffers(t *testing.T) {
	t.Parallel()
	const report = `{"at":"2026-01-31T12:00:00.007Z","book":"compared","accounts":1002,"records":9,"in_flight":1,"balance":123456789012345678901,` +
		`"pending":7,"med_held":8,"cases":2,"differences":[{"account_id":"acc_x","kind":"book","transaction_id":null,"message":"sent: the engine has 1, the scheme 2","field":"sent","engine":1,"scheme":2},` +
		`{"account_id":"acc_x","kind":"due_row","transaction_id":"PIXOUT1","message":"x\u001b[31m","field":null,"engine":null,"scheme":null}],` +
		`"rows":[{"account_id":"acc_x","balance":5,"pending":7,"med_held":8,"cases":2,"in_flight":1,"sent":1,"received":3,"returned_by":6,"returned_to":4,"differences":2}],"left_out":1001}`
	s := answering(t, 200, report)
	code, out, errs := asks(t, s.URL, "audit")
	same(t, out, `
ACCOUNT  BALANCE  PENDING  IN FLIGHT  MED HELD  SENT  RECEIVED  RETURNED BY  RETURNED TO  DIFFERENCES
acc_x          5        7          1         8     1         3            6            4            2

and 1001 more accounts without a difference

ACCOUNT  DIFFERS IN  TRANSACTION  HOW
acc_x    book                     sent: the engine has 1, the scheme 2
acc_x    due_row     PIXOUT1      x\x1b[31m

read at        2026-01-31T12:00:00Z
accounts       1002
records        9 of accounts; those of the registry are not looked at
balance        123456789012345678901
pending        7
in flight      1
med held       8
open cases     2
scheme's book  compared
differences    2
`)
	if code != 1 || errs != "pixd: the books differ: 2 found\n" {
		t.Errorf("exit %d, %s", code, errs)
	}
	if code, out, _ := asks(t, s.URL, "audit", "--json"); code != 1 || out != report+"\n" {
		t.Errorf("exit %d\n%s", code, out)
	}
	for body, want := range map[string]string{"{}": "answers no audit\n", "7": "answers no audit; json: "} {
		s := answering(t, 200, body)
		if code, out, errs := asks(t, s.URL, "audit"); code != 1 || out != "" || !strings.HasPrefix(errs, fmt.Sprintf("pixd: %s %s", s.URL, want)) {
			t.Errorf("%s: exit %d\n%s%s", body, code, out, errs)
		}
	}
}

// contents returns the content of every file below a folder, by its name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	if err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		all[name] = string(b)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}
