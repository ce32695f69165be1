package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// limited starts the process with a limit on file sizes: every write fails that would let a
// file grow beyond the given number of blocks of 512 bytes.
func (p *process) limited(blocks int) *process {
	p.t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		p.t.Fatal("no shell to limit the size of files with: ", err)
	}
	script := fmt.Sprintf(`ulimit -f %d && exec "$0" "$@"`, blocks)
	c := exec.Command(shell, append([]string{"-c", script}, p.cmd.Args...)...)
	c.Env = p.cmd.Env
	p.cmd = c
	return p
}

// failStopped waits until a failed write has ended the process, and checks that the last
// line on standard error names the file.
func (p *process) failStopped(store string) {
	p.t.Helper()
	late := time.AfterFunc(time.Minute, func() { _ = p.cmd.Process.Kill() }) // after a minute: the process has not ended although its files are full
	defer late.Stop()
	if err := <-p.exited; err == nil {
		p.t.Error("it ended well though its files are full")
	}
	lines := strings.Split(strings.TrimSpace(p.words()), "\n")
	last := lines[len(lines)-1]
	if code := p.cmd.ProcessState.ExitCode(); code != 3 || !strings.HasPrefix(last, "pixd: stopped, nothing more is answered: wal: write "+store+"/") || !strings.HasSuffix(last, ": file too large") {
		p.t.Errorf("exit %d\n%s", code, p.words())
	}
	if said := p.words(); strings.Contains(said, "panic") || strings.Contains(said, "goroutine ") {
		p.t.Error(said)
	}
}

// TestJournalFails checks that the first failed write of the journal ends the process with
// status 3 and a line that says what failed and where, and that waiting requests get no
// answer. The next process must have everything that was answered, and unanswered operations
// that are sent again must happen once.
func TestJournalFails(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := prepared(t, dir).limited(1024).begin().awaitReady()
	s := p.shop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.failStopped(filepath.Join(dir, "journal"))
	}()
	all := loadOf(p, s, []int{0, 2}, ended) // kinds 0 and 2, charges and credits, do not write to the simulator's book
	p = start(t, dir)
	want, answered := int64(1_000_000_000), 0
	for _, o := range all {
		if o.status != 0 {
			answered++
		}
		if o.status != 0 && o.status/100 != 2 {
			t.Errorf("operation %d of kind %d was told %d %s", o.n, o.kind, o.status, o.answer)
		}
		o.stands(p, s)
		want += map[int]int64{2: 70}[o.kind]
	}
	if answered < 100 || answered == len(all) {
		t.Errorf("%d of %d operations were answered: the files were full too early or too late", answered, len(all))
	}
	if got := rest(p, s); got != want {
		t.Errorf("%d operations, balance %d, want %d", len(all), got, want)
	}
}

// TestBookFails checks that a failed write of the book of `pixd sim` ends the simulator in
// the same way: the engine goes on, and each payment is made once.
func TestBookFails(t *testing.T) {
	t.Parallel()
	p := openPair(t, false)
	s := p.engine.shop()
	p.sim.end(9)
	p.sim = preparedSim(t, filepath.Join(p.dir, "sim"), p.ports[2], "http://"+p.ports[1]).limited(1024).begin().awaitReady()
	today := time.Now().UTC().Format("20060102")
	pay := func(n int) int {
		e2e := fmt.Sprintf("E99999003%s0000%011d", today, n)
		return status1(p.sim.operate("POST", "/sim/payments", fmt.Sprintf(`{"pix_key":%q,"amount":500,"end_to_end_id":%q}`, s.Key, e2e)))
	}
	paid := 0
	for status := 201; status != 0; paid++ {
		if status = pay(paid); status != 0 && status != 201 || paid > 100_000 {
			t.Fatalf("payment %d was told %d", paid, status)
		}
	}
	p.sim.failStopped(filepath.Join(p.dir, "sim"))
	p.startSim()
	for n := range paid {
		if got := pay(n); got != 201 {
			t.Errorf("payment %d, sent again: %d", n, got)
		}
	}
	for range 500 {
		if got, _ := s.balance(p.engine); got == 1_000_000_000+500*int64(paid) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got, _ := s.balance(p.engine); got != 1_000_000_000+500*int64(paid) || paid < 100 {
		t.Errorf("%d payments, balance %d", paid, got)
	}
}
