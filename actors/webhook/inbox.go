package webhook

import (
	"sync"

	"pixd/actors/layout"
	"pixd/actors/ledger"
)

// Inbox keeps what has become durable until the machine is told of it. The journal's goroutine
// puts things in, and must not wait while the machine reads rows. The zero value is ready; the
// methods may be called from any goroutine.
type Inbox struct {
	mu      sync.Mutex
	wake    map[layout.Target]layout.Pending // the earliest new row of each subscription
	woken   []layout.Target                  // the keys of wake, in the order in which they came
	changed []layout.Target
	ended   []*Task
	tasks   []Task // these may begin
}

// put keeps tasks that may begin.
func (i *Inbox) put(tasks []Task) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.tasks = append(i.tasks, tasks...)
}

// drain returns the tasks that may begin.
func (i *Inbox) drain() (tasks []Task) {
	i.mu.Lock()
	defer i.mu.Unlock()
	tasks, i.tasks = i.tasks, nil
	return tasks
}

// Emitted takes a durable record: its events, and a change of a subscription.
func (i *Inbox) Emitted(r *ledger.Record) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if s := r.Subscription; s != nil {
		i.changed = append(i.changed, layout.Target{Account: r.Account, Number: s.ID.Number()})
	}
	for _, p := range r.Waiting() {
		i.add(p)
	}
}

// add keeps a new row. Of several rows of one subscription the earliest is enough: the machine
// reads on from there.
func (i *Inbox) add(p layout.Pending) {
	if i.wake == nil {
		i.wake = map[layout.Target]layout.Pending{}
	}
	was, there := i.wake[p.Target]
	if !there {
		i.woken = append(i.woken, p.Target)
	}
	if !there || p.Due < was.Due || p.Due == was.Due && p.Sequence < was.Sequence {
		i.wake[p.Target] = p
	}
}

// ResultDurable takes a task of which everything that follows is durable. next is the delivery's new
// row; nil: it waits no more.
func (i *Inbox) ResultDurable(t *Task, next *layout.Pending) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.ended = append(i.ended, t)
	if next != nil {
		i.add(*next)
	}
}

// Into tells the machine everything, the ends of tasks first: a row whose task's result is durable may
// be read again. It is called before each Tick, Watch and Again.
func (i *Inbox) Into(m *Machine) {
	i.mu.Lock()
	wake, woken, changed, ended := i.wake, i.woken, i.changed, i.ended
	i.wake, i.woken, i.changed, i.ended = nil, nil, nil, nil
	i.mu.Unlock()
	for _, t := range ended {
		m.ResultDurable(*t)
	}
	for _, t := range changed {
		m.Changed(t)
	}
	for _, t := range woken {
		m.Wake(wake[t])
	}
}
