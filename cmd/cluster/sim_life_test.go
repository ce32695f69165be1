package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/wal"
	"pixd/wal/waltest"
)

// life is one run of the simulation: some machines that share a tape, clients, and the scheme. One
// goroutine, the life's, does one thing after the other; after each it waits until the goroutines of
// the stores have done what follows from it.
type life struct {
	rng     *rand.Rand
	began   time.Time
	tape    *waltest.Tape
	log     *recorder
	boxes   []*box
	clients []*client
	scheme  *scheme
	closing sync.WaitGroup // of stores

	outages bool
	outage  time.Duration // when the next begins
	quiet   bool          // clients ask for nothing more

	mu    sync.Mutex
	inbox []message // what other goroutines have to say
	calls int       // how many were made whose outcome comes so

	tells bool
	story strings.Builder
	seen  map[string]int
	wrong []string
}

// template is the disk of a machine that has joined the cluster and has no batch.
var template = sync.OnceValue(func() *vfs.MemFS {
	fs := vfs.NewCrashableMem()
	s, err := wal.Open(simOptions(fs, nil))
	if err == nil {
		err = s.Join("c")
	}
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		panic(err)
	}
	return fs
})

func newLife(seed uint64, tells bool, disk *vfs.MemFS) *life {
	l := &life{
		rng: rand.New(rand.NewPCG(seed, 34)), began: time.Now(), tape: waltest.NewTape(), tells: tells, seen: map[string]int{},
		scheme: &scheme{paid: map[payment]uint64{}},
	}
	l.log = &recorder{reel: l.tape.Log()}
	if _, err := l.log.reel.Found(context.Background(), wal.Cluster{ID: "c"}); err != nil {
		l.fail("%v", err)
	}
	for _, name := range []string{"a", "b", "c"} {
		b := &box{
			l: l, name: name, fs: disk.CrashClone(vfs.CrashCloneCfg{}), net: &wire{Reel: l.tape.Log()},
			rate: 0.9 + 0.2*l.rng.Float64(), offset: time.Duration(l.rng.Int64N(int64(time.Hour))) + time.Second,
			back: time.Duration(l.rng.Int64N(int64(500 * time.Millisecond))),
		}
		b.net.slow.Store(int64(2 * time.Millisecond))
		l.boxes = append(l.boxes, b)
	}
	for stream := range wal.Stream(3) {
		l.clients = append(l.clients, &client{l: l, stream: stream + 1, asked: map[uint64]bool{}, refused: map[uint64]bool{}, acked: map[uint64]bool{}})
	}
	return l
}

func (l *life) now() time.Duration { return time.Since(l.began) }

func (l *life) count(what string) { l.seen[what]++ }

func (l *life) tell(format string, args ...any) {
	if l.tells {
		fmt.Fprintf(&l.story, "%9.3f  %s\n", l.now().Seconds(), fmt.Sprintf(format, args...))
	}
}

// message is something for the life's goroutine to do.
type message struct {
	call int // the number of the call to which it belongs; of several messages the first call's is done first
	do   func()
}

// post hands something to the life's goroutine.
func (l *life) post(call int, do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inbox = append(l.inbox, message{call, do})
}

// call numbers a call.
func (l *life) call() int {
	l.calls++
	return l.calls
}

// settle waits for all other goroutines, and does what they have to say.
func (l *life) settle() {
	for {
		synctest.Wait()
		l.mu.Lock()
		all := l.inbox
		l.inbox = nil
		l.mu.Unlock()
		if len(all) == 0 {
			return
		}
		slices.SortStableFunc(all, func(a, b message) int { return a.call - b.call })
		for _, m := range all {
			m.do()
			synctest.Wait() // so that it does not depend on timing whether what two of them append is one batch
		}
	}
}

// live lives with outages.
func (l *life) live() {
	l.outages = true
	l.run(time.Duration(6+l.rng.IntN(10)) * time.Second)
}

// run lets time pass.
func (l *life) run(d time.Duration) {
	for end := l.now() + d; l.now() < end && len(l.wrong) == 0; {
		e := l.next()
		if at := min(e.at, end); at > l.now() {
			time.Sleep(at - l.now())
			l.settle() // goroutines that have waited for the time
			continue
		}
		l.do(e)
		l.settle()
		l.log.read()
	}
}

// event is something that is due.
type event struct {
	at     time.Duration
	box    *box // of one of the next four
	heals  outage
	step   step
	kind   eventKind
	client *client
}

type eventKind int

const (
	eventNone eventKind = iota
	eventHeal
	eventStart
	eventThaw
	eventStep
	eventAsk
	eventStrike
)

func (e *event) or(other event) {
	if other.at < e.at {
		*e = other
	}
}

// next returns what is due next.
func (l *life) next() event {
	e := event{at: never}
	for _, b := range l.boxes {
		for o, t := range b.healing {
			if t != 0 {
				e.or(event{at: t, kind: eventHeal, box: b, heals: outage(o)})
			}
		}
		switch p := b.p; {
		case p == nil:
			e.or(event{at: b.back, kind: eventStart, box: b})
		case b.thaw != 0:
			e.or(event{at: b.thaw, kind: eventThaw, box: b})
		default:
			for s, t := range p.next {
				e.or(event{at: b.when(t), kind: eventStep, box: b, step: step(s)})
			}
		}
	}
	for _, c := range l.clients {
		if !l.quiet {
			e.or(event{at: c.at, kind: eventAsk, client: c})
		}
	}
	if l.outages {
		e.or(event{at: l.outage, kind: eventStrike})
	}
	return e
}

// do lets happen what is due.
func (l *life) do(e event) {
	switch e.kind {
	case eventHeal:
		e.box.end(e.heals)
	case eventStart:
		e.box.start()
	case eventThaw:
		e.box.goOn()
	case eventStep:
		e.box.p.do(e.step)
	case eventAsk:
		e.client.ask()
	case eventStrike:
		l.strike()
	}
}

// heal ends all outages, and lives on until the machines agree.
func (l *life) heal() {
	l.outages = false
	for _, b := range l.boxes {
		b.healAll()
	}
	l.tape.Arrive()
	l.tell("all outages end")
	l.run(3200 * time.Millisecond) // until every call has ended that began before
	l.runUntil(12*time.Second, l.well)
	for _, c := range l.clients {
		c.healed, c.atHeal, c.waiting = true, c.last, 0
	}
	l.run(1500 * time.Millisecond)
	l.quiet = true
	l.run(1500 * time.Millisecond)
	l.runUntil(3*time.Second, func() bool { return l.agree(0) })
}

// runUntil lets time pass until something is so, or for most.
func (l *life) runUntil(most time.Duration, is func() bool) {
	for end := l.now() + most; l.now() < end && len(l.wrong) == 0 && !is(); {
		l.run(250 * time.Millisecond)
	}
}

// agree reports whether all machines have the log as it is, but for the last few batches.
func (l *life) agree(lag uint64) bool {
	for _, b := range l.boxes {
		if b.p == nil || !b.p.here {
			return false
		}
		if at, _, _ := b.p.n.store.Head(); at+lag < l.log.at {
			return false
		}
	}
	return true
}

// close ends what is left.
func (l *life) close() {
	for _, b := range l.boxes {
		b.net.slow.Store(0)
		if b.p != nil {
			b.p.kill()
			b.p = nil
		}
	}
	l.closing.Wait()
	time.Sleep(time.Minute) // for calls of the engine that are on their way
}

// serving is how many processes serve.
func (l *life) serving() (n int) {
	for _, b := range l.boxes {
		if b.p != nil && b.p.books != nil {
			n++
		}
	}
	return n
}

// well reports whether one node serves and is certain, and the others follow.
func (l *life) well() bool {
	for _, b := range l.boxes {
		if b.p != nil && b.p.books != nil && !b.p.n.lease.valid() {
			return false
		}
	}
	return l.serving() == 1 && l.agree(2)
}
