package waltest

import (
	"bytes"
	"context"

	"pixd/wal"
)

// Follow implements wal.Log.
func (r *Reel) Follow(ctx context.Context, log uint16, after uint64, fn func(position uint64, batch []byte) error) error {
	for {
		changed := r.change()
		if err := r.Poll(ctx, log, &after, fn); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

func (r *Reel) change() <-chan struct{} {
	r.tape.mu.Lock()
	defer r.tape.mu.Unlock()
	return r.tape.changed
}

// Poll is Follow without waiting: it calls fn with each batch that there is behind position *after,
// which it moves, and returns.
func (r *Reel) Poll(ctx context.Context, log uint16, after *uint64, fn func(position uint64, batch []byte) error) error {
	for {
		batch, err := r.next(ctx, log, *after)
		if err != nil || batch == nil {
			return err
		}
		*after++
		if err := fn(*after, *batch); err != nil {
			return err
		}
	}
}

// next returns the batch behind a position; nil: there is none yet.
func (r *Reel) next(ctx context.Context, log uint16, after uint64) (*[]byte, error) {
	r.tape.mu.Lock()
	defer r.tape.mu.Unlock()
	err := r.unreachable(ctx)
	switch {
	case r.held && !r.closed || err == ErrNoAnswer: //nolint:errorlint // unreachable wraps nothing
		return nil, nil
	case err != nil:
		return nil, err
	case r.tape.cluster == nil:
		return nil, wal.ErrNoCluster
	}
	l, before := r.tape.track(log)
	end := before + uint64(len(l.batches))
	switch {
	case after < before:
		return nil, wal.ErrTrimmed
	case after > end:
		return nil, wal.ErrShort
	case after == end:
		return nil, nil
	}
	batch := bytes.Clone(l.batches[after-before])
	return &batch, nil
}
