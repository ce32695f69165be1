package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pixd/wal/waltest"
)

var rewriteRunbook = flag.Bool("runbook", false, "write what the runbook's commands print into docs/runbook.md")

const runbook = "../../docs/runbook.md"

// step is a command of the runbook and what it prints.
type step struct {
	line    int // of the page, from 0
	command string
	output  []string
}

// section is a part of the runbook with its commands.
type section struct {
	name  string
	steps []step
}

// readRunbook returns the sections of a page, and its lines.
func readRunbook(text string) (all []section, lines []string) {
	lines = strings.Split(text, "\n")
	inside := false
	for i, line := range lines {
		if name, is := strings.CutPrefix(line, "## "); is {
			all = append(all, section{name: name})
		}
		switch {
		case line == "```console":
			inside = true
		case strings.HasPrefix(line, "```"):
			inside = false
		case inside && strings.HasPrefix(line, "$ "):
			at := &all[len(all)-1]
			at.steps = append(at.steps, step{line: i, command: line[2:]})
		case inside:
			at := &all[len(all)-1].steps
			(*at)[len(*at)-1].output = append((*at)[len(*at)-1].output, line)
		}
	}
	return all, lines
}

// TestRunbook runs the commands of each section in a folder of its own, after those of the
// first section, and compares what they print with the page, apart from times, ids and sizes.
func TestRunbook(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(runbook)
	if err != nil {
		t.Fatal(err)
	}
	all, lines := readRunbook(string(text))
	if len(all) < 6 {
		t.Fatalf("%d sections", len(all))
	}
	replaced := map[int][]string{}
	for i, s := range all {
		sh := newShell(t)
		if i > 0 {
			for _, st := range all[0].steps {
				sh.run(st.command)
			}
		}
		for _, st := range s.steps {
			got := sh.run(st.command)
			if *rewriteRunbook {
				replaced[st.line] = got
			} else if want := strings.Join(st.output, "\n"); sh.constant(strings.Join(got, "\n")) != sh.constant(want) {
				t.Errorf("%s: $ %s\ngot\n%s\nwant\n%s", s.name, st.command, strings.Join(got, "\n"), want)
			}
		}
		sh.end()
	}
	if *rewriteRunbook {
		rewritten(t, all, lines, replaced)
	}
}

// rewritten writes the page with other outputs.
func rewritten(t *testing.T, all []section, lines []string, outputs map[int][]string) {
	drop := map[int]bool{}
	for _, s := range all {
		for _, st := range s.steps {
			for i := range st.output {
				drop[st.line+1+i] = true
			}
		}
	}
	var out []string
	for i, line := range lines {
		if !drop[i] {
			out = append(out, line)
		}
		out = append(out, outputs[i]...)
	}
	if err := os.WriteFile(runbook, []byte(strings.Join(out, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// shell is a bash in a folder of its own. The engines that it starts get free ports.
type shell struct {
	t               *testing.T
	dir             string
	merchant, admin string // addresses
	in              io.WriteCloser
	nodes           []string // addresses for the nodes of a cluster and their simulator; none until they are needed
	out             *bufio.Reader
	cmd             *exec.Cmd
	cancel          context.CancelFunc
}

// endOfCommand is printed after each command.
const endOfCommand = "--the-command-has-ended--"

func newShell(t *testing.T) *shell {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	sh := &shell{t: t, dir: t.TempDir(), merchant: waltest.FreePorts(t, 1, 1)[0], admin: waltest.FreePorts(t, 1, 1)[0], cancel: cancel}
	sh.cmd = exec.CommandContext(ctx, "bash")
	sh.cmd.Dir = sh.dir
	sh.cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(theBinary())+":"+os.Getenv("PATH"),
		"PIXD_LISTEN="+sh.merchant, "PIXD_ADMIN_LISTEN="+sh.admin, "PIXD_ADMIN=http://"+sh.admin, "TMPDIR="+sh.dir)
	sh.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	if sh.in, err = sh.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := sh.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	sh.cmd.Stderr = sh.cmd.Stdout
	sh.out = bufio.NewReader(out)
	if err := sh.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sh.end)
	return sh
}

// nodeAddresses are the addresses of several nodes on the page. The port behind each is taken too.
var nodeAddresses = []string{
	"127.0.0.1:8110", "127.0.0.1:8111", "127.0.0.1:8112", "127.0.0.1:8120", "127.0.0.1:8121", "127.0.0.1:8122",
	"127.0.0.1:8130", "127.0.0.1:8131", "127.0.0.1:8132", "127.0.0.1:8090",
}

// addresses are the addresses on the page, each before the one that this shell uses in its place.
func (sh *shell) addresses() []string {
	all := []string{"127.0.0.1:8080", sh.merchant, "127.0.0.1:8081", sh.admin}
	if sh.nodes == nil {
		sh.nodes = waltest.FreePorts(sh.t, len(nodeAddresses), 2)
	}
	for i, address := range nodeAddresses {
		all = append(all, address, sh.nodes[i])
	}
	return all
}

// run runs a command and returns the lines that it prints.
func (sh *shell) run(command string) (lines []string) {
	sh.t.Helper()
	command = strings.NewReplacer(sh.addresses()...).Replace(command)
	if _, err := fmt.Fprintf(sh.in, "%s\necho; echo %s\n", command, endOfCommand); err != nil {
		sh.t.Fatal(err)
	}
	for {
		line, err := sh.out.ReadString('\n')
		if err != nil {
			sh.t.Fatalf("$ %s\n%s\n%v", command, strings.Join(lines, "\n"), err)
		}
		line = strings.TrimSuffix(line, "\n")
		if line == endOfCommand {
			break
		}
		line = strings.NewReplacer(sh.dir, "/srv/pixd", sh.merchant, "127.0.0.1:8080", sh.admin, "127.0.0.1:8081").Replace(line)
		lines = append(lines, strings.TrimRight(line, " "))
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// end ends the shell and everything that it has started.
func (sh *shell) end() {
	_ = syscall.Kill(-sh.cmd.Process.Pid, syscall.SIGKILL)
	_ = sh.cmd.Wait()
	sh.cancel()
}

// varying are texts that differ from run to run.
var varying = []*regexp.Regexp{
	regexp.MustCompile(`\d{8}T\d{6}Z-\d+`), regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`), regexp.MustCompile(`\b[a-z]{3}_[a-z2-7]{13,}`),
	regexp.MustCompile(`\b\d+(\.\d+)? ?[KMGTPE]i?B\b`), regexp.MustCompile(`\bthe same\b|\b\d+ms (ahead|behind)\b`), regexp.MustCompile(`\bfile \d{6}: block \d+/\d+|\b[0-9a-f]+ != [0-9a-f]+`),
	regexp.MustCompile(`wal: (get "[^"]*"|scan \["[^"]*", "[^"]*"\))`), // which read meets the damage first: a compaction may have moved it
	regexp.MustCompile(`\b[ED][0-9]{20}[0-9A-Za-z]{11}\b`), regexp.MustCompile(`per_second=\d+`),
	regexp.MustCompile(`0\.0\.0-dev|\bv\d[\w.+-]*`),
}

// constant is a text without what differs from run to run.
func (sh *shell) constant(s string) string {
	for _, v := range varying {
		s = v.ReplaceAllString(s, "*")
	}
	return regexp.MustCompile(` +`).ReplaceAllString(s, " ")
}

// TestRunbookIsCompared checks that a page is read with all its commands, and that outputs
// which differ in more than times, ids and sizes are told apart.
func TestRunbookIsCompared(t *testing.T) {
	all, _ := readRunbook("# Page\n## One\n```console\n$ a\n1\n2\n$ b\n```\ntext\n```\n$ no\n```\n## Two\n```console\n$ c\n3\n```\n")
	if len(all) != 2 || len(all[0].steps) != 2 || !slices.Equal(all[0].steps[0].output, []string{"1", "2"}) || all[0].steps[1].output != nil || all[1].steps[0].command != "c" {
		t.Errorf("%+v", all)
	}
	sh := &shell{}
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"pixd-20261122T215500Z-8.snap  2 KiB", "pixd-20270101T000000Z-9.snap 31.5 KiB", true},
		{"account  acc_aaaaaaaaaaaaa 2026-11-22T21:55:00.123Z", "account acc_7oi7njakvirg4  2026-11-22T21:55:00Z", true},
		{"balance 100", "balance 101", false},
		{"ok", "", false},
		{"503", "200", false},
	} {
		if same := sh.constant(c.a) == sh.constant(c.b); same != c.same {
			t.Errorf("%q and %q: %v", c.a, c.b, same)
		}
	}
}
