package wal

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Store is an open journal. Its methods may be called from any goroutine.
type Store struct {
	opts   Options
	db     *pebble.DB
	lock   *folderLock
	anchor *anchorFile
	fail   *failure
	notes  *flushNotes

	segment uint32  // the newest when the store was opened for writing; 0: there was none
	shared  *shared // nil: the journal is this machine's alone

	readers readers

	submitted atomic.Uint64
	durable   atomic.Uint64
	keys      atomic.Uint64
	bytes     atomic.Uint64

	mu      sync.Mutex // guards queue, urgent, timed, newest, idle, closing and the order of submitted
	queue   []*Entry
	urgent  bool              // the queue must be written now
	timed   bool              // hurry will be called within lazyDelay
	newest  map[Stream]Ticket // of each stream with entries that write something and are not durable: the newest one
	idle    bool              // the writer sleeps, and every submitted entry that is not in the queue is durable and released
	closing bool
	wake    chan struct{} // wakes the writer; capacity 1
	stopped chan struct{} // closed when the writer has ended

	doubt error // why the batches could not be verified; see Options.Doubtful

	headMu   sync.Mutex
	head     Head // the newest durable batch
	anchored Head // the batch that the anchor names, never newer than head

	closeOnce  sync.Once
	closeErr   error
	stopAnchor chan struct{}
	anchorDone chan struct{}
	synced     atomic.Uint64 // position of the newest batch that the anchor names
	marked     uint64        // position of the verified mark that was written last; only the anchor's goroutine uses it
}

// Append queues e and returns its ticket. It never waits for the disk. An entry without
// records, rows and Forget is released at once, on the caller's goroutine, if no earlier
// entry is unfinished. After a failure, or once Close was called, nothing is queued or
// released, and the returned ticket never becomes durable. Append panics on keys that
// callers may not write.
func (s *Store) Append(e *Entry) Ticket {
	if s.opts.ReadOnly {
		panic("wal: append: " + s.opts.Dir + " is open for reading only")
	}
	e.Check()
	if s.shared != nil {
		e.checkShared()
	}
	return s.submit(e)
}

// Submitted returns the newest ticket that Append has given out.
func (s *Store) Submitted() Ticket { return Ticket(s.submitted.Load()) }

// Durable returns the newest ticket for which its entry and all earlier entries are on
// disk. The Outs of these entries may not have been released yet.
func (s *Store) Durable() Ticket { return Ticket(s.durable.Load()) }

// atRest tells whether every entry of the stream that writes something is durable.
func (s *Store) atRest(stream Stream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, busy := s.newest[stream]
	return !busy
}

// Written returns how many keys were set or deleted since the store was opened, and how
// many bytes the batches with these changes had: by how much the log grew, without its
// framing.
func (s *Store) Written() (keys, bytes uint64) { return s.keys.Load(), s.bytes.Load() }

// Free returns how many bytes this process can still write on the store's disk.
func (s *Store) Free() (uint64, error) {
	usage, err := s.opts.FS.GetDiskUsage(s.opts.Dir)
	if err != nil {
		return 0, fmt.Errorf("wal: free space of %s: %w", s.opts.Dir, err)
	}
	return usage.AvailBytes, nil
}

// DiskUsage returns how many bytes the store's files have, logs included.
func (s *Store) DiskUsage() uint64 {
	if s.readers.enter() != nil {
		return 0
	}
	defer s.readers.leave()
	return s.db.Metrics().DiskSpaceUsage()
}

// TableBytes returns how many bytes flushes and compactions have written to tables since the
// store was opened. Divided by the bytes of Written it is the write amplification of the tables,
// to which the log adds 1.
func (s *Store) TableBytes() uint64 {
	if s.readers.enter() != nil {
		return 0
	}
	defer s.readers.leave()
	all := s.db.Metrics().Total()
	return all.TableBytesFlushed + all.TableBytesCompacted
}

// Head returns the position (0: there is no batch yet), the time in Unix milliseconds and
// the sum of the newest durable batch.
func (s *Store) Head() (position uint64, time int64, sum uint64) {
	h := s.durableHead()
	return h.Position, h.Time, h.Sum
}

func (s *Store) durableHead() Head {
	s.headMu.Lock()
	defer s.headMu.Unlock()
	return s.head
}

// Doubt returns why the batches of a store that was opened with Options.Doubtful could not be
// verified; nil where they could.
func (s *Store) Doubt() error { return s.doubt }

// Err returns why the store has failed; nil: it has not failed.
func (s *Store) Err() error { return s.fail.cause() }

// Close writes and releases the queued entries, moves everything into tables, writes the
// anchor and the verified mark, and unlocks the folder. Reads that begin after Close was
// called get ErrClosed; Close waits for reads that began before. If such a read does not
// end in time, Close returns an error and leaves the store open: the folder stays locked
// until the process ends, and no data is lost. After a failure of the store Close returns
// that failure: the folder stays locked, unless the failure is ErrFenced, and the next Open
// verifies what is on disk. A second call does nothing and returns the result of the first one.
func (s *Store) Close() error {
	s.closeOnce.Do(func() { s.closeErr = s.close() })
	return s.closeErr
}

func (s *Store) close() error {
	s.readers.close()
	if s.opts.ReadOnly {
		if !s.readers.over(s.opts.readPatience) {
			return s.wrapClose(errReading)
		}
		return s.wrapClose(errors.Join(s.db.Close(), s.lock.release()))
	}
	s.mu.Lock()
	s.closing = true
	s.writeNow()
	close(s.stopAnchor)
	if s.shared != nil {
		defer s.shared.end(s)()
	}
	for _, step := range []func() error{s.windUp, s.awaitReaders} {
		over := make(chan struct{})
		err := s.fail.guard(func() error {
			defer close(over)
			return step()
		})
		if errors.Is(err, errReading) {
			return s.wrapClose(err)
		}
		if err != nil {
			s.fail.fail(fmt.Errorf("wal: write %s: %w", s.opts.Dir, err))
			return s.wrapClose(errors.Join(err, s.leave(over)))
		}
	}
	if err := s.fail.guard(s.shut); err != nil {
		s.fail.fail(fmt.Errorf("wal: write %s: %w", s.opts.Dir, err))
		return s.wrapClose(err)
	}
	return s.wrapClose(s.lock.release())
}

// leave closes a store that has failed only because another node owns its log. Its disk is well, and
// its folder may be opened again by the same process. over is closed once the step of Close that saw
// the failure has ended.
func (s *Store) leave(over <-chan struct{}) error {
	if !errors.Is(s.fail.cause(), ErrFenced) {
		return nil
	}
	ended := make(chan error, 1)
	go func() {
		<-over
		<-s.stopped
		<-s.anchorDone
		err := s.awaitReaders()
		if err == nil {
			err = errors.Join(s.shut(), s.lock.release())
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-time.After(2 * s.opts.readPatience):
		return errReading
	}
}

// errReading says that Close gave up waiting for reads. It is not a failure of the disk:
// everything is written.
var errReading = errors.New("reads in hand do not end; the store is left open under them")

func (s *Store) awaitReaders() error {
	if !s.readers.over(s.opts.readPatience) {
		return errReading
	}
	return nil
}

func (s *Store) shut() error { return errors.Join(s.db.Close(), s.anchor.close()) }

// windUp waits for the writer and the anchor's goroutine, and then flushes the store.
func (s *Store) windUp() error {
	<-s.stopped
	<-s.anchorDone
	if err := s.fail.cause(); err != nil {
		return err
	}
	h := s.durableHead()
	if err := errors.Join(s.syncShared(), s.writeAnchor(h)); err != nil {
		return err
	}
	if err := s.db.Set(metaKey(markName), markValue(h), pebble.Sync); err != nil {
		return err
	}
	return s.db.Flush()
}

func (s *Store) wrapClose(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("wal: close %s: %w", s.opts.Dir, err)
}
