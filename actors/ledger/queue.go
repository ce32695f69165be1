package ledger

import "encoding/binary"

// Queue identifies a queue of payouts that wait for one of the directory's limits.
type Queue struct {
	Limit   Bucket
	Account AccountID // the account whose queue it is; 0 with BucketInstitution, whose queue has payouts of all accounts
}

// Queue is the queue in which an account's payout waits for this limit.
func (b Bucket) Queue(a AccountID) Queue {
	if b == BucketInstitution {
		a = 0
	}
	return Queue{b, a}
}

// Institution tells whether the queue waits for the institution's limit, which all accounts share.
func (q Queue) Institution() bool { return q.Limit != BucketClient }

// row is the kind of the queue's rows.
func (q Queue) row() byte {
	if q.Limit == BucketShared {
		return rowSharedQueue
	}
	return rowQueue
}

// QueueKey is the row key of a queued payout: by queue, then by the time of the request.
func QueueKey(q Queue, id TxID) []byte {
	return append(accountKey(q.row(), q.Account, 16), id[:]...)
}

// queueRow is the value under QueueKey: the payout's account.
func queueRow(a AccountID) []byte { return binary.BigEndian.AppendUint64(nil, uint64(a)) }

// Queued is a payout in a queue.
type Queued struct {
	Queue   Queue
	Account AccountID
	ID      TxID
}

// DecodeQueued decodes a queue row.
func DecodeQueued(k, v []byte) (Queued, error) {
	if len(k) != 25 || k[0] != rowQueue && k[0] != rowSharedQueue || len(v) != 8 {
		return Queued{}, shortRow("queue", k)
	}
	q := Queue{BucketShared, AccountID(binary.BigEndian.Uint64(k[1:]))}
	switch {
	case k[0] == rowSharedQueue:
	case q.Account == 0:
		q.Limit = BucketInstitution
	default:
		q.Limit = BucketClient
	}
	return Queued{q, AccountID(binary.BigEndian.Uint64(v)), TxID(k[9:])}, nil
}

// QueueRanges are the key ranges of all queue rows, in order.
func QueueRanges() [][2][]byte {
	return [][2][]byte{{{rowQueue}, {rowQueue + 1}}, {{rowSharedQueue}, {rowSharedQueue + 1}}}
}

// QueueOf is the key range of those payouts in a queue that come after the payout with id
// after. The zero id gives the whole queue.
func QueueOf(q Queue, after TxID) (lo, hi []byte) {
	lo = append(QueueKey(q, after), 0)
	if q.Account == ^AccountID(0) {
		return lo, []byte{q.row() + 1}
	}
	return lo, accountKey(q.row(), q.Account+1, 0)
}
