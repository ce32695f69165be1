package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-json"

	"pixd/bench"
)

// asMain is the variable that makes the test binary the command.
const asMain = "PIXBENCH_TEST_MAIN"

func TestMain(m *testing.M) {
	if bench.Playing() || os.Getenv(asMain) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// command returns the command with arguments, in an empty folder.
func command(t *testing.T, args ...string) (c *exec.Cmd, out, errs *bytes.Buffer) {
	t.Helper()
	c = exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), asMain+"=1", "PIXD_ADMIN_TOKEN=")
	out, errs = new(bytes.Buffer), new(bytes.Buffer)
	c.Dir, c.Stdout, c.Stderr = t.TempDir(), out, errs
	return c, out, errs
}

func run(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	c, o, e := command(t, args...)
	err := c.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), o.String(), e.String()
}

// TestRunAndCompare runs a short load, and checks the files and what is printed, and that two
// reports are compared.
func TestRunAndCompare(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(file("b.json"), []byte(strings.Repeat("old ", 1<<20)), 0o600); err != nil { // what was there is replaced
		t.Fatal(err)
	}
	for _, name := range []string{"a.json", "b.json"} {
		code, out, errs := run(t, "run", "--scenario", "mixed", "--rate", "100", "--duration", "1s", "--warm-up", "0s", "--accounts", "3", "--temp-dir", dir,
			"--json", file(name), "--html", file("page.html"))
		if code != 0 || strings.Contains(errs, "pixbench:") {
			t.Fatalf("exit %d\n%s%s", code, out, errs)
		}
		for _, want := range []string{"SCENARIO", "REQUESTS/S", "P50", "P90", "P99", "P99.9", "MAX", "ENGINE CPU", "MEMORY", "GENERATOR CPU", "mixed", "audit: the books agree"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %s in\n%s", want, out)
			}
		}
		raw, err := os.ReadFile(file(name))
		var r bench.Report
		if err != nil || json.Unmarshal(raw, &r) != nil || len(r.Runs) != 1 || r.Runs[0].Scenario != "mixed" || r.Runs[0].Sent != 100 || r.Runs[0].Rate != 100 {
			t.Fatalf("%v %.300s", err, raw)
		}
	}
	page, err := os.ReadFile(file("page.html"))
	if err != nil || !bytes.HasPrefix(page, []byte("<!DOCTYPE html>")) || !bytes.Contains(page, []byte("<svg")) || bytes.Contains(page, []byte("<script")) {
		t.Errorf("%v %.200s", err, page)
	}
	if left, _ := filepath.Glob(file("pixbench-*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	code, out, errs := run(t, "compare", file("a.json"), file("b.json"))
	if code != 0 || errs != "" || !strings.Contains(out, "B : A") || !strings.Contains(out, "requests/s") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if code, out, _ := run(t, "compare", file("a.json"), file("page.html")); code != 1 || out != "" {
		t.Errorf("a page is compared: exit %d\n%s", code, out)
	}
}

// TestCanonical checks that the command without arguments runs every scenario.
func TestCanonical(t *testing.T) {
	t.Parallel()
	c, out, errs := command(t, "--duration", "1s", "--warm-up", "100ms", "--accounts", "2", "--connections", "4")
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}
	at := 0
	for _, s := range bench.Scenarios() {
		i := strings.Index(out.String()[at:], "\n"+s.Name+" ")
		if i < 0 {
			t.Fatalf("no %s in\n%s", s.Name, out)
		}
		at += i
	}
}

// TestInterrupted checks that Ctrl-C ends the load, and that what was measured is audited and
// printed; and that Ctrl-C before the load is an error.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	c, out, errs := command(t, "run", "--scenario", "cash-out", "--duration", "1h", "--warm-up", "0s", "--accounts", "2", "--connections", "4")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(4 * time.Second)
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil || !strings.Contains(out.String(), "the load was interrupted") || !strings.Contains(out.String(), "audit: the books agree") {
		t.Errorf("%v\n%s%s", err, out, errs)
	}
	c, out, errs = command(t, "run", "--accounts", "100000")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond)
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err == nil || out.Len() > 0 || !strings.Contains(errs.String(), "pixbench: interrupted before there was anything to report\n") {
		t.Errorf("%v\n%s%s", err, out, errs)
	}
}

// TestBadInput checks that bad input is one line that says why, and exit status 1.
func TestBadInput(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"nonsense":                             `unknown command "nonsense"`,
		"run nonsense":                         `unknown command "nonsense"`,
		"run --rate 0":                         `--rate "0": max, or 1 to 1000000 requests per second`,
		"run --rate -5":                        `--rate "-5": max, or 1 to`,
		"run --rate fast":                      `--rate "fast": max, or 1 to`,
		"run --scenario nothing":               `--scenario "nothing": one of balance, cash-in, cash-out, refund, statement, mixed`,
		"run --duration 0s":                    "--duration 0s: from 1s to 24h\n",
		"run --duration 25h":                   "--duration 25h0m0s: from 1s to 24h\n",
		"run --accounts 0":                     "--accounts 0: 1 to 1000000",
		"run --ips 0":                          "--ips 0: 1 or more",
		"run --connections 0":                  "--connections 0: 1 or more",
		"run --connections 1000000":            "--connections 1000000: this process may open",
		"run --admin http://127.0.0.1:1":       "--admin goes with --target",
		"run --target http://127.0.0.1:1":      "no operators' token: set PIXD_ADMIN_TOKEN",
		"run --json /nonexistent/a.json":       "--json: open /nonexistent/a.json: no such file or directory",
		"run --html /nonexistent/a.html":       "--html: open /nonexistent/a.html: no such file or directory",
		"run --temp-dir /nonexistent":          "folder for an engine: ",
		"run --wrong":                          "unknown flag: --wrong",
		"compare":                              "name two files that pixbench run --json has written, not 0",
		"compare /nonexistent/a /nonexistent/": "open /nonexistent/a: no such file or directory",
		"limit --connections 0":                "--connections 0: 1 to",
		"limit --duration 1ms":                 "--duration 1ms: from 1s",
	} {
		code, out, errs := run(t, strings.Fields(args)...)
		if code != 1 || out != "" || strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, "pixbench: ") || !strings.Contains(errs, want) {
			t.Errorf("%s: exit %d\n%s%s", args, code, out, errs)
		}
	}
	for _, args := range []string{"--help", "run --help", "compare --help", "limit --help", "version --help"} {
		code, out, errs := run(t, strings.Fields(args)...)
		if code != 0 || errs != "" || !strings.Contains(out, "Examples:") {
			t.Errorf("%s: exit %d\n%s%s", args, code, out, errs)
		}
	}
	if code, out, _ := run(t, "version"); code != 0 || !strings.HasPrefix(out, "pixbench ") || strings.Count(out, "\n") != 3 {
		t.Errorf("version: exit %d\n%s", code, out)
	}
}
