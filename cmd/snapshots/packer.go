package snapshots

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/goccy/go-json"

	"pixd/cmd/journal"
	"pixd/snapshot"
)

// A snapshot is packed, and verified, by another process of the same program, which has the lowest priority
// and one processor: the system gives it what the engine leaves. In the engine's own process
// its work would delay requests, because Go's scheduler knows no priorities.

// self is this process's program, also after its file was replaced.
func self() (string, error) {
	const running = "/proc/self/exe"
	if _, err := os.Stat(running); err == nil {
		return running, nil
	}
	return os.Executable()
}

// job is what the other process is asked to do: one of the two.
type job struct {
	Pack   *journal.PackJob
	Verify *verifyJob
}

// does is the word for what a process does that has the job.
func (j *job) does() string {
	if j.Verify != nil {
		return "verifies"
	}
	return "packs"
}

// outside has another process do a job; args are those with which the program calls PlayPacker. follow
// reads what that process reports, and tells whether it has said how it ended. An error of follow
// ends that process.
func outside(ctx context.Context, args []string, j job, follow func(io.Reader) (ended bool, err error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	program, err := self()
	if err != nil {
		return fmt.Errorf("the process that %s: %w", j.does(), err)
	}
	c := exec.CommandContext(ctx, program, args...)
	in, err := c.StdinPipe() // open for as long as the engine lives
	if err != nil {
		return err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return fmt.Errorf("the process that %s: %w", j.does(), err)
	}
	ended := false
	err = json.NewEncoder(in).Encode(j)
	if err == nil {
		ended, err = follow(out)
	}
	cancel()
	if why := c.Wait(); err == nil && !ended {
		err = fmt.Errorf("the process that %s ended: %w", j.does(), why)
	}
	return err
}

// packOutside has another process pack a snapshot, and returns its path. An error of tell ends that
// process.
func packOutside(ctx context.Context, args []string, j journal.PackJob, tell func(journal.Packing) error) (path string, err error) {
	err = outside(ctx, args, job{Pack: &j}, func(out io.Reader) (bool, error) {
		path, err = follow(out, tell)
		return path != "", err
	})
	return path, err
}

// follow reads what a process that packs reports, up to its end.
func follow(out io.Reader, tell func(journal.Packing) error) (path string, err error) {
	err = reports("packs", out, func(p *journal.Packing) (bool, error) {
		switch {
		case p.Err != "":
			return true, errors.New(p.Err)
		case p.Path != "":
			path = p.Path
			return true, nil
		}
		return false, tell(*p)
	})
	return path, err
}

// reports calls take with each line that the other process writes, until one is its last or take fails.
func reports[T any](does string, out io.Reader, take func(*T) (last bool, err error)) error {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var r T
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("the process that %s reports %q: %w", does, lines.Text(), err)
		}
		if last, err := take(&r); last || err != nil {
			return err
		}
	}
	return lines.Err()
}

// reportEvery is the least time between two reports of progress.
const reportEvery = 50 * time.Millisecond

// PlayPacker is the process that packs or verifies: it reads a job from in, and reports to out. It ends with
// in, which is open for as long as the engine lives. It lowers the priority of the whole process.
func PlayPacker(in io.Reader, out io.Writer) error {
	runtime.GOMAXPROCS(1)
	yield()
	return workFor(in, out)
}

// workFor does the job that it reads from in.
func workFor(in io.Reader, out io.Writer) error {
	r := bufio.NewReader(in)
	line, err := r.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("a job about a snapshot: %w", err)
	}
	var j job
	if err := json.Unmarshal(line, &j); err != nil {
		return fmt.Errorf("a job about a snapshot: %w", err)
	}
	if j.Pack == nil && j.Verify == nil {
		return errors.New("a job about a snapshot says nothing")
	}
	go func() {
		_, _ = io.Copy(io.Discard, r)
		os.Exit(1)
	}()
	if j.Verify != nil {
		return j.Verify.report(json.NewEncoder(out))
	}
	return pack(*j.Pack, json.NewEncoder(out))
}

// pack packs a snapshot and reports it.
func pack(j journal.PackJob, reports *json.Encoder) error {
	last := journal.Packing{}
	var reported time.Time
	path, err := journal.Pack(snapshot.Disk, j, func(p journal.Packing) error {
		if p.Need == 0 && p.Stage == last.Stage && time.Since(reported) < reportEvery {
			return nil
		}
		last, reported = p, time.Now()
		return reports.Encode(p)
	})
	end := journal.Packing{Path: path}
	if err != nil {
		end.Err = err.Error()
	}
	return reports.Encode(end)
}

// yield gives every thread of this process the lowest priority; later threads inherit it.
func yield() {
	tasks, err := filepath.Glob("/proc/self/task/*")
	if err != nil || len(tasks) == 0 {
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19)
		return
	}
	for _, t := range tasks {
		if id, err := strconv.Atoi(filepath.Base(t)); err == nil {
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, id, 19)
		}
	}
}
