package waltest

import (
	"bytes"
	"context"

	"pixd/wal"
)

// Fault is what becomes of one call that writes.
type Fault int

// The faults of a Reel. All but Doubled make the call return ErrNoAnswer.
const (
	None    Fault = iota
	Refused       // the call does not arrive
	Lost          // it arrives, its answer does not
	Delayed       // it arrives when Tape.Arrive is called
	Doubled       // it arrives, is answered, and arrives again when Tape.Arrive is called
)

// Reel is one node's connection to a Tape. Several goroutines may use it.
type Reel struct {
	tape *Tape

	// What follows is guarded by the tape's mutex.
	faults []Fault
	cut    bool
	held   bool
	closed bool
}

var _ wal.Log = (*Reel)(nil)

// Next says what becomes of the next calls that write, one fault for each: Found, Append, Take,
// Node, Leave and Trim.
func (r *Reel) Next(faults ...Fault) {
	r.tape.mu.Lock()
	defer r.tape.mu.Unlock()
	r.faults = append(r.faults, faults...)
}

// Cut separates the reel from the tape, or joins it again: calls return ErrNoAnswer and have no
// effect, and Follow brings nothing.
func (r *Reel) Cut(cut bool) { r.set(&r.cut, cut) }

// Hold keeps back what Follow and Poll would bring, until it is called with false.
func (r *Reel) Hold(held bool) { r.set(&r.held, held) }

func (r *Reel) set(what *bool, to bool) {
	r.tape.mu.Lock()
	defer r.tape.mu.Unlock()
	*what = to
	r.tape.wake()
}

// Close implements wal.Log.
func (r *Reel) Close() error {
	r.set(&r.closed, true)
	return nil
}

// ask carries out a call that reads.
func ask[A any](ctx context.Context, r *Reel, do func() (A, error)) (none A, err error) {
	r.tape.mu.Lock()
	defer r.tape.mu.Unlock()
	if err := r.unreachable(ctx); err != nil {
		return none, err
	}
	return do()
}

// tell carries out a call that writes, as the next fault says.
func tell[A any](ctx context.Context, r *Reel, do func() (A, error)) (none A, err error) {
	t := r.tape
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := r.unreachable(ctx); err != nil {
		return none, err
	}
	fault := None
	if len(r.faults) > 0 {
		fault, r.faults = r.faults[0], r.faults[1:]
	}
	if fault == Delayed || fault == Doubled {
		t.late = append(t.late, func() { _, _ = do() })
	}
	if fault == Refused || fault == Delayed {
		return none, ErrNoAnswer
	}
	a, err := do()
	t.wake()
	if fault == Lost {
		return none, ErrNoAnswer
	}
	return a, err
}

func (r *Reel) unreachable(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case r.closed:
		return errClosed
	case r.cut:
		return ErrNoAnswer
	}
	return nil
}

// Cluster implements wal.Log.
func (r *Reel) Cluster(ctx context.Context) (wal.Cluster, error) {
	return ask(ctx, r, func() (wal.Cluster, error) {
		if r.tape.cluster == nil {
			return wal.Cluster{}, wal.ErrNoCluster
		}
		return r.tape.agreed(), nil
	})
}

// Found implements wal.Log.
func (r *Reel) Found(ctx context.Context, c wal.Cluster) (wal.Cluster, error) {
	return tell(ctx, r, func() (wal.Cluster, error) { return r.tape.found(c), nil })
}

// Append implements wal.Log.
func (r *Reel) Append(ctx context.Context, log uint16, after uint64, batch []byte) error {
	return r.Take(ctx, log, after, wal.NodeVersion{}, batch)
}

// Take implements wal.Log.
func (r *Reel) Take(ctx context.Context, log uint16, after uint64, deposed wal.NodeVersion, batch []byte) error {
	batch = bytes.Clone(batch)
	_, err := tell(ctx, r, func() (struct{}, error) { return struct{}{}, r.tape.take(log, after, deposed, batch) })
	return err
}

// End implements wal.Log.
func (r *Reel) End(ctx context.Context, log uint16) (uint64, error) {
	return ask(ctx, r, func() (uint64, error) {
		if r.tape.cluster == nil {
			return 0, wal.ErrNoCluster
		}
		l, before := r.tape.track(log)
		return before + uint64(len(l.batches)), nil
	})
}

// Node implements wal.Log.
func (r *Reel) Node(ctx context.Context, self wal.NodeVersion, state []byte) (wal.NodeVersion, error) {
	state = bytes.Clone(state)
	return tell(ctx, r, func() (wal.NodeVersion, error) { return r.tape.node(self, state) })
}

// Nodes implements wal.Log.
func (r *Reel) Nodes(ctx context.Context) ([]wal.NodeState, error) {
	return ask(ctx, r, func() ([]wal.NodeState, error) { return r.tape.states(), nil })
}

// Glance implements wal.Log. It is never late.
func (r *Reel) Glance(ctx context.Context) ([]wal.NodeState, error) { return r.Nodes(ctx) }

// Leave implements wal.Log.
func (r *Reel) Leave(ctx context.Context, name string) error {
	_, err := tell(ctx, r, func() (struct{}, error) { delete(r.tape.nodes, name); return struct{}{}, nil })
	return err
}

// Trim implements wal.Log.
func (r *Reel) Trim(ctx context.Context, log uint16, upto uint64) error {
	_, err := tell(ctx, r, func() (struct{}, error) { return struct{}{}, r.tape.trim(log, upto) })
	return err
}

// Size implements wal.Log.
func (r *Reel) Size(ctx context.Context) (size, most int64, err error) {
	size, err = ask(ctx, r, func() (n int64, err error) {
		for _, l := range r.tape.logs {
			for _, b := range l.batches {
				n += int64(len(b))
			}
		}
		return n, nil
	})
	return size, tapeSize, err
}
