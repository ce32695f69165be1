package sim

import (
	"container/heap"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
)

// item is a notice with its due time.
type item struct {
	at     pix.Millis
	key    []byte // key of the notice's open row
	notice scheme.Notice
	acked  chan struct{} // closed once the notice is acknowledged; may be nil
	tries  int           // number of deliveries without an acknowledgement
	order  uint64        // orders the notices that are due at the same time
}

// openRow returns the row that keeps a notice until it is acknowledged; tag says whether the
// notice is about a payment, an arrival, a return, a refund or a report.
func (i item) openRow(tag byte) wal.Op {
	return wal.Op{Kind: wal.OpSet, Key: i.key, Value: []byte{tag}}
}

type items []*item

func (q items) Len() int { return len(q) }
func (q items) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}
func (q items) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *items) Push(x any)   { *q = append(*q, x.(*item)) }
func (q *items) Pop() any {
	old := *q
	x := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return x
}

// openAtOnce is the default bound on notices that are delivered and not acknowledged yet.
const openAtOnce = 4096

// outbox decides when which notice is delivered. It is a machine: its caller passes the time,
// and ensures that only one call runs at once.
type outbox struct {
	wait items
	open int
	most int // largest number of open notices, that is delivered and not acknowledged ones
	came uint64
}

// add puts a notice into the outbox, and reports whether this notice is now the next to be
// delivered.
func (l *outbox) add(i item) bool {
	l.came++
	i.order = l.came
	first := len(l.wait) == 0 || i.at < l.wait[0].at
	heap.Push(&l.wait, &i)
	return first
}

// next returns the time at which the first notice is due. It returns false if no notice may
// be delivered now.
func (l *outbox) next() (pix.Millis, bool) {
	if len(l.wait) == 0 || l.open >= l.most {
		return 0, false
	}
	return l.wait[0].at, true
}

// takeDue returns the first notice, if that is due, and counts it as open.
func (l *outbox) takeDue(now pix.Millis) (*item, bool) {
	if at, ok := l.next(); !ok || at > now {
		return nil, false
	}
	l.open++
	return heap.Pop(&l.wait).(*item), true
}

// endDelivery takes the result of a delivered notice: without an acknowledgement the notice is put
// back. It reports whether the time of the next delivery may be earlier because of this call.
func (l *outbox) endDelivery(i *item, acknowledged bool, now pix.Millis) bool {
	l.open--
	moves := l.open == l.most-1
	if !acknowledged {
		moves = l.add(i.again(now)) || moves
	}
	return moves
}

// pause is the longest pause between two deliveries of a notice, in ms.
const pause = pix.Millis(60_000)

// again returns a notice that was not acknowledged with its next due time: 1 s from now after
// the first delivery, then after a pause twice as long each time, up to the constant pause.
func (i item) again(now pix.Millis) item {
	i.at = now + min(pix.Millis(1000)<<min(i.tries, 10), pause)
	i.tries++
	return i
}
