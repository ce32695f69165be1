package wal

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// Record is one record of a stream, as it is read back.
type Record struct {
	Stream Stream
	Seq    uint64 // sequence in the stream, from 1 without gaps
	Kind   uint8  // kind of the record, which the journal does not interpret
	Time   int64  // Unix milliseconds, chosen by the caller
	Body   []byte // content, of which the journal knows nothing
	Sum    uint64 // checksum, computed over the previous record's checksum too
}

// Sealed is one record, encoded for the journal with its checksum.
type Sealed struct {
	Seq   uint64
	Time  int64  // Unix milliseconds
	Sum   uint64 // checksum of this record; the checksum of the stream's next record is computed over it
	Value []byte // the record's bytes on disk
}

const (
	recordVersion  = 1
	recordHead     = 1 + 1 + 8      // version, kind, time
	recordOverhead = recordHead + 8 // version, kind, time and checksum
)

// Seal encodes r and computes its checksum, which also covers prev, the checksum of the
// stream's previous record (0 for the first record). r.Sum is ignored.
func Seal(prev uint64, r Record) Sealed {
	return Finish(prev, r.Stream, r.Seq, append(Begin(r.Kind, r.Time, len(r.Body)), r.Body...))
}

// Begin returns the first bytes of a record, with room for a body of about so many bytes.
// The caller appends the body and hands the whole to Finish.
func Begin(kind uint8, time int64, room int) []byte {
	v := append(make([]byte, 0, recordOverhead+room), recordVersion, kind)
	return binary.BigEndian.AppendUint64(v, uint64(time))
}

// Finish seals a record that Begin began; see Seal. The record takes v over.
func Finish(prev uint64, stream Stream, seq uint64, v []byte) Sealed {
	sum := chain(prev, stream, seq, v)
	return Sealed{Seq: seq, Time: int64(binary.BigEndian.Uint64(v[2:])), Sum: sum, Value: binary.BigEndian.AppendUint64(v, sum)}
}

// Unseal decodes the bytes of one record and verifies them against prev, the checksum of
// the stream's previous record. Record.Body shares memory with value. The error is a
// *Damage that names stream and seq.
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

// Decode decodes the bytes of a record without verifying its checksum.
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

// chain computes a record's checksum: XXH64 (seed 0) over prev, stream, seq and the
// record's bytes before the checksum. It detects damage, but a forger can compute it too.
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

// Damage is the error for a record or batch row on disk that cannot be verified.
type Damage struct {
	Stream   Stream // stream of the damaged record, where Position is 0
	Seq      uint64
	Position uint64 // position of the damaged batch row; 0: a record is damaged
	What     string
	Err      error // Pebble's error; nil: Pebble reported none
}

// Error says which record or batch row is damaged, and how.
func (d *Damage) Error() string {
	if d.Position != 0 {
		return fmt.Sprintf("wal: batch %d: %s", d.Position, d.What)
	}
	return fmt.Sprintf("wal: stream %d record %d: %s", d.Stream, d.Seq, d.What)
}

// Unwrap returns Pebble's error; nil: Pebble reported none.
func (d *Damage) Unwrap() error { return d.Err }

func damaged(stream Stream, seq uint64, format string, args ...any) *Damage {
	return &Damage{Stream: stream, Seq: seq, What: fmt.Sprintf(format, args...)}
}

func unreadable(stream Stream, seq uint64, err error) *Damage {
	return &Damage{Stream: stream, Seq: seq, What: "cannot be read: " + err.Error(), Err: plain(err)}
}

func damagedBatch(position uint64, format string, args ...any) *Damage {
	return &Damage{Position: position, What: fmt.Sprintf(format, args...)}
}
