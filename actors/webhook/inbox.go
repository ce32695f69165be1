package webhook

import (
	"sync"

	"pixd/actors/ledger"
)

// inbox keeps what the machine must be told until the next Tick, and the tasks that may begin.
// The journal's goroutine puts things in, and must not wait while the machine reads rows.
type inbox struct {
	mu      sync.Mutex
	wake    map[ledger.Target]ledger.Pending // the earliest new row of each subscription
	changed []ledger.Target
	ended   []*Task
	tasks   []Task // these may begin
}

// put keeps tasks that may begin.
func (i *inbox) put(tasks []Task) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.tasks = append(i.tasks, tasks...)
}

// take returns the tasks that may begin.
func (i *inbox) take() (tasks []Task) {
	i.mu.Lock()
	defer i.mu.Unlock()
	tasks, i.tasks = i.tasks, nil
	return tasks
}

func (i *inbox) emitted(r *ledger.Record) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if s := r.Subscription; s != nil {
		i.changed = append(i.changed, ledger.Target{Account: r.Account, Number: s.ID.Number()})
	}
	for _, p := range r.Waiting() {
		i.add(p)
	}
}

// add keeps a new row. Of several rows of one subscription the earliest is enough: the machine
// reads on from there.
func (i *inbox) add(p ledger.Pending) {
	if i.wake == nil {
		i.wake = map[ledger.Target]ledger.Pending{}
	}
	was, there := i.wake[p.Target]
	if !there || p.Due < was.Due || p.Due == was.Due && p.Sequence < was.Sequence {
		i.wake[p.Target] = p
	}
}

func (i *inbox) settled(t *Task, next *ledger.Pending) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.ended = append(i.ended, t)
	if next != nil {
		i.add(*next)
	}
}

// into tells the machine everything, the ends of tasks first: a row whose task is settled may
// be read again.
func (i *inbox) into(m *Machine) {
	i.mu.Lock()
	wake, changed, ended := i.wake, i.changed, i.ended
	i.wake, i.changed, i.ended = nil, nil, nil
	i.mu.Unlock()
	for _, t := range ended {
		m.Settled(*t)
	}
	for _, t := range changed {
		m.Changed(t)
	}
	for _, p := range wake {
		m.Wake(p)
	}
}
