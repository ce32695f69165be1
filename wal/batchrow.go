package wal

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// Head describes the newest batch; the next batch row is computed from it.
type Head struct {
	Position uint64 // number of the batch, from 1; 0: there is no batch yet
	Time     int64  // Unix milliseconds
	Sum      uint64
}

// run is a part of a batch: consecutive records of one stream, count records beginning with
// sequence first.
type run struct {
	stream Stream
	first  uint64
	count  uint64
}

// A batch row says which records one commit wrote, in order:
//
// version u8 | time i64 | prev sum u64 | { stream u64 | first uvarint | count uvarint }... | sum u64
//
// The row names no record where the commit wrote only rows that every copy of the journal
// needs (Entry.Shared). The batch's position is in the row's key. sum is computed from the
// previous batch row's sum, the position, the time, the bytes of the runs, and the records'
// checksums in order.
const (
	batchVersion  = 1
	batchHead     = 1 + 8 + 8
	batchOverhead = batchHead + 8
)

// rowBuilder makes one batch row at a time and reuses its buffers.
type rowBuilder struct {
	buf  []byte // version, time and previous sum, then the finished runs
	runs int
	last run    // the run that may still grow; it is not in buf yet
	sums []byte // the checksums of the batch's records, in order
	time int64
}

func (b *rowBuilder) reset(prev Head) {
	b.buf = append(b.buf[:0], make([]byte, batchHead)...)
	b.sums = b.sums[:0]
	b.runs, b.last, b.time = 0, run{}, prev.Time
}

// add adds one record. Consecutive records of one stream form one run.
func (b *rowBuilder) add(stream Stream, r *Sealed) {
	if b.last.count > 0 && b.last.stream == stream && b.last.first+b.last.count == r.Seq {
		b.last.count++
	} else {
		b.flush()
		b.last = run{stream: stream, first: r.Seq, count: 1}
	}
	b.sums = binary.BigEndian.AppendUint64(b.sums, r.Sum)
	b.time = max(b.time, r.Time)
}

func (b *rowBuilder) flush() {
	if b.last.count == 0 {
		return
	}
	b.buf = binary.BigEndian.AppendUint64(b.buf, uint64(b.last.stream))
	b.buf = binary.AppendUvarint(b.buf, b.last.first)
	b.buf = binary.AppendUvarint(b.buf, b.last.count)
	b.last = run{}
}

// finish returns the row's bytes, which are valid until the next reset, and the new head.
func (b *rowBuilder) finish(prev Head) ([]byte, Head) {
	b.flush()
	h := Head{Position: prev.Position + 1, Time: b.time}
	b.buf[0] = batchVersion
	binary.BigEndian.PutUint64(b.buf[1:], uint64(h.Time))
	binary.BigEndian.PutUint64(b.buf[9:], prev.Sum)
	h.Sum = batchSum(prev.Sum, h.Position, h.Time, b.buf[batchHead:], b.sums)
	b.buf = binary.BigEndian.AppendUint64(b.buf, h.Sum)
	return b.buf, h
}

func batchSum(prev, position uint64, time int64, runs, sums []byte) uint64 {
	var h [24]byte
	binary.BigEndian.PutUint64(h[0:], prev)
	binary.BigEndian.PutUint64(h[8:], position)
	binary.BigEndian.PutUint64(h[16:], uint64(time))
	var d xxhash.Digest
	d.Reset()
	_, _ = d.Write(h[:])
	_, _ = d.Write(runs)
	_, _ = d.Write(sums)
	return d.Sum64()
}

// batchRow is a batch row that was read back. Its sum is not verified yet, because that
// takes the records' checksums.
type batchRow struct {
	time     int64
	prev     uint64
	runs     []run
	runBytes []byte
	sum      uint64
}

func decodeBatchRow(position uint64, v []byte) (batchRow, error) {
	if len(v) < batchOverhead {
		return batchRow{}, damagedBatch(position, "%d bytes are too short for a batch row", len(v))
	}
	if v[0] != batchVersion {
		return batchRow{}, damagedBatch(position, "batch row version %d is unknown", v[0])
	}
	end := len(v) - 8
	row := batchRow{
		time:     int64(binary.BigEndian.Uint64(v[1:])),
		prev:     binary.BigEndian.Uint64(v[9:]),
		runBytes: v[batchHead:end],
		sum:      binary.BigEndian.Uint64(v[end:]),
	}
	for p := row.runBytes; len(p) > 0; {
		r, n := decodeRun(p)
		if n <= 0 {
			return batchRow{}, damagedBatch(position, "its list of records cannot be decoded")
		}
		row.runs = append(row.runs, r)
		p = p[n:]
	}
	return row, nil
}

// decodeRun decodes one run and returns the number of bytes that it took; n is 0 or less
// where the bytes are not a run.
func decodeRun(p []byte) (r run, n int) {
	if len(p) < 8 {
		return run{}, 0
	}
	r.stream = Stream(binary.BigEndian.Uint64(p))
	first, a := binary.Uvarint(p[8:])
	if a <= 0 {
		return run{}, 0
	}
	count, b := binary.Uvarint(p[8+a:])
	if b <= 0 || count == 0 || first == 0 {
		return run{}, 0
	}
	r.first, r.count = first, count
	return r, 8 + a + b
}
