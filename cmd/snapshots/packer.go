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

// A snapshot is packed by another process of the same program, which has the lowest priority
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

// packOutside has another process do a job; args are those with which the program calls
// PlayPacker. An error of tell ends that process.
func packOutside(ctx context.Context, args []string, j journal.PackJob, tell func(journal.Packing) error) (path string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	program, err := self()
	if err != nil {
		return "", fmt.Errorf("the process that packs: %w", err)
	}
	c := exec.CommandContext(ctx, program, args...)
	in, err := c.StdinPipe() // open for as long as the engine lives
	if err != nil {
		return "", err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := c.Start(); err != nil {
		return "", fmt.Errorf("the process that packs: %w", err)
	}
	err = json.NewEncoder(in).Encode(j)
	if err == nil {
		path, err = follow(out, tell)
	}
	cancel()
	if ended := c.Wait(); err == nil && path == "" {
		err = fmt.Errorf("the process that packs ended: %w", ended)
	}
	return path, err
}

// follow reads what the other process reports, up to its end.
func follow(out io.Reader, tell func(journal.Packing) error) (path string, err error) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var p journal.Packing
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			return "", fmt.Errorf("the process that packs reports %q: %w", lines.Text(), err)
		}
		switch {
		case p.Err != "":
			return "", errors.New(p.Err)
		case p.Path != "":
			return p.Path, nil
		}
		if err := tell(p); err != nil {
			return "", err
		}
	}
	return "", lines.Err()
}

// reportEvery is the least time between two reports of progress.
const reportEvery = 50 * time.Millisecond

// PlayPacker is the process that packs: it reads a job from in, and reports to out. It ends with
// in, which is open for as long as the engine lives. It lowers the priority of the whole process.
func PlayPacker(in io.Reader, out io.Writer) error {
	runtime.GOMAXPROCS(1)
	yield()
	return packFor(in, out)
}

// packFor packs the job that it reads from in.
func packFor(in io.Reader, out io.Writer) error {
	r := bufio.NewReader(in)
	line, err := r.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("a snapshot's job: %w", err)
	}
	var j journal.PackJob
	if err := json.Unmarshal(line, &j); err != nil {
		return fmt.Errorf("a snapshot's job: %w", err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, r)
		os.Exit(1)
	}()
	reports, last := json.NewEncoder(out), journal.Packing{}
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
