package wal

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// grower makes entries of one record and two rows each, which continue a stream.
type grower struct {
	stream Stream
	at     tail
	body   [120]byte
}

func (c *grower) next() *Entry {
	sealed := Seal(c.at.sum, Record{Stream: c.stream, Seq: c.at.seq + 1, Kind: 1, Time: int64(c.at.seq), Body: c.body[:]})
	e := &Entry{Stream: c.stream, Expect: c.at.seq, Records: []Sealed{sealed}}
	for _, letter := range "ab" {
		e.Ops = append(e.Ops, Op{OpSet, fmt.Appendf(nil, "%c%08d%012d", letter, c.stream, sealed.Seq), c.body[:64]})
	}
	c.at = tail{sealed.Seq, sealed.Sum}
	return e
}

// fill appends entries to each of some streams and waits until they are durable.
func fill(b *testing.B, s *Store, streams, each int) []grower {
	chains := make([]grower, streams)
	for i := range chains {
		chains[i].stream = Stream(i + 1)
		for range each {
			s.Append(chains[i].next())
		}
	}
	flushed(b, s)
	return chains
}

// BenchmarkSeal measures the sealing of a record, and BenchmarkUnseal its verification.
func BenchmarkSeal(b *testing.B) {
	r := Record{Stream: 7, Seq: 2, Kind: 1, Time: 1_772_366_400_000, Body: make([]byte, 200)}
	want := Seal(1, r)
	b.SetBytes(int64(len(want.Value)))
	b.ReportAllocs()
	for b.Loop() {
		if Seal(1, r).Sum != want.Sum {
			b.Fatal("another sum")
		}
	}
}

func BenchmarkUnseal(b *testing.B) {
	s := Seal(1, Record{Stream: 7, Seq: 2, Kind: 1, Time: 1_772_366_400_000, Body: make([]byte, 200)})
	b.SetBytes(int64(len(s.Value)))
	b.ReportAllocs()
	for b.Loop() {
		if r, err := Unseal(1, 7, 2, s.Value); err != nil || r.Sum != s.Sum {
			b.Fatal(r, err)
		}
	}
}

// BenchmarkCommit measures entries that are appended together and are then waited for, on a file
// system in memory: the journal's own work, without a disk's. Each entry is of a stream of its
// own, and has a record and two rows.
func BenchmarkCommit(b *testing.B) {
	for _, records := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("records=%d", records), func(b *testing.B) {
			s := memStore(b, Options{MemTableBytes: 16 << 20, CacheBytes: 1 << 20})
			chains := fill(b, s, records, 1)
			b.ReportAllocs()
			for b.Loop() {
				for i := range chains {
					s.Append(chains[i].next())
				}
				flushed(b, s)
			}
			b.ReportMetric(float64(b.N)*float64(records)/b.Elapsed().Seconds(), "records/s")
			last := &chains[records-1]
			if seq, sum, err := s.Last(last.stream); err != nil || seq != last.at.seq || sum != last.at.sum || seq <= uint64(b.N) {
				b.Fatal(seq, sum, err)
			}
		})
	}
}

const readStreams, readEach = 20, 500

// BenchmarkRead measures reads of a journal in memory: a record, a row, the newest record of a
// stream, and all records of a stream with their verification.
func BenchmarkRead(b *testing.B) {
	s := memStore(b, Options{MemTableBytes: 1 << 20, CacheBytes: 16 << 20})
	chains := fill(b, s, readStreams, readEach)
	row := chains[6].next().Ops[0].Key
	row = bytes.Replace(row, fmt.Appendf(nil, "%012d", readEach+1), fmt.Appendf(nil, "%012d", 250), 1)
	for _, c := range []struct {
		what string
		read func() (bool, error)
	}{
		{"record", func() (bool, error) { r, ok, err := s.Record(7, 250); return ok && r.Seq == 250, err }},
		{"row", func() (bool, error) { v, ok, err := s.Get(row); return ok && len(v) == 64, err }},
		{"newest", func() (bool, error) { seq, _, err := s.Last(7); return seq == readEach, err }},
	} {
		b.Run("of="+c.what, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if ok, err := c.read(); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
	b.Run(fmt.Sprintf("of=stream/records=%d", readEach), func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			n := 0
			if err := s.Read(7, 1, 0, func(Record) error { n++; return nil }); err != nil || n != readEach {
				b.Fatal(n, err)
			}
		}
	})
}

// BenchmarkVerify measures the verification of a whole journal, and BenchmarkReplay its opening
// after a power cut: what was written is in the log alone, and is read and verified.
func BenchmarkVerify(b *testing.B) {
	s := memStore(b, Options{MemTableBytes: 1 << 20, CacheBytes: 16 << 20})
	fill(b, s, readStreams, readEach)
	b.ReportAllocs()
	for b.Loop() {
		if r, err := s.Verify(nil, nil); err != nil || r.Records != readStreams*readEach {
			b.Fatal(r, err)
		}
	}
	b.ReportMetric(float64(b.N)*readStreams*readEach/b.Elapsed().Seconds(), "records/s")
}

func BenchmarkReplay(b *testing.B) {
	disk := vfs.NewCrashableMem()
	s := memStore(b, Options{FS: disk})
	fill(b, s, readStreams, readEach)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		cut := disk.CrashClone(vfs.CrashCloneCfg{})
		b.StartTimer()
		again, err := Open(Options{Dir: harnessDir, FS: cut})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if seq, _, err := again.Last(readStreams); err != nil || seq != readEach {
			b.Fatal(seq, err)
		}
		if err := again.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
