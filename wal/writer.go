package wal

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/cockroachdb/pebble/v2"
)

// yields is how often the writer yields the processor before it commits, so that entries
// that goroutines are about to append become part of the batch.
const yields = 3

// writer is the shell around the machine. It is one goroutine that takes the queued
// entries, commits a batch of them, makes its end visible in Durable and Head, releases the
// entries in order, and begins again.
type writer struct {
	s       *Store
	m       *Machine
	batch   *pebble.Batch
	pending []*Entry // entries taken from the queue, in order, that are not in a batch yet; its memory is exchanged with the queue's
}

func newWriter(s *Store, newest Head) *writer {
	w := &writer{
		s: s,
		m: NewMachine(newest),
		batch: s.db.NewBatch(
			pebble.WithInitialSizeBytes(256<<10),
			pebble.WithMaxRetainedSizeBytes(8<<20)),
	}
	w.m.segment, w.m.most = s.segment+1, s.opts.segmentRecords
	return w
}

// run writes batches until the store closes or has failed. ctx ends waiting for a Log.
func (w *writer) run(ctx context.Context) {
	defer close(w.s.stopped)
	defer func() {
		// Pebble panics if it cannot write its log. After that panic, or a panic of this
		// package or of an Out, nothing may be released.
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
		if !w.commit(ctx) {
			return
		}
	}
	_ = w.batch.Close()
}

// await takes the queued entries, and sleeps while there are none that must be written now. It
// returns false when the store has failed, or when it closes and every entry is written.
func (w *writer) await() bool {
	for {
		if w.s.fail.set.Load() {
			return false
		}
		if len(w.pending) > 0 {
			return true
		}
		s := w.s
		s.mu.Lock()
		if s.urgent && len(s.queue) > 0 {
			s.mu.Unlock()
			w.drain()
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
	s.urgent = false
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

// commit makes one batch of the oldest pending entries, writes it and releases the entries.
// It returns false if the store has failed.
func (w *writer) commit(ctx context.Context) bool {
	n := w.fill()
	before := w.m.newest.Position
	if err := w.measured(ctx); err != nil {
		w.s.fail.fail(fmt.Errorf("wal: write %s: %w", w.s.opts.Dir, err))
	}
	if w.s.fail.set.Load() {
		return false
	}
	// A log that has just taken a batch from this node had no other owner until then.
	if w.s.shared != nil && w.m.newest.Position == before && !w.s.certain() {
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
			w.s.release(e.Out)
		}
	}
	w.m.Durable()
	rest := copy(w.pending, w.pending[n:])
	clear(w.pending[rest:])
	w.pending = w.pending[:rest]
	return true
}

// fill offers pending entries to the machine until the batch is full, and returns how many
// it has offered.
func (w *writer) fill() (n int) {
	for _, e := range w.pending {
		if w.m.Full(e) {
			break
		}
		n++
		if !w.m.Knows(e) {
			seq, sum, segment, err := w.newest(e.Stream)
			if err != nil {
				w.m.Refuse(e, fmt.Errorf("%w: %w", ErrSequence, err))
				continue
			}
			w.m.learn(e.Stream, seq, sum, segment)
		}
		w.m.Take(e)
	}
	return n
}

// lastTries is how often the newest record of a stream is read before an entry is refused because
// it cannot be read. Whoever appended the entry has changed its memory already, and must read the
// stream again, or even begin anew, after a refusal.
const lastTries = 3

// newest returns the sequence, checksum and segment of a stream's newest record.
func (w *writer) newest(stream Stream) (seq, sum uint64, segment uint32, err error) {
	for range lastTries {
		if seq, sum, segment, err = w.s.last(stream); !IsUnread(err) {
			break
		}
	}
	return seq, sum, segment, err
}

// measured is write inside AroundCommit.
func (w *writer) measured(ctx context.Context) (err error) {
	around := w.s.opts.AroundCommit
	if around == nil {
		return w.write(ctx)
	}
	around(w.m.records, func() { err = w.write(ctx) })
	return err
}

// write commits and syncs the machine's batch, or adds it to the Log before it commits it. It may block
// for ever; see pebbleLog.Fatalf.
func (w *writer) write(ctx context.Context) error {
	b := w.batch
	b.Reset()
	for i, e := range w.m.entries {
		if w.m.refused[i] == nil {
			if err := w.put(e); err != nil {
				return err
			}
		}
	}
	for _, p := range w.m.begun {
		if err := b.Set(placeKey(p.stream, p.first), placeValue(w.m.segment), nil); err != nil {
			return err
		}
	}
	prev := w.m.newest
	row := w.m.Seal()
	if row != nil {
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
	if w.s.shared == nil {
		return w.s.db.Apply(b, w.s.opts.sync)
	}
	if row != nil {
		if err := w.share(ctx, prev); err != nil {
			return err
		}
	}
	return w.s.db.Apply(b, pebble.NoSync)
}

// put writes one entry's records and rows into the batch.
func (w *writer) put(e *Entry) error {
	for i := range e.Records {
		r := &e.Records[i]
		op := w.batch.SetDeferred(segmentKeyLen, len(r.Value))
		putSegmentKey(op.Key, w.m.segment, e.Stream, r.Seq)
		copy(op.Value, r.Value)
		if err := op.Finish(); err != nil {
			return err
		}
	}
	for i := range e.Ops {
		if err := w.s.opts.putOp(w.batch, &e.Ops[i]); err != nil {
			return err
		}
	}
	return nil
}

func (o *Options) putOp(b *pebble.Batch, op *Op) error {
	switch op.Kind {
	case OpSet:
		return b.Set(op.Key, op.Value, nil)
	case OpDelete:
		return o.delete(b, op.Key)
	default:
		return b.DeleteRange(op.Key, op.Value, nil)
	}
}

// publish makes the batch visible in Durable and Head, before the Outs are released.
func (w *writer) publish(entries uint64) {
	s := w.s
	s.headMu.Lock()
	s.head = w.m.newest
	s.headMu.Unlock()
	s.notes.committed.Store(w.m.newest.Position)
	// Beside the writer only Append changes durable, for an entry that writes nothing, and
	// only while the writer sleeps.
	durable := Ticket(s.durable.Add(entries))
	s.mu.Lock()
	for _, e := range w.pending[:entries] {
		if s.newest[e.Stream] <= durable {
			delete(s.newest, e.Stream)
		}
	}
	s.mu.Unlock()
}
