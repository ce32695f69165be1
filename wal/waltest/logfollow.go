package waltest

import (
	"context"
	"errors"

	"pixd/wal"
)

// follows follows log 0 in another goroutine, from after on, and sends the positions.
func (b *logBench) follows(ctx context.Context, after uint64) (positions <-chan uint64, ended <-chan error) {
	got, end, l := make(chan uint64, 1_000), make(chan error, 1), b.open()
	go func() {
		end <- l.Follow(ctx, 0, after, func(position uint64, _ []byte) error { got <- position; return nil })
	}()
	return got, end
}

// comes checks which position a follower gets next.
func (b *logBench) comes(positions <-chan uint64, want uint64) {
	b.Helper()
	select {
	case got := <-positions:
		if got != want {
			b.Fatalf("position %d, want %d", got, want)
		}
	case <-b.ctx.Done():
		b.Fatalf("position %d did not come", want)
	}
}

// ended returns why a follower has ended.
func (b *logBench) ended(end <-chan error) error {
	b.Helper()
	select {
	case err := <-end:
		return err
	case <-b.ctx.Done():
		b.Fatalf("the follower does not end")
		return nil
	}
}

func followsAll(b *logBench) {
	b.filled(9)
	for after := uint64(logBase); after < logBase+9; after++ {
		b.reads(after, logBase+9)
	}
	b.wants(b.Follow(b.ctx, 0, logBase-1, func(uint64, []byte) error { return nil }), wal.ErrTrimmed)
}

func followWaits(b *logBench) {
	b.founded()
	ctx, cancel := context.WithCancel(b.ctx)
	empty, end := b.follows(ctx, logBase)
	for i := uint64(logBase); i < logBase+20; i++ {
		b.must(b.Append(b.ctx, 0, i, batch(i+1)))
		b.comes(empty, i+1)
	}
	behind, endBehind := b.follows(ctx, logBase+10)
	for i := uint64(logBase + 11); i <= logBase+20; i++ {
		b.comes(behind, i)
	}
	b.must(b.Append(b.ctx, 0, logBase+20, batch(logBase+21)))
	b.comes(behind, logBase+21)
	b.comes(empty, logBase+21)
	cancel()
	b.wants(b.ended(end), context.Canceled)
	b.wants(b.ended(endBehind), context.Canceled)
	if len(empty)+len(behind) > 0 {
		b.Fatalf("a batch came twice")
	}
}

func followCatchesUp(b *logBench) {
	b.filled(200)
	for i := range uint64(20) { // other writings lie between the batches
		_, err := b.Node(b.ctx, wal.NodeVersion{Name: string(rune('a' + i))}, []byte("1"))
		b.must(err)
		b.must(b.Append(b.ctx, 1, logBase+i, []byte("other")))
		b.must(b.Append(b.ctx, 0, logBase+200+i, batch(logBase+201+i)))
	}
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	positions, end := b.follows(ctx, logBase+3)
	for i := uint64(logBase + 220); i < logBase+300; i++ {
		b.must(b.Append(b.ctx, 0, i, batch(i+1)))
	}
	for i := uint64(logBase + 4); i <= logBase+300; i++ {
		b.comes(positions, i)
	}
	cancel()
	b.wants(b.ended(end), context.Canceled)
	b.reads(logBase, logBase+300)
}

func followEnds(b *logBench) {
	b.filled(3)
	own := errors.New("the follower's own")
	calls := 0
	err := b.Follow(b.ctx, 0, logBase, func(uint64, []byte) error { calls++; return own })
	if err != own || calls != 1 { //nolint:errorlint // it is to be the same
		b.Fatalf("%v after %d calls", err, calls)
	}
	ctx, cancel := context.WithCancel(b.ctx)
	calls = 0
	err = b.Follow(ctx, 0, logBase, func(uint64, []byte) error {
		if calls++; calls == 3 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || calls != 3 {
		b.Fatalf("%v after %d calls", err, calls)
	}
}

func followBytes(b *logBench) {
	b.founded()
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	ends, seen := make(chan error, 3), make(chan string, 100)
	for range cap(ends) {
		l := b.open()
		go func() {
			ends <- l.Follow(ctx, 0, logBase, func(_ uint64, got []byte) error {
				seen <- string(got)
				for i := range got {
					got[i] = 'x'
				}
				return nil
			})
		}()
	}
	for i := uint64(logBase); i < logBase+3; i++ {
		mine := batch(i + 1)
		b.must(b.Append(b.ctx, 0, i, mine))
		clear(mine) // the caller's bytes are the caller's
		for range cap(ends) {
			if got := <-seen; got != string(batch(i+1)) {
				b.Fatalf("a follower has seen %q", got)
			}
		}
	}
	cancel()
	for range cap(ends) {
		b.wants(b.ended(ends), context.Canceled)
	}
	b.reads(logBase, logBase+3)
}

func followShort(b *logBench) {
	b.filled(3)
	fn := func(uint64, []byte) error { return errEnough }
	b.wants(b.Follow(b.ctx, 0, logBase+4, fn), wal.ErrShort)
	b.wants(b.Follow(b.ctx, 0, 1<<40, fn), wal.ErrShort)
	b.wants(b.Follow(b.ctx, 1, logBase+1, fn), wal.ErrShort)
}

// trims demands that all is removed that may be, which the contract does not.
func trims(b *logBench) {
	b.filled(10)
	fn := func(uint64, []byte) error { return nil }
	for _, upto := range []uint64{0, logBase, logBase + 1, logBase + 4, logBase + 2} {
		b.must(b.Trim(b.ctx, 0, upto))
	}
	for after := uint64(logBase); after < logBase+4; after++ {
		b.wants(b.Follow(b.ctx, 0, after, fn), wal.ErrTrimmed)
	}
	for after := uint64(logBase + 4); after < logBase+10; after++ {
		b.reads(after, logBase+10)
	}
	b.must(b.Append(b.ctx, 0, logBase+10, batch(logBase+11)))
	b.must(b.Append(b.ctx, 0, logBase+11, batch(logBase+12)))
	b.must(b.open().Trim(b.ctx, 0, logBase+10))
	b.wants(b.Follow(b.ctx, 0, logBase+9, fn), wal.ErrTrimmed)
	b.reads(logBase+10, logBase+12)
}

func trimKeepsNewest(b *logBench) {
	b.founded()
	b.must(b.Trim(b.ctx, 0, logBase+5))
	b.filled(5)
	b.must(b.Trim(b.ctx, 0, logBase+5))
	b.must(b.Trim(b.ctx, 0, logBase+500))
	b.ends(0, logBase+5)
	b.reads(logBase+4, logBase+5)
	b.wants(b.Follow(b.ctx, 0, logBase+3, func(uint64, []byte) error { return nil }), wal.ErrTrimmed)
	b.must(b.Append(b.ctx, 0, logBase+4, batch(logBase+5)))
	b.must(b.Append(b.ctx, 0, logBase+5, batch(logBase+6)))
	b.reads(logBase+4, logBase+6)
}

func trimLeavesOthers(b *logBench) {
	b.filled(3)
	for i := range uint64(20) {
		b.must(b.Append(b.ctx, 1, logBase+i, []byte("other")))
	}
	b.must(b.Trim(b.ctx, 1, logBase+20))
	b.reads(logBase, logBase+3)
	b.must(b.Trim(b.ctx, 0, logBase+2))
	b.must(b.Trim(b.ctx, 1, logBase+20))
	b.reads(logBase+2, logBase+3)
	b.ends(1, logBase+20)
}

func sizes(b *logBench) {
	b.filled(3)
	bytes, most, err := b.Size(b.ctx)
	b.must(err)
	if bytes <= 0 || most < bytes {
		b.Fatalf("%d bytes of %d", bytes, most)
	}
}

func closes(b *logBench) {
	b.filled(1)
	l, end := b.open(), make(chan error, 1)
	followed := make(chan struct{})
	go func() {
		end <- l.Follow(b.ctx, 0, logBase, func(uint64, []byte) error { close(followed); return nil })
	}()
	<-followed
	b.must(l.Close())
	if err := b.ended(end); err == nil {
		b.Fatalf("a closed follower ends without an error")
	}
	if err := l.Append(b.ctx, 0, logBase+1, []byte("x")); err == nil || errors.Is(err, wal.ErrMoved) {
		b.Fatalf("append on a closed connection: %v", err)
	}
	b.must(b.Append(b.ctx, 0, logBase+1, batch(logBase+2)))
}
