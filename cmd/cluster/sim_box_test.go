package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/keyed"
	"pixd/wal"
)

// box is a machine: its disk, its clock, its way to the log, and the process that runs on it.
type box struct {
	l      *life
	name   string
	fs     *vfs.MemFS
	net    *wire
	rate   float64
	offset time.Duration
	p      *process // nil: none runs
	runs   int      // how many processes there were

	back    time.Duration // when the next process starts
	thaw    time.Duration // when the process goes on; 0: it is not frozen
	healing [outages]time.Duration
}

// elapsed is the machine's clock.
func (b *box) elapsed() time.Duration {
	return b.offset + time.Duration(float64(b.l.now())*b.rate)
}

// when is the time at which the machine's clock shows elapsed.
func (b *box) when(elapsed time.Duration) time.Duration {
	if elapsed == never {
		return never
	}
	return time.Duration(float64(elapsed-b.offset)/b.rate) + 1
}

const never = time.Duration(math.MaxInt64)

// step is what a process does at a time of its own.
type step int

const (
	stepRegister step = iota
	stepRenew
	stepSend
	stepAnswer
	stepAgree
	stepLook
	stepSaw
	stepFollow
	stepStand
	stepTake
	stepServe
	stepTrim
	steps
)

// process is one run of the program: a node, and while it is the owner an engine.
type process struct {
	box  *box
	n    *node
	line *line
	next [steps]time.Duration // when each step is due by the machine's clock

	here      bool // it has registered
	renewal   renewal
	answer    wal.NodeVersion
	answerErr error
	states    []wal.NodeState
	takeover  takeover // which it has decided
	opening   bool     // it is the owner, and its engine starts
	memory    *books   // what the engine knows
	noticed   *keyed.Filter
	books     *books // nil: the engine does not serve
	keeper    *keeper
	resigning bool
}

func simOptions(fs *vfs.MemFS, onFailure func(error)) wal.Options {
	return wal.Options{
		Dir: "/j", FS: fs, MemTableBytes: 256 << 10, CacheBytes: 64 << 10, SetOnce: []byte("p"), Shared: true, OnFailure: onFailure,
		AnchorEvery: time.Second,
	}
}

// start starts a process.
func (b *box) start() {
	b.runs++
	p := &process{box: b}
	store, err := wal.Open(simOptions(b.fs, func(err error) { b.l.post(0, func() { p.storeFailed(err) }) }))
	if err != nil {
		b.l.fail("%s does not start: %v", b.name, err)
		b.back = never
		return
	}
	p.line = &line{wire: b.net, p: p}
	p.n = &node{
		self: state{Run: fmt.Sprintf("%s%d", b.name, b.runs), URL: "http://" + b.name + ":1"}, name: b.name, role: roleJoining,
		log: p.line, store: store, elapsed: b.elapsed, slog: slog.New(slog.DiscardHandler), lease: newLease(b.elapsed),
	}
	p.n.version = wal.NodeVersion{Name: b.name}
	for s := range p.next {
		p.next[s] = never
	}
	p.next[stepRegister] = b.elapsed()
	b.p, b.back = p, never
	at, _, _ := store.Head()
	b.l.tell("%s starts as %s at batch %d", b.name, p.n.self.Run, at)
}

// storeFailed is told that the store has failed, on which the process ends.
func (p *process) storeFailed(err error) {
	if p.box.p != p {
		return
	}
	if !errors.Is(err, wal.ErrFenced) {
		p.box.l.fail("%s: %v", p.n.self.Run, err)
	}
	p.box.l.count("fenced")
	p.end("fenced")
}

// end ends the process; what it wrote stays, as the machine goes on.
func (p *process) end(why string) {
	p.box.l.tell("%s ends: %s", p.n.self.Run, why)
	p.box.crash(100)
}

// crash ends the process at once. Of what was not synced, that percentage is left.
func (b *box) crash(percent int) {
	p := b.p
	b.fs = b.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(1, 1))})
	b.p, b.thaw = nil, 0
	b.back = b.l.now() + time.Duration(b.l.rng.Int64N(int64(3*time.Second)))
	p.kill()
}

// kill lets what is left of a process end.
func (p *process) kill() {
	p.n.lease.lose()
	p.line.die()
	p.books = nil
	p.box.l.closing.Go(func() { _ = p.n.store.Close() })
}

// handOver hands the log over, and begins anew.
func (p *process) handOver(next string) {
	p.box.l.tell("%s hands over to %q", p.n.self.Run, next)
	p.resigning = true
	p.n.become(roleStandby)
	p.books = nil
	p.next[stepTrim] = never
	p.box.l.closing.Go(func() {
		if err := p.n.store.Resign(next); err != nil {
			return
		}
		_ = p.n.store.Close() // and once more where the process is killed meanwhile, which does nothing
		p.box.l.post(0, func() {
			if p.box.p == p {
				p.box.l.count("handover")
				p.end("handed over")
				p.box.back = p.box.l.now()
			}
		})
	})
}
