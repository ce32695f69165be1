// Package alarms keeps the times at which things get their turn again.
package alarms

import (
	"container/heap"

	"pixd/actors/pix"
)

// Alarms are times: at most one for each K. The zero value is ready for use; only one goroutine
// may use it at a time.
type Alarms[K comparable] struct{ heap byTime[K] }

type alarm[K comparable] struct {
	at pix.Millis
	of K
}

// Len returns the number of alarms.
func (a *Alarms[K]) Len() int { return len(a.heap.all) }

// Set makes at the alarm of k, in place of the one that it has; 0: it gets none.
func (a *Alarms[K]) Set(k K, at pix.Millis) {
	i, has := a.heap.index[k]
	switch {
	case has && at == 0:
		heap.Remove(&a.heap, i)
	case has:
		a.heap.all[i].at = at
		heap.Fix(&a.heap, i)
	case at != 0:
		heap.Push(&a.heap, alarm[K]{at, k})
	}
}

// Due tells whether the time of an alarm has come.
func (a *Alarms[K]) Due(now pix.Millis) bool {
	return len(a.heap.all) > 0 && a.heap.all[0].at <= now
}

// Ring takes out the earliest alarm, if its time has come; false: there is none.
func (a *Alarms[K]) Ring(now pix.Millis) (k K, rings bool) {
	if !a.Due(now) {
		return k, false
	}
	return heap.Pop(&a.heap).(alarm[K]).of, true
}

// Drop takes out an alarm, and not the earliest where there are several; there must be one.
func (a *Alarms[K]) Drop() K {
	return heap.Remove(&a.heap, a.Len()-1).(alarm[K]).of
}

// byTime is a heap of alarms, the earliest first, that knows where each is.
type byTime[K comparable] struct {
	all   []alarm[K]
	index map[K]int // indexes in all
}

// Len implements heap.Interface.
func (h *byTime[K]) Len() int { return len(h.all) }

// Less implements heap.Interface.
func (h *byTime[K]) Less(i, j int) bool { return h.all[i].at < h.all[j].at }

// Swap implements heap.Interface.
func (h *byTime[K]) Swap(i, j int) {
	h.all[i], h.all[j] = h.all[j], h.all[i]
	h.index[h.all[i].of], h.index[h.all[j].of] = i, j
}

// Push implements heap.Interface.
func (h *byTime[K]) Push(x any) {
	if h.index == nil {
		h.index = map[K]int{}
	}
	h.index[x.(alarm[K]).of] = len(h.all)
	h.all = append(h.all, x.(alarm[K]))
}

// Pop implements heap.Interface.
func (h *byTime[K]) Pop() any {
	last := h.all[len(h.all)-1]
	h.all = h.all[:len(h.all)-1]
	delete(h.index, last.of)
	return last
}
