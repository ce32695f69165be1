package due

import (
	"pixd/actors/alarms"
	"pixd/actors/layout"
	"pixd/actors/pix"
)

// putOff has the postponed tasks. The field most limits their number; a task that is
// dropped is found again by a back cursor. Tasks that changed nothing too often are in
// hopeless, and are dropped first where there is no room for another task.
type putOff struct {
	most     int
	byID     map[layout.EntityID]later
	hopeful  alarms.Alarms[layout.EntityID]
	hopeless alarms.Alarms[layout.EntityID]
}

// later is a postponed task.
type later struct {
	due   layout.Due
	at    pix.Millis // engine time at which the task runs again
	tries int        // how often the task ran and changed nothing
}

// hopelessAfter is the largest number of tries with which a task is in hopeful. A task that
// changed nothing more often is in hopeless.
const hopelessAfter = 3

func newPutOff(most int) putOff {
	return putOff{most: most, byID: map[layout.EntityID]later{}}
}

func (p *putOff) has(id layout.EntityID) bool {
	_, has := p.byID[id]
	return has
}

// add postpones a task. The task is dropped where there is no room for it.
func (p *putOff) add(l later) {
	if p.has(l.due.ID) {
		return
	}
	hopeless := l.tries > hopelessAfter
	if len(p.byID) >= p.most {
		if hopeless || p.hopeless.Len() == 0 {
			return
		}
		delete(p.byID, p.hopeless.Drop())
	}
	p.byID[l.due.ID] = l
	if hopeless {
		p.hopeless.Set(l.due.ID, l.at)
	} else {
		p.hopeful.Set(l.due.ID, l.at)
	}
}

// due removes and returns a task whose time has come; false where there is no such task. A
// task in hopeless is returned only if spend returns true.
func (p *putOff) due(now pix.Millis, spend func() bool) (l later, ok bool) {
	id, ok := p.hopeful.Ring(now)
	if !ok && p.hopeless.Due(now) && spend() {
		id, ok = p.hopeless.Ring(now)
	}
	if ok {
		l = p.byID[id]
		delete(p.byID, id)
	}
	return l, ok
}

// hopefulDue tells whether the time of a task in hopeful has come.
func (p *putOff) hopefulDue(now pix.Millis) bool { return p.hopeful.Due(now) }
