package webhook

import (
	"container/heap"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// alarms are the times at which subscriptions get their turn again: at most one for each
// subscription. The zero value is ready for use.
type alarms struct{ heap alarmHeap }

// alarm is a subscription of which something is due at a time.
type alarm struct {
	at     pix.Millis
	target layout.Target
}

// set makes at the subscription's alarm, in place of the one that it has; 0: it gets none.
func (a *alarms) set(t layout.Target, at pix.Millis) {
	i, has := a.heap.index[t]
	switch {
	case has && at == 0:
		heap.Remove(&a.heap, i)
	case has:
		a.heap.all[i].at = at
		heap.Fix(&a.heap, i)
	case at != 0:
		heap.Push(&a.heap, alarm{at, t})
	}
}

// ring takes out one alarm that is due; false where there is none.
func (a *alarms) ring(now pix.Millis) (layout.Target, bool) {
	if len(a.heap.all) == 0 || a.heap.all[0].at > now {
		return layout.Target{}, false
	}
	return heap.Pop(&a.heap).(alarm).target, true
}

// alarmHeap is a heap of alarms, the earliest first, that knows where each is.
type alarmHeap struct {
	all   []alarm
	index map[layout.Target]int // indexes in all
}

// Len implements heap.Interface.
func (h *alarmHeap) Len() int { return len(h.all) }

// Less implements heap.Interface.
func (h *alarmHeap) Less(i, j int) bool { return h.all[i].at < h.all[j].at }

// Swap implements heap.Interface.
func (h *alarmHeap) Swap(i, j int) {
	h.all[i], h.all[j] = h.all[j], h.all[i]
	h.index[h.all[i].target], h.index[h.all[j].target] = i, j
}

// Push implements heap.Interface.
func (h *alarmHeap) Push(x any) {
	if h.index == nil {
		h.index = map[layout.Target]int{}
	}
	h.index[x.(alarm).target] = len(h.all)
	h.all = append(h.all, x.(alarm))
}

// Pop implements heap.Interface.
func (h *alarmHeap) Pop() any {
	last := h.all[len(h.all)-1]
	h.all = h.all[:len(h.all)-1]
	delete(h.index, last.target)
	return last
}
