package wal

import (
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
)

// BenchmarkAppend appends as the engine does: each entry has a record and two rows, and
// each of the simulated callers waits for its entry before it appends the next one. It
// reports records per second.
func BenchmarkAppend(b *testing.B) {
	for _, callers := range []int{1, 64, 256, 1024} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) { benchmarkAppend(b, callers) })
	}
}

// loop is one simulated caller: it is the Out of its entry, and appends its next entry when
// that is released.
type loop struct {
	s     *Store
	e     Entry
	left  int
	t     tail
	done  *sync.WaitGroup
	body  [120]byte
	rows  [2][32]byte
	value [64]byte
}

func (l *loop) Release(err error) {
	if err != nil {
		panic(err)
	}
	l.next()
}

func (l *loop) next() {
	if l.left == 0 {
		l.done.Done()
		return
	}
	l.left--
	sealed := Seal(l.t.sum, Record{Stream: l.e.Stream, Seq: l.t.seq + 1, Kind: 1, Time: int64(l.t.seq), Body: l.body[:]})
	l.e.Expect = l.t.seq
	l.e.Records = append(l.e.Records[:0], sealed)
	for i := range l.rows {
		l.rows[i][0] = 'a' + byte(i)
		binary.BigEndian.PutUint64(l.rows[i][1:], uint64(l.e.Stream))
		binary.BigEndian.PutUint64(l.rows[i][9:], sealed.Seq)
		l.e.Ops[i] = Op{OpSet, l.rows[i][:24], l.value[:]}
	}
	l.t = tail{sealed.Seq, sealed.Sum}
	l.s.Append(&l.e)
}

func benchmarkAppend(b *testing.B, callers int) {
	s, err := Open(Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	var done sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for i := range callers {
		l := &loop{s: s, left: b.N / callers, done: &done}
		if i < b.N%callers {
			l.left++
		}
		l.e = Entry{Stream: Stream(i + 1), Ops: make([]Op, 2)}
		l.e.Out = []Out{l}
		done.Add(1)
		go l.next()
	}
	done.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
	if p, _, _ := s.Head(); p > 0 {
		b.ReportMetric(float64(b.N)/float64(p), "records/batch")
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}
