package wal

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/cockroachdb/pebble/v2"
)

// yields is how often the writer yields the processor before it commits, so that entries
// that are about to be appended join the batch.
const yields = 3

// writer is the shell around the machine: one goroutine that drains the queue,
// commits one batch, publishes it, releases in order, and goes on.
type writer struct {
	s       *Store
	m       *Machine
	batch   *pebble.Batch
	pending []*Entry // drained, in order, not yet in a batch; swapped with the queue
}

func newWriter(s *Store, newest Head) *writer {
	return &writer{
		s: s,
		m: NewMachine(newest),
		batch: s.db.NewBatch(
			pebble.WithInitialSizeBytes(256<<10),
			pebble.WithMaxRetainedSizeBytes(8<<20)),
	}
}

// run ends when the store closes or has failed.
func (w *writer) run() {
	defer close(w.s.stopped)
	defer func() {
		// Pebble panics if it cannot write its log. Nothing may be released after that,
		// nor after a panic of our own or of an Out.
		if r := recover(); r != nil {
			w.s.opts.Log.Error("wal: writer panicked", "dir", w.s.opts.Dir, "panic", r, "stack", string(debug.Stack()))
			w.s.fail.fail(fmt.Errorf("wal: write %s: %v", w.s.opts.Dir, r))
		}
	}()
	for w.await() {
		for i := 0; i < yields && len(w.pending) < batchRecords; i++ {
			runtime.Gosched()
		}
		w.drain()
		if !w.commit() {
			return
		}
	}
	_ = w.batch.Close()
}

// await drains the queue and sleeps while there is nothing to do. It is false
// when the store closes and all is written.
func (w *writer) await() bool {
	for {
		if w.s.fail.set.Load() {
			return false
		}
		w.drain()
		if len(w.pending) > 0 {
			return true
		}
		s := w.s
		s.mu.Lock()
		if len(s.queue) > 0 {
			s.mu.Unlock()
			continue
		}
		if s.closing {
			s.mu.Unlock()
			return false
		}
		s.idle = true
		s.mu.Unlock()
		select {
		case <-s.wake:
		case <-s.fail.done:
			return false
		}
	}
}

// drain moves the queued entries to pending.
func (w *writer) drain() {
	s := w.s
	s.mu.Lock()
	if len(w.pending) == 0 {
		w.pending, s.queue = s.queue, w.pending[:0]
		s.mu.Unlock()
		return
	}
	w.pending = append(w.pending, s.queue...)
	clear(s.queue)
	s.queue = s.queue[:0]
	s.mu.Unlock()
}

// commit makes one batch of the oldest pending entries, writes it and releases
// them. It is false if the store has failed.
func (w *writer) commit() bool {
	n := w.fill()
	if err := w.write(); err != nil {
		w.s.fail.fail(fmt.Errorf("wal: write %s: %w", w.s.opts.Dir, err))
	}
	if w.s.fail.set.Load() {
		return false
	}
	w.publish(uint64(n))
	for i, e := range w.m.entries {
		if w.s.fail.set.Load() {
			return false
		}
		if err := w.m.refused[i]; err != nil {
			refuse(e, err)
		} else {
			w.s.Tell(e.Stream, e.Out)
		}
	}
	w.m.Durable()
	rest := copy(w.pending, w.pending[n:])
	clear(w.pending[rest:])
	w.pending = w.pending[:rest]
	return true
}

// fill offers pending entries to the machine until it is full.
func (w *writer) fill() (n int) {
	for _, e := range w.pending {
		if w.m.Full(e) {
			break
		}
		n++
		if !w.m.Knows(e) {
			seq, sum, err := w.s.last(e.Stream)
			if err != nil {
				w.m.Refuse(e, fmt.Errorf("%w: %w", ErrSequence, err))
				continue
			}
			w.m.Learn(e.Stream, seq, sum)
		}
		w.m.Take(e)
	}
	return n
}

// write commits the machine's batch, synced. It may block for ever: see pebbleLog.Fatalf.
func (w *writer) write() error {
	b := w.batch
	b.Reset()
	for i, e := range w.m.entries {
		if w.m.refused[i] == nil {
			if err := put(b, e); err != nil {
				return err
			}
		}
	}
	if row := w.m.Seal(); row != nil {
		op := b.SetDeferred(batchKeyLen, len(row))
		putBatchKey(op.Key, w.m.newest.Position)
		copy(op.Value, row)
		if err := op.Finish(); err != nil {
			return err
		}
	}
	if b.Empty() {
		return nil
	}
	w.s.keys.Add(uint64(b.Count()))
	w.s.bytes.Add(uint64(b.Len()))
	return w.s.db.Apply(b, w.s.opts.sync)
}

// put writes one entry's records and rows into the batch.
func put(b *pebble.Batch, e *Entry) error {
	for i := range e.Records {
		r := &e.Records[i]
		op := b.SetDeferred(recordKeyLen, len(r.Value))
		putRecordKey(op.Key, e.Stream, r.Seq)
		copy(op.Value, r.Value)
		if err := op.Finish(); err != nil {
			return err
		}
	}
	for i := range e.Ops {
		if err := putOp(b, &e.Ops[i]); err != nil {
			return err
		}
	}
	return nil
}

func putOp(b *pebble.Batch, o *Op) error {
	switch o.Kind {
	case OpSet:
		return b.Set(o.Key, o.Value, nil)
	case OpDelete:
		return b.Delete(o.Key, nil)
	default:
		return b.DeleteRange(o.Key, o.Value, nil)
	}
}

// publish makes the batch's end visible, before its Outs are released.
func (w *writer) publish(entries uint64) {
	s := w.s
	s.headMu.Lock()
	s.head = w.m.newest
	s.headMu.Unlock()
	s.notes.committed.Store(w.m.newest.Position)
	// Besides the writer only Append changes durable, for a parked entry, while the
	// writer sleeps.
	s.durable.Add(entries)
}
