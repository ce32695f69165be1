package main

import (
	"fmt"
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

// slowsDisk has each sync of a node's disk take long. The others do not notice; the node may be too slow to
// be handed the log, which is said then; and if it is the owner, requests take longer, and go on.
func (f *faults) slowsDisk() {
	tracer, err := exec.LookPath("strace")
	if err != nil {
		f.Skip("no strace (apt-get install strace) to slow a process's syncs with")
	}
	f.begin()
	const node = "b"
	f.n.end(node, syscall.SIGTERM)
	former := f.n.owner()
	f.startsSlowly(node, tracer)
	f.l.goTo(f.others(node)...)
	f.l.mark()
	f.l.flows(faultClients)
	time.Sleep(10 * time.Second)
	f.l.flows(faultClients)
	f.took("beside a node whose syncs take " + clusterSync.String())
	f.l.mark()
	code, _, errs := f.n.proc[former].operates("cluster", "handover", "--to", node)
	f.l.flows(faultClients)
	f.took(fmt.Sprintf("handover to it: exit %d, %s", code, lastLine(errs)))
	f.l.mark()
	from, owner := f.l.payouts.Load(), f.n.owner()
	time.Sleep(10 * time.Second)
	f.l.flows(faultClients)
	f.took(fmt.Sprintf("%d payouts in 10 s at node %s, which owns", f.l.payouts.Load()-from, owner))
	f.l.goTo(f.n.names...)
}

// startsSlowly starts a node on a slow disk.
func (f *faults) startsSlowly(node, tracer string) {
	f.Helper()
	p := prepared(f.T, f.n.folder(node), f.n.flagsOf(node)...)
	slow := exec.Command(tracer, append([]string{
		"-D", "-f", "--seccomp-bpf", "-qqq", "-o", os.DevNull, "-e", "trace=fsync,fdatasync",
		"-e", "inject=fsync,fdatasync:delay_enter=" + clusterSync.String(),
	}, p.cmd.Args...)...)
	slow.Env = p.cmd.Env
	p.cmd = slow
	f.n.proc[node] = p.begin()
	f.n.pids.Store(node, p.cmd.Process.Pid)
	select {
	case <-p.ready:
	case <-time.After(patience):
		f.Fatalf("node %s is not ready:\n%s", node, p.words())
	}
}
