package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// iso is an instant as the commands take it.
func iso(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

// TestCutCommands goes back to an instant, as an operator does it: from a stopped engine's folder, and from
// a snapshot. Both have the money of that instant, and are served as restored folders are.
func TestCutCommands(t *testing.T) {
	t.Parallel()
	at := t.TempDir()
	dir, sim := filepath.Join(at, "data"), filepath.Join(at, "data", "sim")
	p := start(t, dir)
	s := p.shop()
	pay := func(amount int) {
		t.Helper()
		if status, got, err := s.ask(p.merchant, "/pix/cash-out", fmt.Sprintf(`{"amount":%d,"pix_key":"settle-now@pix.test"}`, amount), ""); status != 200 {
			t.Fatal(status, string(got), err)
		}
	}
	pay(100)
	time.Sleep(5 * time.Millisecond)
	until := iso(time.Now())
	time.Sleep(5 * time.Millisecond)
	pay(200)
	file := strings.TrimSuffix(p.reported("snapshot", "create"), "\n")
	if code, _, errs := run(t, nil, "journal", "cut", "--data-dir", dir, "--until", until, "--to", filepath.Join(at, "early")); code != 1 || !strings.Contains(errs, "in use by process") {
		t.Errorf("while the engine runs: %d %s", code, errs)
	}
	p.end(syscall.SIGTERM)
	left := " 1 1\nbalance 999970000 999990000\npending 0 0\nmed held 0 0\ncut at " + until + ": the newest batch is of {}; cut off after it: {}records in {}batches\n"
	cut := filepath.Join(at, "cut")
	code, out, errs := run(t, nil, "journal", "cut", "--data-dir", dir, "--until", until, "--to", cut)
	same(t, squeezed(out), " BEFORE LEFT OF IT\nposition {}{}\naccounts"+left+"cut to "+cut+"; the next pixd serve asks the scheme for what happened since {}\npixd serve --data-dir "+cut+" --sim-dir "+sim+"\n")
	if code != 0 || errs != "" {
		t.Fatalf("cut: %d %s", code, errs)
	}
	back := filepath.Join(at, "back")
	for _, dry := range []bool{true, false} {
		args := []string{"snapshot", "restore", file, "--data-dir", back, "--until", until}
		end := "restored to " + back + "; the next pixd serve asks the scheme for what happened since {}\npixd serve --data-dir " + back + " --sim-dir " + sim + "\n"
		if dry {
			args, end = append(args, "--dry-run"), "a dry run: "+back+" is as it was\n"
		}
		code, out, errs := run(t, nil, args...)
		same(t, squeezed(out), "{}made {}by pixd {}{}records, {}rows\n SNAPSHOT RECORDS IN IT LEFT OF THEM\nposition {}{}{}\naccounts 1 1 1\n"+
			"balance 999970000 999970000 999990000\npending 0 0 0\nmed held 0 0 0\ncut at "+until+": the newest batch is of {}; cut off after it: {}records in {}batches\n"+end)
		if _, err := os.Stat(back); code != 0 || errs != "" || (err != nil) != dry {
			t.Errorf("dry %v: %d %s, %v", dry, code, errs, err)
		}
	}
	for _, dir := range []string{cut, back} {
		if code, _, errs := run(t, nil, "serve", "--data-dir", dir, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"); code != 1 || !strings.Contains(errs, "cut at "+until) || !strings.Contains(errs, "--accept-restored-gap") {
			t.Errorf("serve: %d %s", code, errs)
		}
		p := start(t, dir, "--sim-dir", sim)
		if balance, _ := s.balance(p); balance != 999_970_000 {
			t.Errorf("balance %d", balance)
		}
		if said := p.words(); !strings.Contains(said, "since="+until) || strings.Count(said, "booked from the scheme") != 1 {
			t.Errorf("said %s", said)
		}
		p.end(syscall.SIGTERM)
		if code, out, errs := run(t, nil, "journal", "verify", "--data-dir", dir); code != 0 || !strings.HasSuffix(out, "ok\n") {
			t.Errorf("verify: %d %s%s", code, out, errs)
		}
	}
	code, out, errs = run(t, nil, "snapshot", "restore", file, "--data-dir", filepath.Join(at, "whole"), "--until", iso(time.Now().Add(time.Hour)))
	if code != 0 || errs != "" || !strings.Contains(out, ": nothing was to be cut off at ") || !strings.Contains(squeezed(out), "balance 999970000 999970000 999970000\n") {
		t.Errorf("after the newest batch: %d %s%s", code, out, errs)
	}
}

// TestCutRefusals gives the commands what they refuse: one line, exit status 1, and nothing is left.
func TestCutRefusals(t *testing.T) {
	t.Parallel()
	at := t.TempDir()
	dir := filepath.Join(at, "data")
	p := start(t, dir)
	p.shop()
	file := strings.TrimSuffix(p.reported("snapshot", "create"), "\n")
	p.end(syscall.SIGTERM)
	now, to := iso(time.Now()), filepath.Join(at, "to")
	before, err := os.ReadDir(at)
	if err != nil {
		t.Fatal(err)
	}
	cut := []string{"journal", "cut", "--data-dir", dir, "--to", to, "--until"}
	restore := []string{"snapshot", "restore", file, "--data-dir", to, "--until"}
	const format = "--until must be an ISO 8601 time with its offset"
	for _, c := range []struct {
		want string
		args []string
	}{
		{format, append(cut, "yesterday")},
		{format, append(cut, "")},
		{format, append(restore, "2026-01-31")},
		{format, append(restore, "2026-01-31T08:30:00")},
		{"the journal begins at 20", append(cut, "2001-01-01T00:00:00Z")},
		{"nothing in it is from 1970-01-01T00:00:00.001Z or before", append(restore, "1900-01-01T00:00:00Z")},
		{`required flag(s) "until" not set`, cut[:6]},
		{`required flag(s) "to" not set`, []string{"journal", "cut", "--data-dir", dir, "--until", now}},
		{"--to is empty", append(cut, now, "--to", "")},
		{"it is not empty", append(cut, now, "--to", dir)},
		{"is in the folder " + dir + ", which is only read", append(cut, now, "--to", filepath.Join(dir, "journal", "cut"))},
		{"it is not empty", append(restore, now, "--dry-run", "--data-dir", dir)},
		{"no such file", append(cut, now, "--data-dir", filepath.Join(at, "none"))},
		{"no such file", append(cut, now, "--temp-dir", filepath.Join(at, "none"))},
		{`unknown command "more"`, append(cut, now, "more")},
	} {
		code, out, errs := run(t, nil, c.args...)
		if code != 1 || out != "" || strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, "pixd: ") || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit %d %s%s", c.args, code, out, errs)
		}
	}
	if after, err := os.ReadDir(at); err != nil || len(after) != len(before) {
		t.Errorf("left %v, was %v; %v", after, before, err)
	}
}
