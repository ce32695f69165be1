package cluster

import (
	"context"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"pixd/wal"
	"pixd/wal/waltest"
)

// gate is a place at which a process can be stopped in the middle of a call.
type gate int

const (
	nowhere gate = iota
	beforeAppend
	afterAppend
	beforeCheck
	afterCheck
	behindDoor
	gates
)

var gateNames = [gates]string{"", "before an append", "behind an append", "at the check", "behind the check", "behind the door"}

// call is a kind of call that writes.
type call int

const (
	callAppend call = iota
	callNode
	callTake
	callTrim
	calls
)

// wire is what stands between a machine and the log. Several goroutines use it.
type wire struct {
	*waltest.Reel
	slow, late atomic.Int64 // for how long an append is on its way; its answer
	mute, deaf atomic.Bool  // no answer to a write comes back; to a reading
	cut        atomic.Bool

	mu     sync.Mutex
	faults [calls][]waltest.Fault
}

// next says what becomes of the next calls of a kind.
func (w *wire) next(c call, faults ...waltest.Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults[c] = append(w.faults[c], faults...)
}

func (w *wire) clear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = [calls][]waltest.Fault{}
}

// write carries out a call that writes. Only one goroutine is in it at a time.
func (w *wire) write(c call, do func() error) error {
	if w.cut.Load() {
		return waltest.ErrNoAnswer
	}
	w.mu.Lock()
	if all := w.faults[c]; len(all) > 0 {
		w.Next(all[0])
		w.faults[c] = all[1:]
	}
	err := do()
	w.mu.Unlock()
	if w.mute.Load() {
		return waltest.ErrNoAnswer
	}
	return err
}

// line is a process's connection to the log. A process that is frozen stops within it.
type line struct {
	*wire
	p *process

	mu      sync.Mutex
	stopAt  gate // where the process freezes as soon as it gets there
	frozen  bool
	waiting []chan struct{} // of the goroutines that stand still, in the order in which they came
	dead    bool
}

// pass stops a goroutine while the process is frozen; false: the process is no more.
func (g *line) pass(at gate) bool {
	g.mu.Lock()
	if g.stopAt == at && !g.dead && !g.frozen {
		g.stopAt, g.frozen = nowhere, true
		g.p.box.l.post(0, func() { g.p.box.frozeAt(g.p, at) })
	}
	var goOn chan struct{}
	if g.frozen {
		goOn = make(chan struct{})
		g.waiting = append(g.waiting, goOn)
	}
	g.mu.Unlock()
	if goOn != nil {
		<-goOn
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.dead
}

func (g *line) freeze() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.frozen = !g.dead
}

func (g *line) thaw() {
	g.mu.Lock()
	g.stopAt, g.frozen = nowhere, false
	waiting := g.waiting
	g.waiting = nil
	g.mu.Unlock()
	for _, goOn := range waiting { // one after the other, so that a life repeats exactly
		close(goOn)
		synctest.Wait()
	}
}

func (g *line) isFrozen() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.frozen
}

// die lets all goroutines of the process end.
func (g *line) die() {
	g.mu.Lock()
	g.dead = true
	g.mu.Unlock()
	g.thaw()
}

// Append implements wal.Log for the store's writer.
func (g *line) Append(ctx context.Context, log uint16, after uint64, batch []byte) error {
	time.Sleep(time.Duration(g.slow.Load()))
	if !g.pass(beforeAppend) {
		return wal.ErrMoved
	}
	err := g.write(callAppend, func() error { return g.Reel.Append(ctx, log, after, batch) })
	time.Sleep(time.Duration(g.late.Load()))
	if !g.pass(afterAppend) {
		return wal.ErrMoved
	}
	return err
}

// Take implements wal.Log.
func (g *line) Take(ctx context.Context, log uint16, after uint64, deposed wal.NodeVersion, batch []byte) error {
	return g.write(callTake, func() error { return g.Reel.Take(ctx, log, after, deposed, batch) })
}

// Node implements wal.Log.
func (g *line) Node(ctx context.Context, self wal.NodeVersion, state []byte) (next wal.NodeVersion, err error) {
	err = g.write(callNode, func() (err error) {
		next, err = g.Reel.Node(ctx, self, state)
		return err
	})
	return next, err
}

// Nodes implements wal.Log.
func (g *line) Nodes(ctx context.Context) ([]wal.NodeState, error) {
	if g.deaf.Load() || g.mute.Load() {
		return nil, waltest.ErrNoAnswer
	}
	return g.Reel.Nodes(ctx)
}

// Trim implements wal.Log.
func (g *line) Trim(ctx context.Context, log uint16, upto uint64) error {
	return g.write(callTrim, func() error { return g.Reel.Trim(ctx, log, upto) })
}

// certain is what the engine asks before an answer leaves.
func (g *line) certain() bool {
	if !g.pass(beforeCheck) {
		return false
	}
	is := g.p.n.lease.certain()
	return g.pass(afterCheck) && is
}
