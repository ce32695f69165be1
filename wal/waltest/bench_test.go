package waltest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"pixd/wal"
)

// bench is one journal under test, and the calls of Release that the journal has made.
type bench struct {
	testing.TB
	journal
	mu       sync.Mutex
	released []release
	tails    map[wal.Stream]newestRecord
}

// release is one call of an Out's Release.
type release struct {
	name    string
	err     error
	durable wal.Ticket // what the journal's Durable returned at the time of the call
}

// newestRecord is the sequence and checksum of a stream's newest record.
type newestRecord struct{ Seq, Sum uint64 }

func newBench(t testing.TB, j journal) *bench {
	return &bench{TB: t, journal: j, tails: make(map[wal.Stream]newestRecord)}
}

type out struct {
	b    *bench
	name string
}

func (o out) Release(err error) {
	o.b.mu.Lock()
	defer o.b.mu.Unlock()
	o.b.released = append(o.b.released, release{o.name, err, o.b.Durable()})
}

func (b *bench) out(name string) []wal.Out { return []wal.Out{out{b, name}} }

// sealBodies makes a record of each body. The records continue the stream after tail, and tail
// becomes the last of them.
func sealBodies(stream wal.Stream, tail *newestRecord, bodies ...string) []wal.Sealed {
	var sealed []wal.Sealed
	for _, body := range bodies {
		s := wal.Seal(tail.Sum, wal.Record{
			Stream: stream, Seq: tail.Seq + 1, Kind: 1, Time: int64(1000 + tail.Seq), Body: []byte(body),
		})
		*tail = newestRecord{s.Seq, s.Sum}
		sealed = append(sealed, s)
	}
	return sealed
}

// entry makes the next entry of the stream; name is the name of its Out.
func (b *bench) entry(stream wal.Stream, name string, bodies ...string) *wal.Entry {
	tail := b.tails[stream]
	e := &wal.Entry{Stream: stream, Expect: tail.Seq, Out: b.out(name)}
	e.Records = sealBodies(stream, &tail, bodies...)
	b.tails[stream] = tail
	return e
}

func set(k, v string) wal.Op { return wal.Op{Kind: wal.OpSet, Key: []byte(k), Value: []byte(v)} }

// wait waits until Release was called n times, and returns the calls.
func (b *bench) wait(n int) []release {
	b.Helper()
	if s, ok := b.journal.(inMemory); ok {
		s.Settle() // which makes entries durable only on request
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Microsecond) {
		b.mu.Lock()
		got := append([]release(nil), b.released...)
		b.mu.Unlock()
		if len(got) >= n {
			return got
		}
		if time.Now().After(deadline) {
			b.Fatalf("released %d of %d: %v", len(got), n, got)
		}
	}
}

// rows returns the rows with keys in [lo, hi), as "k=v".
func (b *bench) rows(r reader, lo, hi string) (got []string) {
	b.Helper()
	err := r.Scan([]byte(lo), []byte(hi), func(k, v []byte) (bool, error) {
		got = append(got, fmt.Sprintf("%s=%s", k, v))
		return true, nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return got
}

// bodies returns the bodies of all records of a stream.
func (b *bench) bodies(stream wal.Stream) (got []string) {
	b.Helper()
	err := b.Read(stream, 1, 0, func(r wal.Record) error {
		got = append(got, string(r.Body))
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return got
}

func (b *bench) equal(got, want any) {
	b.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		b.Fatalf("got %s, want %s", g, w)
	}
}

func (b *bench) no(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
