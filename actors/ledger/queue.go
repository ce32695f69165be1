package ledger

import "encoding/binary"

// QueueID names a queue in front of one of the directory's buckets: 0 is the
// institution's, any other an account's own.
type QueueID uint64

// queue is where a queued payout of an account stands.
func (b Bucket) queue(a AccountID) QueueID {
	if b == BucketClient {
		return QueueID(a)
	}
	return 0
}

// QueueKey is where a queued payout lies: by queue, then in order of request.
func QueueKey(l QueueID, id TxID) []byte {
	k := binary.BigEndian.AppendUint64(append(make([]byte, 0, 25), rowQueue), uint64(l))
	return append(k, id[:]...)
}

// queueRow is what QueueKey holds: whose the payout is.
func queueRow(a AccountID) []byte { return binary.BigEndian.AppendUint64(nil, uint64(a)) }

// Queued is a payout in a queue.
type Queued struct {
	Queue   QueueID
	Account AccountID
	ID      TxID
}

// DecodeQueued reads a queue row.
func DecodeQueued(k, v []byte) (Queued, error) {
	if len(k) != 25 || k[0] != rowQueue || len(v) != 8 {
		return Queued{}, shortRow("queue", k)
	}
	return Queued{QueueID(binary.BigEndian.Uint64(k[1:])), AccountID(binary.BigEndian.Uint64(v)), TxID(k[9:])}, nil
}

// QueueFrom is the keys of queued payouts from a queue on.
func QueueFrom(l QueueID) (lo, hi []byte) {
	return binary.BigEndian.AppendUint64([]byte{rowQueue}, uint64(l)), []byte{rowQueue + 1}
}

// QueueOf is the keys of one queue behind a payout in it; the zero id is in front
// of all.
func QueueOf(l QueueID, after TxID) (lo, hi []byte) {
	lo = append(QueueKey(l, after), 0)
	hi = binary.BigEndian.AppendUint64([]byte{rowQueue}, uint64(l)+1)
	if l == ^QueueID(0) {
		hi = []byte{rowQueue + 1}
	}
	return lo, hi
}
