package due

import (
	"container/heap"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// putOff has the postponed tasks. The field most limits their number; a task that is
// dropped is found again by a back cursor. Tasks that changed nothing too often are in
// hopeless, and are dropped first where there is no room for another task.
type putOff struct {
	most     int
	byID     map[layout.EntityID]*later
	hopeful  byInstant
	hopeless byInstant
}

// later is a postponed task.
type later struct {
	due   layout.Due
	at    pix.Millis // engine time at which the task runs again
	tries int        // how often the task ran and changed nothing
	place int        // index of the task in its heap (hopeful or hopeless)
}

// hopelessAfter is the largest number of tries with which a task is in hopeful. A task that
// changed nothing more often is in hopeless.
const hopelessAfter = 3

func newPutOff(most int) putOff {
	return putOff{most: most, byID: map[layout.EntityID]*later{}}
}

func (p *putOff) has(id layout.EntityID) bool { return p.byID[id] != nil }

func (p *putOff) of(l *later) *byInstant {
	if l.tries > hopelessAfter {
		return &p.hopeless
	}
	return &p.hopeful
}

// add postpones a task until at. The task is dropped where there is no room for it.
func (p *putOff) add(d layout.Due, at pix.Millis, tries int) {
	p.keep(&later{due: d, at: at, tries: tries})
}

func (p *putOff) keep(l *later) {
	if p.has(l.due.ID) {
		return
	}
	if len(p.byID) >= p.most {
		if l.tries > hopelessAfter || len(p.hopeless) == 0 {
			return
		}
		p.remove(p.hopeless[len(p.hopeless)-1])
	}
	p.byID[l.due.ID] = l
	heap.Push(p.of(l), l)
}

func (p *putOff) remove(l *later) {
	heap.Remove(p.of(l), l.place)
	delete(p.byID, l.due.ID)
}

// due removes and returns a task whose time has come; nil where there is no such task. A
// task in hopeless is returned only if spend returns true.
func (p *putOff) due(now pix.Millis, spend func() bool) *later {
	for _, q := range []*byInstant{&p.hopeful, &p.hopeless} {
		if len(*q) == 0 || (*q)[0].at > now || q == &p.hopeless && !spend() {
			continue
		}
		l := (*q)[0]
		p.remove(l)
		return l
	}
	return nil
}

// waits tells whether the time of a task in hopeful has come.
func (p *putOff) waits(now pix.Millis) bool { return len(p.hopeful) > 0 && p.hopeful[0].at <= now }

// byInstant is a heap of postponed tasks, the earliest first.
type byInstant []*later

func (q byInstant) Len() int           { return len(q) }
func (q byInstant) Less(i, j int) bool { return q[i].at < q[j].at }
func (q byInstant) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

// Push implements heap.Interface.
func (q *byInstant) Push(x any) {
	l := x.(*later)
	l.place = len(*q)
	*q = append(*q, l)
}

// Pop implements heap.Interface.
func (q *byInstant) Pop() any {
	old := *q
	l := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return l
}
