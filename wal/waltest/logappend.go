package waltest

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"pixd/wal"
)

func notFounded(b *logBench) {
	_, err := b.Cluster(b.ctx)
	b.wants(err, wal.ErrNoCluster)
	b.wants(b.Append(b.ctx, 0, 0, []byte("a")), wal.ErrNoCluster)
	_, err = b.End(b.ctx, 0)
	b.wants(err, wal.ErrNoCluster)
	b.wants(b.Follow(b.ctx, 0, 0, func(uint64, []byte) error { return nil }), wal.ErrNoCluster)
}

func foundsOnce(b *logBench) {
	first := wal.Cluster{ID: "first", Base: 7, BaseSum: 1<<63 + 1, Hard: map[string]string{"k": "<v>"}}
	for _, c := range []wal.Cluster{first, {ID: "second"}} {
		got, err := b.open().Found(b.ctx, c)
		b.must(err)
		again, err := b.open().Cluster(b.ctx)
		b.must(err)
		for _, is := range []wal.Cluster{got, again} {
			if is.ID != "first" || is.Base != 7 || is.BaseSum != first.BaseSum || len(is.Hard) != 1 || is.Hard["k"] != "<v>" {
				b.Fatalf("founded %+v: agreed on %+v", c, is)
			}
		}
	}
	b.ends(0, 7)
}

func appendsInOrder(b *logBench) {
	b.founded()
	b.ends(0, logBase)
	for i := uint64(logBase); i < logBase+5; i++ {
		b.must(b.Append(b.ctx, 0, i, batch(i+1)))
		b.ends(0, i+1)
	}
	b.reads(logBase, logBase+5)
}

func refusesOtherPosition(b *logBench) {
	b.filled(3)
	for _, after := range []uint64{0, logBase - 1, logBase, logBase + 1, logBase + 2, logBase + 4, 1 << 40} {
		b.wants(b.Append(b.ctx, 0, after, []byte("other")), wal.ErrMoved)
	}
	b.ends(0, logBase+3)
	b.reads(logBase, logBase+3)
}

func appendsAgain(b *logBench) {
	b.filled(3)
	b.must(b.Append(b.ctx, 0, logBase+2, batch(logBase+3)))
	b.must(b.open().Append(b.ctx, 0, logBase+2, batch(logBase+3)))
	b.wants(b.Append(b.ctx, 0, logBase+1, batch(logBase+3)), wal.ErrMoved)
	b.ends(0, logBase+3)
	b.must(b.Append(b.ctx, 0, logBase+3, batch(logBase+3))) // the same bytes behind themselves are another batch
	b.ends(0, logBase+4)
}

func keepsLargeBatch(b *logBench) {
	b.founded()
	large := bytes.Repeat([]byte("0123456789abcdef"), 4<<20/16)
	b.must(b.Append(b.ctx, 0, logBase, large))
	err := b.open().Follow(b.ctx, 0, logBase, func(_ uint64, got []byte) error {
		if !bytes.Equal(got, large) {
			b.Errorf("%d bytes came back, or others", len(got))
		}
		return errEnough
	})
	b.wants(err, errEnough)
}

func oneWriterSucceeds(b *logBench) {
	b.founded()
	const writers = 16
	errs := make([]error, writers)
	for round := range uint64(4) {
		var all sync.WaitGroup
		for i := range errs {
			l := b.open()
			all.Go(func() { errs[i] = l.Append(b.ctx, 0, logBase+round, []byte{byte(i)}) })
		}
		all.Wait()
		winners := 0
		for i, err := range errs {
			if err == nil {
				winners++
				b.must(b.Append(b.ctx, 0, logBase+round, []byte{byte(i)})) // it is the winner's
			} else if !errors.Is(err, wal.ErrMoved) {
				b.Errorf("%v", err)
			}
		}
		if winners != 1 {
			b.Fatalf("%d writers have succeeded", winners)
		}
	}
	b.ends(0, logBase+4)
}

func logsApart(b *logBench) {
	b.filled(3)
	b.ends(1, logBase)
	b.must(b.Append(b.ctx, 1, logBase, []byte("x")))
	b.must(b.Append(b.ctx, 999, logBase, []byte("y")))
	b.ends(0, logBase+3)
	b.ends(1, logBase+1)
	b.reads(logBase, logBase+3)
}

func endedContext(b *logBench) {
	b.filled(1)
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	for _, err := range []error{
		b.Append(ctx, 0, logBase+1, []byte("x")),
		b.Take(ctx, 0, logBase+1, wal.NodeVersion{Name: "a"}, []byte("x")),
		b.Leave(ctx, "a"),
		b.Follow(ctx, 0, logBase, func(uint64, []byte) error { return nil }),
	} {
		if err == nil || errors.Is(err, wal.ErrMoved) {
			b.Errorf("an ended context: %v", err)
		}
	}
}
