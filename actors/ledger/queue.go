package ledger

import "encoding/binary"

// QueueID identifies the queue for one of the directory's limits: 0 is the institution's
// queue, any other value the queue of the account with that id.
type QueueID uint64

// queue is the queue in which an account's payout waits for this bucket.
func (b Bucket) queue(a AccountID) QueueID {
	if b == BucketClient {
		return QueueID(a)
	}
	return 0
}

// QueueKey is the row key of a queued payout: by queue, then by the time of the request.
func QueueKey(l QueueID, id TxID) []byte {
	k := binary.BigEndian.AppendUint64(append(make([]byte, 0, 25), rowQueue), uint64(l))
	return append(k, id[:]...)
}

// queueRow is the value under QueueKey: the payout's account.
func queueRow(a AccountID) []byte { return binary.BigEndian.AppendUint64(nil, uint64(a)) }

// Queued is a payout in a queue.
type Queued struct {
	Queue   QueueID
	Account AccountID
	ID      TxID
}

// DecodeQueued decodes a queue row.
func DecodeQueued(k, v []byte) (Queued, error) {
	if len(k) != 25 || k[0] != rowQueue || len(v) != 8 {
		return Queued{}, shortRow("queue", k)
	}
	return Queued{QueueID(binary.BigEndian.Uint64(k[1:])), AccountID(binary.BigEndian.Uint64(v)), TxID(k[9:])}, nil
}

// QueueFrom is the key range of the payouts in queue l and all later queues.
func QueueFrom(l QueueID) (lo, hi []byte) {
	return binary.BigEndian.AppendUint64([]byte{rowQueue}, uint64(l)), []byte{rowQueue + 1}
}

// QueueOf is the key range of those payouts in queue l that come after the payout with id
// after. The zero id gives the whole queue.
func QueueOf(l QueueID, after TxID) (lo, hi []byte) {
	lo = append(QueueKey(l, after), 0)
	hi = binary.BigEndian.AppendUint64([]byte{rowQueue}, uint64(l)+1)
	if l == ^QueueID(0) {
		hi = []byte{rowQueue + 1}
	}
	return lo, hi
}
