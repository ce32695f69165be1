package sim

import (
	"container/heap"

	"pixd/actors/ledger"
	"pixd/actors/scheme"
	"pixd/wal"
)

// item is a notice to deliver at an instant.
type item struct {
	at     ledger.Millis
	key    []byte // its open row
	notice scheme.Notice
	acked  chan struct{} // closed once acknowledged; may be nil
	tries  int           // without success
	order  uint64        // among those of one instant
}

// open is the row that keeps a notice until it is acknowledged; tag says what
// it is about.
func (i item) open(tag byte) wal.Op {
	return wal.Op{Kind: wal.OpSet, Key: i.key, Value: []byte{tag}}
}

type items []item

func (q items) Len() int { return len(q) }
func (q items) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}
func (q items) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *items) Push(x any)   { *q = append(*q, x.(item)) }
func (q *items) Pop() any {
	old := *q
	x := old[len(old)-1]
	old[len(old)-1] = item{}
	*q = old[:len(old)-1]
	return x
}

// openAtOnce bounds the notices delivered and not acknowledged, where Options do not.
const openAtOnce = 4096

// outbox decides which notice is delivered when: a machine, told the time, that
// one caller uses at once.
type outbox struct {
	wait items
	open int
	most int // that may be open at once
	came uint64
}

// add puts a notice into the outbox, and tells whether it is the first now.
func (l *outbox) add(i item) bool {
	l.came++
	i.order = l.came
	first := len(l.wait) == 0 || i.at < l.wait[0].at
	heap.Push(&l.wait, i)
	return first
}

// next is when the first in the outbox is due; false where none may be delivered.
func (l *outbox) next() (ledger.Millis, bool) {
	if len(l.wait) == 0 || l.open >= l.most {
		return 0, false
	}
	return l.wait[0].at, true
}

// take hands over the first in the outbox, where it is due.
func (l *outbox) take(now ledger.Millis) (item, bool) {
	if at, ok := l.next(); !ok || at > now {
		return item{}, false
	}
	l.open++
	return heap.Pop(&l.wait).(item), true
}

// end follows what became of a notice that was handed over: what was not
// acknowledged comes again. It tells whether the outbox moves on by it.
func (l *outbox) end(i item, acknowledged bool, now ledger.Millis) bool {
	l.open--
	moves := l.open == l.most-1
	if !acknowledged {
		moves = l.add(i.again(now)) || moves
	}
	return moves
}

// The longest pauses. Of infractions an engine may not know the kind: they are
// to keep nothing else waiting.
const (
	pause           = ledger.Millis(60_000)
	infractionPause = 10 * pause
)

// again is when a notice that was not acknowledged comes again: after 1 s, then
// twice as late each time, up to the longest pause.
func (i item) again(now ledger.Millis) item {
	longest := pause
	if i.notice.Kind == scheme.InfractionOpened || i.notice.Kind == scheme.InfractionCancelled {
		longest = infractionPause
	}
	i.at = now + min(ledger.Millis(1000)<<min(i.tries, 10), longest)
	i.tries++
	return i
}
