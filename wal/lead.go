package wal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Lead is what a store needs to write a journal that is in a Log.
type Lead struct {
	Log Log

	// Certain returns true as soon as this node is certain that it is the log's owner, and false if
	// it no longer is. Nothing is released before it has returned true.
	Certain func() bool
}

// ErrFenced is the failure of a store whose node is no longer the log's owner. What was appended
// and not released may be in the log or not; whoever asked for it must get no answer.
var ErrFenced = errors.New("another node owns the log")

// Lead makes a store that follows the one that writes: its newest batch is the one that has made
// this node the owner. Apply must not be called any more.
func (s *Store) Lead(l Lead) error {
	if at, o := s.durableHead().Position, s.Owner(); o.Name == "" || o.Epoch != at {
		return fmt.Errorf("wal: lead %s: the owner is %q since batch %d, and the journal ends at %d", s.opts.Dir, o.Name, o.Epoch, at)
	}
	s.shared.lead = &l
	ctx, cancel := context.WithCancel(context.Background())
	s.shared.cancel = cancel
	go newWriter(s, s.durableHead()).run(ctx)
	return nil
}

// share adds the writer's batch to the log, behind the batch prev. It returns once a majority of the nodes
// has it, or with ErrFenced where that can no longer be.
func (w *writer) share(ctx context.Context, prev Head) error {
	sh := w.s.shared
	batch, err := encodeLogBatch(logHeader{sh.log, sh.owner.Epoch, w.m.newest.Position, prev.Sum}, w.batch)
	if err != nil {
		return err
	}
	for tries := 0; ; tries++ {
		err := sh.lead.Log.Append(ctx, sh.log, prev.Position, batch)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, ErrMoved):
			return fmt.Errorf("batch %d: %w", w.m.newest.Position, ErrFenced)
		case ctx.Err() != nil:
			return fmt.Errorf("batch %d: %w", w.m.newest.Position, err)
		}
		if tries%warnEvery == 0 {
			w.s.opts.Log.Warn("wal: the log does not take a batch; trying on", "batch", w.m.newest.Position, "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(appendAgain):
		}
	}
}

// appendAgain is the time between two tries to add the same batch to a log.
const appendAgain = 20 * time.Millisecond

// warnEvery is after how many such tries there is another warning.
const warnEvery = 250

// Resign gives the log up in favour of the node next, or of any, behind everything that was
// appended. Nothing can be appended after it, and nothing that was only read is released. It returns once the log has it; where the log does not
// take it for as long as Close waits, the store fails. The store must then be closed.
func (s *Store) Resign(next string) error {
	done := make(resultOut, 1)
	e := &Entry{Ops: []Op{{Kind: OpSet, Key: metaKey(logOwnerName), Value: Owner{Next: next, Level: s.Owner().Level}.row()}}, Shared: true, Out: []Out{done}}
	s.mu.Lock()
	if s.closing || s.fail.set.Load() {
		s.mu.Unlock()
		return ErrClosed
	}
	s.shared.resigned.Store(true)
	s.submitted.Add(1)
	s.queue = append(s.queue, e)
	s.closing = true
	s.writeNow()
	defer time.AfterFunc(s.opts.readPatience, s.shared.cancel).Stop()
	return s.await(done)
}

// Synced returns the position of the newest batch that is certainly on this machine's disk.
func (s *Store) Synced() uint64 { return s.synced.Load() }

// certain returns whether this node still is the log's owner, once it is known. A store that follows
// releases nothing that depends on being the owner.
func (s *Store) certain() bool {
	if s.shared.lead == nil || s.shared.lead.Certain() {
		return true
	}
	s.fail.fail(fmt.Errorf("wal: %s: %w", s.opts.Dir, ErrFenced))
	return false
}

// end lets a store that is being closed end although its log does not answer, and one that has
// never led without a writer. The function that it returns ends the waiting.
func (sh *shared) end(s *Store) func() bool {
	if sh.lead == nil {
		close(s.stopped)
		return func() bool { return true }
	}
	return time.AfterFunc(s.opts.readPatience, sh.cancel).Stop
}

// syncShared brings the batches of a store whose journal is in a Log to this machine's disk. Others
// have synced theirs.
func (s *Store) syncShared() error {
	if s.shared == nil {
		return nil
	}
	return s.db.LogData(nil, pebble.Sync)
}
