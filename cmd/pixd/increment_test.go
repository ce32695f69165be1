package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// snapshotRows are the snapshots of a list.
type snapshotRows struct {
	Data []struct {
		File, Path string
		Base       *string
		Needs      []string
		Error      *string
	}
}

// TestIncrementCommands makes increments as an operator does, moves one of them without and with what it
// needs, and serves what it is restored to.
func TestIncrementCommands(t *testing.T) {
	t.Parallel()
	at := t.TempDir()
	dir, snaps, sim := filepath.Join(at, "data"), filepath.Join(at, "snaps"), filepath.Join(at, "sim")
	p := start(t, dir, "--snapshot-dir", snaps, "--sim-dir", sim)
	s := p.shop()
	create := func(args ...string) string {
		return strings.TrimSuffix(p.reported(append([]string{"snapshot", "create"}, args...)...), "\n")
	}
	first := create("--base", "auto") // there is none to make it upon
	if status, got, err := s.ask(p.merchant, "/pix/cash-out", `{"amount":100,"pix_key":"settle-now@pix.test"}`, ""); status != 200 {
		t.Fatal(status, string(got), err)
	}
	second := create("--base", first)
	third := create("--base", "auto")
	for _, c := range []struct{ base, want string }{
		{"none.snap", "base must be the name of a snapshot, or auto (400)"},
		{"pixd-20200101T000000Z-1.snap", "no snapshot pixd-20200101T000000Z-1.snap in " + snaps + " (404)"},
		{"", "--base is empty"},
	} {
		code, out, errs := p.operates("snapshot", "create", "--base", c.base)
		if code != 1 || out != "" || errs != "pixd: "+c.want+"\n" {
			t.Errorf("--base %q: exit %d %s%s", c.base, code, out, errs)
		}
	}
	var l snapshotRows
	p.read(&l, "snapshot", "list")
	name := filepath.Base
	needs := []string{name(first), name(second)}
	slices.Sort(needs)
	if len(l.Data) != 3 || l.Data[0].Path != third || *l.Data[0].Base != name(second) || !slices.Equal(l.Data[0].Needs, needs) ||
		*l.Data[1].Base != name(first) || l.Data[2].Base != nil || l.Data[2].Needs == nil || len(l.Data[2].Needs) != 0 {
		t.Errorf("%+v", l)
	}
	before, _ := s.balance(p)
	p.end(syscall.SIGKILL)
	code, out, errs := run(t, nil, "snapshot", "verify", third)
	if code != 0 || !strings.Contains(out, "\nan increment; it needs "+strings.Join(needs, ", ")+"\n") || !strings.HasSuffix(out, "ok\n") {
		t.Errorf("verify: exit %d %s%s", code, out, errs)
	}
	elsewhere := filepath.Join(at, "elsewhere")
	move := func(file string) {
		b, err := os.ReadFile(file)
		if err == nil {
			err = os.MkdirAll(elsewhere, 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(elsewhere, name(file)), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	restored := filepath.Join(at, "restored")
	restore := func() (int, string, string) {
		return run(t, nil, "snapshot", "restore", filepath.Join(elsewhere, name(third)), "--data-dir", restored)
	}
	move(third)
	for _, lacks := range needs {
		code, out, errs := restore()
		if code != 1 || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "it is an increment and needs "+lacks+", which is not beside it") {
			t.Errorf("without %s: exit %d %s%s", lacks, code, out, errs)
		}
		code, out, _ = run(t, nil, "snapshot", "list", "--snapshot-dir", elsewhere)
		if code != 0 || !strings.Contains(out, "needs "+lacks) {
			t.Errorf("listed without %s: exit %d %s", lacks, code, out)
		}
		move(filepath.Join(snaps, lacks))
	}
	if code, _, errs := restore(); code != 0 {
		t.Fatal(errs)
	}
	p = start(t, restored, "--sim-dir", sim)
	if balance, _ := s.balance(p); balance != before || before == 0 {
		t.Errorf("balance %d, was %d", balance, before)
	}
}

// TestScheduledIncrements has an engine make snapshots by itself, of which one in three is full, and keep the
// newest two and what they need.
func TestScheduledIncrements(t *testing.T) {
	t.Parallel()
	p := start(t, filepath.Join(t.TempDir(), "data"), "--snapshot-every", "1s", "--snapshot-full", "3", "--snapshot-keep", "2")
	p.shop()
	bases := map[string]string{} // of all that were seen; empty: it is full
	full := 0
	for until := time.Now().Add(60 * time.Second); full < 3 && time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		var l snapshotRows
		p.read(&l, "snapshot", "list")
		for _, s := range l.Data {
			if s.Error != nil {
				t.Fatalf("%s: %s", s.File, *s.Error)
			}
			if _, seen := bases[s.File]; seen {
				continue
			}
			bases[s.File] = ""
			if s.Base != nil {
				bases[s.File] = *s.Base
			} else {
				full++
			}
		}
		if n := len(l.Data); n > 5 { // two chains of three, less one, and what retention has not removed yet
			t.Fatalf("%d snapshots are kept", n)
		}
	}
	upon := map[string]int{}
	for file, base := range bases {
		if upon[base]++; base != "" && bases[base] != "" && bases[bases[base]] != "" {
			t.Errorf("%s is the third increment in a row: %v", file, bases)
		}
	}
	delete(upon, "")
	for base, n := range upon {
		if n > 1 {
			t.Errorf("%d increments upon %s", n, base)
		}
	}
	if full != 3 || len(upon) < 2 { // on a busy machine some come and go unseen
		t.Errorf("%d full snapshots, and increments upon %v", full, upon)
	}
}
