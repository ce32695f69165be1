package wal

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// failure says whether the store has failed. After a failed write or sync it is set before
// the store does anything else, and it is never reset.
type failure struct {
	set  atomic.Bool   // true: the store has failed; read before every release
	done chan struct{} // closed once err is set

	mu     sync.Mutex
	err    error
	notify func(error) // the caller's OnFailure; nil while the store is being opened, when Open returns the error itself
}

func newFailure() *failure { return &failure{done: make(chan struct{})} }

// fail marks the store as failed. The first call also calls OnFailure, on a goroutine of
// its own, because Pebble may hold locks while it calls fail.
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

// arm sets the function that is called on a failure from now on. It returns the failure
// that happened before, if any.
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

// stop marks the store as failed and never returns, because its caller would go on as if
// the write had succeeded. It blocks for ever instead of ending the goroutine: Pebble calls
// it with locks held, and deferred unlocks would let other goroutines use half-made state.
func (f *failure) stop(err error) {
	f.fail(err)
	select {}
}

func (f *failure) cause() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// guard runs a call into Pebble and returns the call's error. If the call never returns
// because the store failed (see stop), guard returns the store's failure. If Pebble panics,
// which damaged files can cause, guard returns an error.
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

// close closes Pebble after a guarded call that ended with err, and returns err joined with what failed
// meanwhile. After a failure it leaves Pebble open until the process ends: the call may still be using it.
func (f *failure) close(db *pebble.DB, err error) error {
	if failed := f.cause(); failed != nil {
		return cmp.Or(err, failed)
	}
	return errors.Join(err, f.guard(db.Close))
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

// Fatalf marks the store as failed and never returns, as Pebble requires; see failure.stop.
func (l pebbleLog) Fatalf(format string, args ...any) {
	l.fail.stop(fmt.Errorf("wal: "+format, args...))
}
