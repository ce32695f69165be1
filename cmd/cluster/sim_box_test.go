package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

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

	began     time.Duration // of registering
	here      bool          // it has registered
	renewal   renewal
	answer    wal.NodeVersion
	answerErr error
	states    []wal.NodeState
	takeover  takeover // which it has decided
	opening   bool     // it is the owner, and its engine starts
	memory    *books   // what the engine knows
	books     *books   // nil: the engine does not serve
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
	p.began = b.elapsed()
	p.next[stepRegister] = p.began
	b.p, b.back = p, never
	at, _, _ := store.Head()
	b.l.tell("%s starts as %s at batch %d", b.name, p.n.self.Run, at)
}

// in has a step done after a time by the machine's clock.
func (p *process) in(s step, d time.Duration) { p.next[s] = p.box.elapsed() + d }

// soon is how long a call takes.
func (p *process) soon() time.Duration {
	r := p.box.l.rng
	if r.IntN(40) == 0 && p.box.l.outages {
		return time.Duration(r.Int64N(int64(1500 * time.Millisecond)))
	}
	return time.Duration(r.Int64N(int64(20 * time.Millisecond)))
}

// do does a step that is due.
func (p *process) do(s step) {
	p.next[s] = never
	switch s {
	case stepRegister:
		p.register()
	case stepRenew:
		p.renew()
	case stepSend:
		p.answer, p.answerErr = p.n.log.Node(context.Background(), p.renewal.version, p.renewal.text)
		p.in(stepAnswer, p.soon())
	case stepAnswer:
		p.answered()
	case stepAgree:
		p.agree()
	case stepLook:
		p.look()
	case stepSaw:
		if err := p.n.saw(p.states); err != nil {
			p.box.l.fail("%s: %v", p.n.name, err)
		}
		p.in(stepLook, lookEvery)
	case stepFollow:
		p.follow()
	case stepStand:
		p.stand()
	case stepTake:
		p.take()
	case stepServe:
		p.serve()
	case stepTrim:
		p.trim()
	}
}

func (p *process) register() {
	all, err := p.n.log.Nodes(context.Background())
	if err != nil {
		p.in(stepRegister, lookEvery)
		return
	}
	may, err := p.n.mayRegister(all, p.began)
	switch {
	case err != nil:
		p.end("its name is taken")
	case may:
		p.renew()
	default:
		p.in(stepRegister, renewEvery/3)
	}
}

func (p *process) renew() {
	var err error
	if p.renewal, err = p.n.renewal(); err != nil {
		p.box.l.fail("%s: %v", p.n.name, err)
	}
	p.in(stepSend, p.soon()/2)
}

func (p *process) answered() {
	again := p.n.written(p.renewal, p.answer, p.answerErr)
	switch {
	case again:
		p.in(stepSend, renewEvery/10)
	case errors.Is(p.answerErr, wal.ErrMoved):
		p.end("deposed")
	default:
		p.in(stepRenew, renewEvery)
		if !p.here {
			p.here = true
			if p.box.l.outages && p.box.l.rng.IntN(6) == 0 {
				p.box.begin(outageDeaf) // before it has read any node's state
			}
			p.in(stepAgree, 0)
		}
	}
}

// agree begins to follow once all nodes have registered, as nodes do that found a cluster.
func (p *process) agree() {
	all, err := p.line.Reel.Nodes(context.Background()) // later processes ask for the cluster, and not for its nodes
	if err != nil || len(all) < len(p.box.l.boxes) {
		p.in(stepAgree, lookEvery)
		return
	}
	p.n.become(roleStandby)
	p.in(stepLook, 0)
	p.in(stepFollow, 0)
	p.in(stepStand, lookEvery/4)
}

func (p *process) look() {
	all, err := p.n.log.Nodes(context.Background())
	if err != nil {
		p.in(stepLook, lookEvery)
		return
	}
	p.states = all
	p.in(stepSaw, p.soon())
}

// errPaused ends a poll that is to be gone on with later.
var errPaused = errors.New("paused")

func (p *process) follow() {
	left := 1 + p.box.l.rng.IntN(8)
	at, _, _ := p.n.store.Head()
	err := p.line.Poll(context.Background(), logNumber, &at, func(position uint64, batch []byte) error {
		if err := p.n.apply(position, batch); err != nil {
			return err
		}
		if left--; left == 0 {
			return errPaused
		}
		return nil
	})
	switch {
	case p.n.owns():
		p.opening = true
		p.next[stepStand], p.next[stepTake] = never, never
		p.in(stepServe, p.soon())
	case err == nil, errors.Is(err, errPaused):
		p.in(stepFollow, p.soon())
	default:
		p.n.broken(err)
		p.box.l.fail("%s follows no more: %v", p.n.name, err)
	}
}

func (p *process) stand() {
	t, due := p.n.due()
	if due {
		p.takeover = t
		p.in(stepTake, p.soon()/4)
	} else {
		p.in(stepStand, lookEvery/4)
	}
}

func (p *process) take() {
	err := p.n.take(context.Background(), p.takeover)
	p.box.l.tell("%s takes over, deposing %v: %v", p.n.self.Run, p.takeover.deposed, err)
	if err != nil {
		p.in(stepStand, lookEvery)
	} else {
		p.in(stepStand, lookEvery/4)
	}
}

// serve starts the engine.
func (p *process) serve() {
	l := p.box.l
	if err := p.n.store.Lead(wal.Lead{Log: p.line, Certain: p.line.certain}); err != nil {
		l.fail("%s does not lead: %v", p.n.self.Run, err)
		return
	}
	p.n.become(roleOwner)
	p.opening = false
	p.keeper = &keeper{n: p.n, raise: func(string, string) {}, raised: map[string]bool{}, behind: map[string]time.Duration{}, goal: map[string]uint64{}}
	p.in(stepTrim, trimEvery)
	l.count("takeover")
	if l.serving() > 0 {
		l.count("two nodes serve")
	}
	l.tell("%s serves since batch %d", p.n.self.Run, p.n.store.Owner().Epoch)
	if p.memory == nil {
		p.memory = openBooks(p)
	}
	p.books = p.memory
	p.books.resume()
}

func (p *process) trim() {
	p.box.l.log.read()
	if err := p.keeper.trim(context.Background()); err == nil {
		p.box.l.count("trimmed")
	}
	p.keeper.watch()
	p.in(stepTrim, trimEvery)
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
