package account

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// Trim asks every account that was used since the last call of Trim to free the memory that
// an idle account does not need. An account that still has work is asked again by the next
// call.
func (d *Host) Trim() {
	d.toTrim.Lock()
	entries := d.toTrim.entries
	d.toTrim.entries = nil
	d.toTrim.Unlock()
	for _, e := range entries {
		e.toTrim.Store(false)
		e.mu.Lock()
		if e.pid != nil {
			d.root.Send(e.pid, TrimMessage(func() { d.mark(e) }))
		}
		e.mu.Unlock()
	}
}

// mark puts an entry on the list of accounts to trim, unless it is on the list already.
func (d *Host) mark(e *entry) {
	if e.toTrim.CompareAndSwap(false, true) {
		d.toTrim.Lock()
		d.toTrim.entries = append(d.toTrim.entries, e)
		d.toTrim.Unlock()
	}
}

// passivateAtOnce is how many accounts are passivated together, so that their last
// entries share the journal's syncs.
const passivateAtOnce = 64

// Passivate passivates accounts that have had no work for Limits.IdleAfter, and returns how
// many accounts are still in memory.
func (d *Host) Passivate() int {
	before := d.deps.Now().Clock - pix.Millis(d.limits.IdleAfter/time.Millisecond)
	var left atomic.Int64
	var work sync.WaitGroup
	slots := make(chan struct{}, passivateAtOnce)
	d.entries.Each(func(_ pix.AccountID, e *entry) bool {
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			if d.retire(e, before) {
				left.Add(1)
			}
		})
		return true
	})
	work.Wait()
	return int(left.Load())
}

// retire passivates one account that has had no work since before. The entry is locked, so
// nobody can send to the account meanwhile. It returns true where the account stays in
// memory.
func (d *Host) retire(e *entry, before pix.Millis) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.pid == nil {
		return false
	}
	if d.running.Err() != nil {
		return true // the actor may have ended already and would not answer
	}
	if e.inWork.Load() != 0 || e.reads.Load() != 0 || e.used >= before {
		return true
	}
	done := make(chan bool, 1)
	d.root.Send(e.pid, PassivateMessage(done))
	if !<-done {
		return true
	}
	d.root.Stop(e.pid)
	e.pid = nil
	d.inMemory.Add(-1)
	return false
}

// refuse fails a command that comes after the host has begun to close. Messages that are
// not commands are dropped.
func refuse(message any, why error) {
	if m, ok := message.(*call); ok {
		m.from.failed(fmt.Errorf("%w: %w", ledger.ErrCut, why))
	}
}

// isWork tells whether a message is a command, whose asker must get a result.
func isWork(message any) bool {
	_, is := message.(*call)
	return is
}
