package wal

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// failure says whether the store has failed. After a failed write or sync it is set before
// anything else happens, and it is never reset.
type failure struct {
	set  atomic.Bool   // read before every release
	done chan struct{} // closed right after err is there

	mu     sync.Mutex
	err    error
	notify func(error) // nil while the store is being opened: Open returns the error itself
}

func newFailure() *failure { return &failure{done: make(chan struct{})} }

// fail sets the flag and, the first time, calls OnFailure, which runs on a
// goroutine of its own: Pebble may hold locks here.
func (f *failure) fail(err error) {
	f.set.Store(true)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return
	}
	f.err = err
	close(f.done)
	if f.notify != nil {
		go f.notify(err)
	}
}

// arm has notify called on a failure from now on. It returns the failure that came before.
func (f *failure) arm(notify func(error)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notify = notify
	return f.err
}

func (f *failure) armed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.notify != nil
}

// stop fails and does not return: whoever called would go on as if the write
// had succeeded. It blocks for ever instead of ending the goroutine, because
// Pebble calls with locks held, and deferred unlocks would let others in on
// half-made state.
func (f *failure) stop(err error) {
	f.fail(err)
	select {}
}

func (f *failure) cause() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// guard runs a call into Pebble and returns its error. It returns the store's failure
// where the call never returns (see stop), and an error where Pebble panics, which
// damaged files can provoke.
func (f *failure) guard(call func() error) error {
	result := make(chan error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				result <- fmt.Errorf("pebble panicked: %v", r)
			}
		}()
		result <- call()
	}()
	select {
	case err := <-result:
		return err
	case <-f.done:
		return f.cause()
	}
}

// pebbleLog is Pebble's logger: its messages are logged at debug level, and Fatalf is the store's failure.
type pebbleLog struct {
	log  *slog.Logger
	fail *failure
}

var _ pebble.Logger = pebbleLog{}

func (l pebbleLog) Infof(format string, args ...any) {
	l.log.Debug("pebble", "what", fmt.Sprintf(format, args...))
}

func (l pebbleLog) Errorf(format string, args ...any) {
	l.log.Error("pebble", "what", fmt.Sprintf(format, args...))
}

// Fatalf must not return, see stop.
func (l pebbleLog) Fatalf(format string, args ...any) {
	l.fail.stop(fmt.Errorf("wal: "+format, args...))
}
