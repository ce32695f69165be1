package wal

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// Record is one fact of a stream, as it is read back.
type Record struct {
	Stream Stream
	Seq    uint64 // contiguous within the stream; the first is 1
	Kind   uint8  // chosen by the caller
	Time   int64  // Unix milliseconds, chosen by the caller
	Body   []byte // opaque
	Sum    uint64 // checksum, chained on the previous record's
}

// Sealed is one record ready to be journaled: header, body and checksum.
type Sealed struct {
	Seq   uint64
	Time  int64  // Unix milliseconds
	Sum   uint64 // what the next record of the stream chains on
	Value []byte // the bytes on disk
}

const (
	recordVersion  = 1
	recordHead     = 1 + 1 + 8      // version, kind, time
	recordOverhead = recordHead + 8 // and the checksum
)

// Seal encodes r and chains it on prev, the checksum of the stream's previous
// record (0 for the first). r.Sum is ignored. Pure.
func Seal(prev uint64, r Record) Sealed {
	v := make([]byte, recordOverhead+len(r.Body))
	v[0], v[1] = recordVersion, r.Kind
	binary.BigEndian.PutUint64(v[2:], uint64(r.Time))
	copy(v[recordHead:], r.Body)
	end := len(v) - 8
	sum := chain(prev, r.Stream, r.Seq, v[:end])
	binary.BigEndian.PutUint64(v[end:], sum)
	return Sealed{Seq: r.Seq, Time: r.Time, Sum: sum, Value: v}
}

// Unseal decodes and verifies one record's bytes against prev, the checksum of
// the stream's previous record. Body aliases value. The error is a *Damage
// that names stream and seq.
func Unseal(prev uint64, stream Stream, seq uint64, value []byte) (Record, error) {
	r, err := Decode(stream, seq, value)
	if err != nil {
		return Record{}, err
	}
	if want := chain(prev, stream, seq, value[:len(value)-8]); want != r.Sum {
		return Record{}, damaged(stream, seq, "checksum is %016x, its bytes and the record before it make %016x", r.Sum, want)
	}
	return r, nil
}

// Decode reads a record's bytes without verifying its checksum.
func Decode(stream Stream, seq uint64, value []byte) (Record, error) {
	if len(value) < recordOverhead {
		return Record{}, damaged(stream, seq, "%d bytes are too short for a record", len(value))
	}
	if value[0] != recordVersion {
		return Record{}, damaged(stream, seq, "record version %d is unknown", value[0])
	}
	end := len(value) - 8
	return Record{
		Stream: stream, Seq: seq, Kind: value[1],
		Time: int64(binary.BigEndian.Uint64(value[2:])),
		Body: value[recordHead:end:end],
		Sum:  binary.BigEndian.Uint64(value[end:]),
	}, nil
}

// chain is XXH64 (seed 0) over prev, stream, seq and the bytes before the
// checksum. It detects damage; it does not resist forgery.
func chain(prev uint64, stream Stream, seq uint64, value []byte) uint64 {
	var head [24]byte
	binary.BigEndian.PutUint64(head[0:], prev)
	binary.BigEndian.PutUint64(head[8:], uint64(stream))
	binary.BigEndian.PutUint64(head[16:], seq)
	var d xxhash.Digest
	d.Reset()
	_, _ = d.Write(head[:])
	_, _ = d.Write(value)
	return d.Sum64()
}

// Damage is something on disk that the store cannot verify.
type Damage struct {
	Stream   Stream // of the record, when Position is 0
	Seq      uint64
	Position uint64 // of the batch row, when it is one
	What     string
	Err      error // Pebble's error, if there is one
}

// Error names the place and what is wrong there.
func (d *Damage) Error() string {
	if d.Position != 0 {
		return fmt.Sprintf("wal: batch %d: %s", d.Position, d.What)
	}
	return fmt.Sprintf("wal: stream %d record %d: %s", d.Stream, d.Seq, d.What)
}

// Unwrap gives the error underneath, if there is one.
func (d *Damage) Unwrap() error { return d.Err }

func damaged(stream Stream, seq uint64, format string, args ...any) *Damage {
	return &Damage{Stream: stream, Seq: seq, What: fmt.Sprintf(format, args...)}
}

func unreadable(stream Stream, seq uint64, err error) *Damage {
	return &Damage{Stream: stream, Seq: seq, What: "cannot be read: " + err.Error(), Err: err}
}

func damagedBatch(position uint64, format string, args ...any) *Damage {
	return &Damage{Position: position, What: fmt.Sprintf(format, args...)}
}
