package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSnapshotCommands makes a snapshot of a running engine, loses the data folder, and is back
// with the same money: create, list, verify, restore and serve, as an operator does it.
func TestSnapshotCommands(t *testing.T) {
	t.Parallel()
	at := t.TempDir()
	dir, snaps := filepath.Join(at, "data"), filepath.Join(at, "snaps")
	p := start(t, dir, "--snapshot-dir", snaps, "--sim-dir", filepath.Join(at, "sim"))
	s := p.shop()
	if status, got, err := s.ask(p.merchant, "/pix/cash-out", `{"amount":100,"pix_key":"settle-now@pix.test"}`, ""); status != 200 {
		t.Fatal(status, string(got), err)
	}
	file := strings.TrimSuffix(p.reported("snapshot", "create"), "\n")
	if ok, _ := regexp.MatchString(`^pixd-\d{8}T\d{6}Z-\d+\.snap$`, filepath.Base(file)); !ok || filepath.Dir(file) != snaps {
		t.Fatal(file)
	}
	var made struct{ Status, Path string }
	time.Sleep(1100 * time.Millisecond) // another second, and so another name
	p.read(&made, "snapshot", "create")
	if made.Status != "finished" || made.Path == file {
		t.Errorf("%+v after %s", made, file)
	}
	table := `
FILE TIME POSITION ACCOUNTS BALANCE SIZE BASE ERROR
{}{}{}1 999990000 {}KiB
{}{}{}1 999990000 {}KiB
`
	same(t, squeezed(p.reported("snapshot", "list")), table)
	var l struct {
		Data []struct {
			File, Path string
			Size       int64
			Balance    int64
			Error      *string
		}
		Running, Verifying *struct{}
		Last, Verified     *struct{ Status string }
	}
	p.read(&l, "snapshot", "list")
	if out := p.reported("snapshot", "list", "--json"); l.Last == nil || l.Last.Status != "finished" || !strings.Contains(out, `"running":null`) || !strings.Contains(out, `"verifying":null`) || !strings.Contains(out, `"verified":null`) {
		t.Errorf("the API says more: %s", out)
	}
	if len(l.Data) != 2 || l.Data[1].Path != file || l.Data[0].Path != made.Path || l.Data[0].Balance != 999_990_000 || l.Data[0].Error != nil {
		t.Errorf("%+v", l)
	}
	p.verifiesSnapshot(filepath.Base(file))
	if code := p.end(syscall.SIGKILL); code == 0 {
		t.Error("killed with exit 0")
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	code, out, errs := run(t, nil, "snapshot", "list", "--snapshot-dir", snaps)
	if same(t, squeezed(out), table); code != 0 || errs != "" {
		t.Errorf("without an engine: %d %s", code, errs)
	}
	sums := `
{}made {}by pixd {}{}records, {}rows
 SNAPSHOT RECORDS IN IT
position {}{}
accounts 1 1
balance 999990000 999990000
pending 0 0
med held 0 0
`
	code, out, errs = run(t, nil, "snapshot", "verify", file)
	if same(t, squeezed(out), sums+"ok\n"); code != 0 || errs != "" {
		t.Errorf("verify: %d %s", code, errs)
	}
	code, out, errs = run(t, nil, "snapshot", "restore", file, "--data-dir", dir)
	same(t, squeezed(out), sums+"restored to "+dir+"; the next pixd serve asks the scheme for what happened since {}\npixd serve --data-dir "+dir+" --sim-dir "+filepath.Join(at, "sim")+"\n")
	if code != 0 || errs != "" {
		t.Fatalf("restore: %d %s", code, errs)
	}
	code, _, errs = run(t, nil, "serve", "--data-dir", dir, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
	if code != 1 || !strings.Contains(errs, "the scheme's book lacks what the journal has") || !strings.Contains(errs, "restored from a snapshot of ") || !strings.Contains(errs, "--accept-restored-gap") {
		t.Errorf("serve: %d %s", code, errs)
	}
	p = start(t, dir, "--sim-dir", filepath.Join(at, "sim"))
	if balance, _ := s.balance(p); balance != 999_990_000 {
		t.Errorf("balance %d", balance)
	}
	if said := p.words(); !strings.Contains(said, "goes on catching up") || !strings.Contains(said, "since=20") || !strings.Contains(said, "the audit is clean") {
		t.Errorf("said %s", said)
	}
}

// verifiesSnapshot has the running engine verify a snapshot, which another process of the program does, and
// checks that it passes and that only snapshots are left in the folder.
func (p *process) verifiesSnapshot(file string) {
	p.t.Helper()
	if status, got, err := p.operate("POST", "/admin/snapshots/"+file+"/verify", ""); status != 202 || err != nil {
		p.t.Fatal(status, string(got), err)
	}
	var l struct {
		Verifying *struct{ Stage *string }
		Verified  *struct {
			File, Status string
			Totals       *struct{ Balance, Records int64 }
		}
		Data []struct{ Path string }
	}
	for range 400 {
		_, got, err := p.operate("GET", "/admin/snapshots", "")
		if err == nil {
			err = json.Unmarshal(got, &l)
		}
		if err != nil {
			p.t.Fatal(err)
		}
		if l.Verified != nil && l.Verifying == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if v := l.Verified; v == nil || v.File != file || v.Status != "passed" || v.Totals.Balance != 999_990_000 || v.Totals.Records == 0 {
		p.t.Fatalf("%+v", v)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(l.Data[0].Path), "*")); err != nil || len(left) != len(l.Data) {
		p.t.Errorf("left %q, %v", left, err)
	}
}

// TestSnapshotRefusals gives the commands files and folders that they refuse: one line, exit
// status 1, and nothing is left.
func TestSnapshotRefusals(t *testing.T) {
	t.Parallel()
	at := t.TempDir()
	p := start(t, filepath.Join(at, "data"))
	p.shop()
	good := strings.TrimSuffix(p.reported("snapshot", "create"), "\n")
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 1
	put := func(folder, name string, b []byte) string {
		path := filepath.Join(at, folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	base := filepath.Base(good)
	full := filepath.Dir(put("full", "notes.txt", []byte("mine")))
	before, err := os.ReadDir(at)
	if err != nil {
		t.Fatal(err)
	}
	made := []string{"cut", "flipped", "other", "text"}
	for _, c := range []struct {
		file, want string
		more       []string
	}{
		{put("cut", base, whole[:len(whole)/2]), "does not end with a checksum", nil},
		{put("flipped", base, flipped), "damaged", nil},
		{put("other", "backup.snap", whole), "it was renamed: by its manifest it is " + base, nil},
		{put("text", base, []byte("hello")), "no snapshot", nil},
		{filepath.Join(at, "none.snap"), "no such file", nil},
		{at, "it is a folder", nil},
		{good, "it is not empty", []string{"--data-dir", full}},
		{good, "unknown flag: --frobnicate", []string{"--frobnicate", "x"}},
		{good, `"more" is one word too many`, []string{"more"}},
		{good, "--data-dir is empty", []string{"--data-dir", ""}},
		{good, "restore to /proc/x: open /proc/x.restoring.lock", []string{"--data-dir", "/proc/x"}},
	} {
		args := append([]string{"snapshot", "restore", c.file, "--data-dir", filepath.Join(at, "new")}, c.more...)
		code, out, errs := run(t, nil, args...)
		if code != 1 || out != "" || strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, "pixd: ") || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit %d %s%s", c.want, code, out, errs)
		}
		if c.more != nil {
			continue
		}
		if code, _, verified := run(t, nil, "snapshot", "verify", c.file); code != 1 || verified != errs {
			t.Errorf("verify: exit %d %s, restore said %s", code, verified, errs)
		}
	}
	after, err := os.ReadDir(at)
	if err != nil || len(after) != len(before)+len(made) {
		t.Errorf("left %v, was %v; %v", after, before, err)
	}
	for _, args := range [][]string{{"snapshot", "restore", good}, {"snapshot", "verify"}, {"snapshot", "verify", good, "--temp-dir", filepath.Join(at, "none")}, {"snapshot", "list", "--snapshot-dir", filepath.Join(at, "none")}, {"snapshot", "frobnicate"}} {
		if code, out, errs := run(t, nil, args...); code != 1 || out != "" || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: exit %d %s%s", args, code, out, errs)
		}
	}
}

// TestSnapshotKilled kills the engine while it makes snapshots, and a restore while it runs:
// what is left is never taken for a snapshot or a data folder, and both work when they are
// asked for again.
func TestSnapshotKilled(t *testing.T) {
	t.Parallel()
	at := t.TempDir()
	dir := filepath.Join(at, "data")
	p := start(t, dir)
	s := p.shop()
	for n := range 200 {
		if status, got, err := s.ask(p.merchant, "/pix/cash-in", `{"amount":100}`, ""); status != 200 {
			t.Fatal(n, status, string(got), err)
		}
	}
	for _, after := range []time.Duration{0, 5, 20, 40} {
		if status, got, err := p.operate("POST", "/admin/snapshots", ""); status != 202 {
			t.Fatal(status, string(got), err)
		}
		time.Sleep(after * time.Millisecond)
		p.end(syscall.SIGKILL)
		p = start(t, dir)
		left, err := filepath.Glob(filepath.Join(dir, "snapshots", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range left {
			if code, _, errs := run(t, nil, "snapshot", "verify", file); code != 0 {
				t.Errorf("%s after a kill at %v ms: %s", file, int(after), errs)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "checkpoint")); err == nil {
			t.Error("the copy of the journal is left")
		}
	}
	file := strings.TrimSuffix(p.reported("snapshot", "create"), "\n")
	restored := filepath.Join(at, "restored")
	interrupted := 0
	for _, after := range []time.Duration{2, 10, 20, 30, 40} {
		killRestore(t, file, restored, after*time.Millisecond)
		_, unfinished := os.Stat(restored + ".restoring")
		if _, err := os.Stat(restored); err == nil {
			dropLock(t, restored)
			break
		}
		if unfinished != nil {
			continue
		}
		interrupted++
		code, _, errs := run(t, nil, "serve", "--data-dir", restored, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
		if code != 1 || !strings.Contains(errs, "was interrupted") {
			t.Errorf("serve on an interrupted restore: %d %s", code, errs)
		}
	}
	if interrupted == 0 {
		t.Log("no restore was interrupted")
	}
	if _, err := os.Stat(restored); err != nil {
		if code, _, errs := run(t, nil, "snapshot", "restore", file, "--data-dir", restored); code != 0 {
			t.Fatal(errs)
		}
	}
	if code, _, errs := run(t, nil, "journal", "verify", "--data-dir", restored); code != 0 {
		t.Error(errs)
	}
	if left, _ := filepath.Glob(restored + ".*"); len(left) != 0 {
		t.Errorf("left %q", left)
	}
}

// dropLock removes the empty lock file that a restore leaves beside its folder if it is killed
// right after the folder came into place.
func dropLock(t *testing.T, restored string) {
	t.Helper()
	lock := restored + ".restoring.lock"
	info, err := os.Stat(lock)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		t.Error(err)
	case info.Size() != 0:
		t.Errorf("the lock has %d bytes", info.Size())
	default:
		if err := os.Remove(lock); err != nil {
			t.Error(err)
		}
	}
}

// killRestore kills a restore after some time.
func killRestore(t *testing.T, file, dir string, after time.Duration) {
	t.Helper()
	c := exec.Command(theBinary(), "snapshot", "restore", file, "--data-dir", dir)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(after)
	_ = c.Process.Kill()
	_ = c.Wait()
}

// TestPackerYields checks that the process which packs snapshots has the lowest priority, where
// the system shows that, and ends with its engine.
func TestPackerYields(t *testing.T) {
	t.Parallel()
	c := exec.Command(theBinary(), packWords...)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	nice := func() (all []string) {
		stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", c.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range stats {
			b, _ := os.ReadFile(name)
			if _, rest, ok := strings.Cut(string(b), ") "); ok { // the 17th field behind the program's name
				all = append(all, strings.Fields(rest)[16])
			}
		}
		return all
	}
	for try := 0; slices.ContainsFunc(nice(), func(n string) bool { return n != "19" }); try++ {
		if try == 200 {
			t.Fatalf("the threads have the priorities %v", nice())
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err == nil {
		t.Error("it ended well, without a job")
	}
}
