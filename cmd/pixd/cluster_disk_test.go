package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// fillsDisk fills the owner's disk, which is a small file system of its own.
func (f *faults) fillsDisk() {
	const node = "b"
	dir := f.n.folder(node)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		f.Fatal(err)
	}
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=512m"); err != nil {
		f.Skip("no file system can be mounted: ", err)
	}
	f.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	f.begin()
	f.hasOwner(node)
	f.l.mark()
	p := f.n.proc[node]
	full := filepath.Join(dir, "ballast")
	fill(full)
	owner := f.n.owner(node)
	f.l.flows(faultClients)
	f.took("full disk")
	f.Logf("node %s took over; the owner with the full disk: exit %d: %s", owner, f.n.ended(node), lastLine(p.words()))
	if err := os.Remove(full); err != nil {
		f.Fatal(err)
	}
	f.n.start(node)
	f.l.flows(faultClients)
}

// fill writes a file until nothing more can be written.
func fill(path string) {
	file, err := os.Create(path)
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }()
	for size := 1 << 20; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = file.Write(make([]byte, size))
		}
	}
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// hasOwner hands the log over to a node.
func (f *faults) hasOwner(node string) {
	f.Helper()
	if owner := f.n.owner(); owner != node {
		if code, out, errs := f.n.proc[owner].operates("cluster", "handover", "--to", node); code != 0 {
			for name, p := range f.n.proc {
				s, err := f.n.status(name)
				f.Logf("node %s: %+v %v\n%s", name, s, err, p.words())
			}
			f.Fatal(out, errs)
		}
	}
	f.n.whole()
	f.l.flows(faultClients)
}

// slowSync is how long each sync of a slow disk takes.
const slowSync = 50 * time.Millisecond

// slowsDisk has each sync of the owner's disk take long: requests take longer, and go on.
func (f *faults) slowsDisk() {
	tracer, err := exec.LookPath("strace")
	if err != nil {
		f.Skip("no strace (apt-get install strace) to slow a process's syncs with")
	}
	f.begin()
	const node = "b"
	f.n.end(node, syscall.SIGTERM)
	f.n.owner()
	p := prepared(f.T, f.n.folder(node), f.n.flagsOf(node)...)
	slow := exec.Command(tracer, append([]string{
		"-D", "-f", "--seccomp-bpf", "-qqq", "-o", os.DevNull, "-e", "trace=fsync,fdatasync",
		"-e", "inject=fsync,fdatasync:delay_enter=" + slowSync.String(),
	}, p.cmd.Args...)...)
	slow.Env = p.cmd.Env
	p.cmd = slow
	f.n.proc[node] = p.begin()
	f.n.pids.Store(node, p.cmd.Process.Pid)
	p.awaitReady()
	f.n.whole()
	f.l.flows(faultClients)
	f.l.mark()
	f.hasOwner(node)
	f.took("handed over to the node with the slow disk")
	f.l.mark()
	from := f.l.payouts.Load()
	time.Sleep(10 * time.Second)
	f.l.flows(faultClients)
	f.took("slow disk")
	f.Logf("%d payouts in 10 s at an owner whose syncs take %v", f.l.payouts.Load()-from, slowSync)
	f.n.whole()
}
