package layout

import (
	"encoding/binary"

	"pixd/actors/pix"
)

// Queue identifies a queue of payouts that wait for one of the directory's limits.
type Queue struct {
	Limit   pix.Bucket
	Account pix.AccountID // the account whose queue it is; 0 with BucketInstitution, whose queue has payouts of all accounts
}

// Institution tells whether the queue waits for the institution's limit, which all accounts share.
func (q Queue) Institution() bool { return q.Limit != pix.BucketClient }

// row is the kind of the queue's rows.
func (q Queue) row() byte {
	if q.Limit == pix.BucketShared {
		return rowSharedQueue
	}
	return rowQueue
}

// QueueFor is the queue in which an account's payout waits for one of the directory's limits.
func QueueFor(b pix.Bucket, a pix.AccountID) Queue {
	if b == pix.BucketInstitution {
		a = 0
	}
	return Queue{b, a}
}

// QueueKey is the row key of a queued payout: by queue, then by the time of the request.
func QueueKey(q Queue, id pix.TxID) []byte {
	return append(accountKey(q.row(), q.Account, 16), id[:]...)
}

// QueueRow is the value under QueueKey: the payout's account.
func QueueRow(a pix.AccountID) []byte { return binary.BigEndian.AppendUint64(nil, uint64(a)) }

// Queued is a payout in a queue.
type Queued struct {
	Queue   Queue
	Account pix.AccountID
	ID      pix.TxID
}

// DecodeQueued decodes a queue row.
func DecodeQueued(k, v []byte) (Queued, error) {
	if len(k) != 25 || k[0] != rowQueue && k[0] != rowSharedQueue {
		return Queued{}, shortRow("queue key", k)
	}
	if len(v) != 8 {
		return Queued{}, shortRow("queue", v)
	}
	q := Queue{pix.BucketShared, pix.AccountID(binary.BigEndian.Uint64(k[1:]))}
	switch {
	case k[0] == rowSharedQueue:
	case q.Account == 0:
		q.Limit = pix.BucketInstitution
	default:
		q.Limit = pix.BucketClient
	}
	return Queued{q, pix.AccountID(binary.BigEndian.Uint64(v)), pix.TxID(k[9:])}, nil
}

// QueueRanges are the key ranges of all queue rows, in order.
func QueueRanges() [][2][]byte {
	return [][2][]byte{{{rowQueue}, {rowQueue + 1}}, {{rowSharedQueue}, {rowSharedQueue + 1}}}
}

// QueueOf is the key range of those payouts in a queue that come after the payout with id
// after. The zero id gives the whole queue.
func QueueOf(q Queue, after pix.TxID) (lo, hi []byte) {
	lo = append(QueueKey(q, after), 0)
	if q.Account == ^pix.AccountID(0) {
		return lo, []byte{q.row() + 1}
	}
	return lo, accountKey(q.row(), q.Account+1, 0)
}
