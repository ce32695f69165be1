package wal

import "encoding/binary"

// The journal's own keys, by their first byte. Upper-case letters sort before the
// lower-case letters of callers' rows, and '!' sorts before both.
const (
	recordPrefix = 'J'
	batchPrefix  = 'B'
	metaPrefix   = '!'

	hardPrefix = "hard/" // settings whose values may never change
	ownPrefix  = "wal/"  // values that the journal writes for itself

	recordKeyLen = 1 + 8 + 8
	batchKeyLen  = 1 + 8
)

func putRecordKey(k []byte, stream Stream, seq uint64) {
	k[0] = recordPrefix
	binary.BigEndian.PutUint64(k[1:], uint64(stream))
	binary.BigEndian.PutUint64(k[9:], seq)
}

// RecordKey is the key of a record in no segment, as formats before 4 have it.
func RecordKey(stream Stream, seq uint64) []byte {
	k := make([]byte, recordKeyLen)
	putRecordKey(k, stream, seq)
	return k
}

// splitRecordKey returns a record's stream and sequence; a *Damage for a key that is no record's.
func splitRecordKey(k []byte) (stream Stream, seq uint64, err error) {
	if len(k) != recordKeyLen || k[0] != recordPrefix {
		return 0, 0, damaged(0, 0, "key %x is not a record's", k)
	}
	return Stream(binary.BigEndian.Uint64(k[1:])), binary.BigEndian.Uint64(k[9:]), nil
}

func putBatchKey(k []byte, position uint64) {
	k[0] = batchPrefix
	binary.BigEndian.PutUint64(k[1:], position)
}

// BatchKey is the key of the batch row at a position.
func BatchKey(position uint64) []byte {
	k := make([]byte, batchKeyLen)
	putBatchKey(k, position)
	return k
}

// RecordRange is the key range of a stream's records in no segment.
func RecordRange(stream Stream) (lo, hi []byte) {
	lo = RecordKey(stream, 0)
	return lo, PrefixEnd(lo[:9])
}

func metaKey(name string) []byte { return append([]byte{metaPrefix}, name...) }
