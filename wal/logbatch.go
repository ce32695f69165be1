package wal

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2"
)

// A batch in a Log has everything that its commit changed, in order:
//
// version u8 | log u16 | epoch u64 | position u64 | prev sum u64 | op... | checksum u64
// op: kind u8 | key length uvarint | key | value length uvarint | value
//
// epoch is the position of the batch that made the writing node the owner. prev sum is the sum of
// the batch row before. The last two fields of an op are missing where the kind has no value.
// checksum is XXH64 of the bytes before it.
const (
	logBatchVersion = 1
	logBatchHead    = 1 + 2 + 8 + 8 + 8
)

// The kinds of changes in a batch of a Log.
const (
	logSet          = 1
	logDelete       = 2
	logSingleDelete = 3
	logDeleteRange  = 4 // the value is the end of the range
)

// logHeader is the first part of a batch in a Log.
type logHeader struct {
	log      uint16
	epoch    uint64
	position uint64
	prev     uint64
}

// appendHeader begins a batch in a Log.
func (h logHeader) append(dst []byte) []byte {
	dst = append(dst, logBatchVersion)
	dst = binary.BigEndian.AppendUint16(dst, h.log)
	dst = binary.BigEndian.AppendUint64(dst, h.epoch)
	dst = binary.BigEndian.AppendUint64(dst, h.position)
	return binary.BigEndian.AppendUint64(dst, h.prev)
}

// encodeLogBatch writes the changes of b as a batch in a Log.
func encodeLogBatch(h logHeader, b *pebble.Batch) ([]byte, error) {
	dst := h.append(make([]byte, 0, logBatchHead+b.Len()+8))
	for r := b.Reader(); ; {
		kind, key, value, ok, err := r.Next()
		if err != nil {
			return nil, err
		}
		if !ok {
			return binary.BigEndian.AppendUint64(dst, xxhash.Sum64(dst)), nil
		}
		if dst, err = appendLogOp(dst, kind, key, value); err != nil {
			return nil, err
		}
	}
}

func appendLogOp(dst []byte, kind pebble.InternalKeyKind, key, value []byte) ([]byte, error) {
	var code byte
	switch kind {
	case pebble.InternalKeyKindSet:
		code = logSet
	case pebble.InternalKeyKindDelete:
		code = logDelete
	case pebble.InternalKeyKindSingleDelete:
		code = logSingleDelete
	case pebble.InternalKeyKindRangeDelete:
		code = logDeleteRange
	default:
		return nil, fmt.Errorf("a change of kind %v has no place in a log", kind)
	}
	dst = append(dst, code)
	dst = appendSized(dst, key)
	if code == logSet || code == logDeleteRange {
		dst = appendSized(dst, value)
	}
	return dst, nil
}

func appendSized(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// decodeLogHeader checks a batch of a Log as a whole, and returns its first part and its changes.
func decodeLogHeader(batch []byte) (h logHeader, ops []byte, err error) {
	if len(batch) < logBatchHead+8 {
		return h, nil, fmt.Errorf("%d bytes are too short for a batch", len(batch))
	}
	if batch[0] != logBatchVersion {
		return h, nil, fmt.Errorf("version %d is unknown", batch[0])
	}
	end := len(batch) - 8
	if xxhash.Sum64(batch[:end]) != binary.BigEndian.Uint64(batch[end:]) {
		return h, nil, errors.New("its checksum is wrong")
	}
	h.log = binary.BigEndian.Uint16(batch[1:])
	h.epoch = binary.BigEndian.Uint64(batch[3:])
	h.position = binary.BigEndian.Uint64(batch[11:])
	h.prev = binary.BigEndian.Uint64(batch[19:])
	return h, batch[logBatchHead:end], nil
}

// logOp is one change of a batch in a Log.
type logOp struct {
	kind       byte
	key, value []byte
}

// nextLogOp takes the first change off ops.
func nextLogOp(ops []byte) (op logOp, rest []byte, err error) {
	op.kind = ops[0]
	if op.kind < logSet || op.kind > logDeleteRange {
		return op, nil, fmt.Errorf("change of the unknown kind %d", op.kind)
	}
	if op.key, ops, err = takeSized(ops[1:]); err != nil {
		return op, nil, err
	}
	if op.kind == logSet || op.kind == logDeleteRange {
		op.value, ops, err = takeSized(ops)
	}
	return op, ops, err
}

func takeSized(p []byte) (b, rest []byte, err error) {
	n, size := binary.Uvarint(p)
	if size <= 0 || n > uint64(len(p)-size) {
		return nil, nil, errors.New("a change ends beyond the batch")
	}
	return p[size : size+int(n)], p[size+int(n):], nil
}

// put writes the change into a batch of Pebble's.
func (op logOp) put(b *pebble.Batch) error {
	switch op.kind {
	case logSet:
		return b.Set(op.key, op.value, nil)
	case logDelete:
		return b.Delete(op.key, nil)
	case logSingleDelete:
		return b.SingleDelete(op.key, nil)
	default:
		return b.DeleteRange(op.key, op.value, nil)
	}
}
