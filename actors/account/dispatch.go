package account

import "sync/atomic"

// workers is a pool of goroutines that run the actors' mailboxes. protoactor's own
// dispatcher starts a goroutine for every burst of messages, and that goroutine's stack
// grows anew each time: with a read of the journal at the bottom of the stack this took an
// eighth of the engine's time.
type workers struct {
	work chan func()
	idle atomic.Int64
	end  chan struct{}
}

const (
	idleWorkers = 256 // number of idle goroutines that are kept for the next burst of messages
	throughput  = 300 // number of messages of one mailbox that are handled before another mailbox gets the goroutine
)

func newWorkers() *workers { return &workers{work: make(chan func()), end: make(chan struct{})} }

// Schedule implements actor.Dispatcher. It never waits: where no worker is idle, it starts
// a new worker.
func (w *workers) Schedule(fn func()) {
	select {
	case w.work <- fn:
	default:
		go w.run(fn)
	}
}

// Throughput implements actor.Dispatcher.
func (w *workers) Throughput() int { return throughput }

func (w *workers) run(fn func()) {
	for {
		fn()
		if w.idle.Add(1) > idleWorkers {
			w.idle.Add(-1)
			return
		}
		select {
		case fn = <-w.work:
			w.idle.Add(-1)
		case <-w.end:
			return
		}
	}
}

// close ends idle workers at once, and a busy worker once its function has returned. A
// function that is scheduled after close still runs.
func (w *workers) close() { close(w.end) }
