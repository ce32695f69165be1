package account

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"pixd/actors/ledger"
)

// Trim lets every account that was used since the last call give back what it
// does not need at rest; one that still moves is asked again next time.
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

// mark puts an entry on the list of those to trim.
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

// Passivate passivates accounts that have had no work for a while, and tells how
// many are in memory still.
func (d *Host) Passivate() int {
	before := d.deps.Now().Clock - ledger.Millis(d.limits.IdleAfter/time.Millisecond)
	var left atomic.Int64
	var work sync.WaitGroup
	slots := make(chan struct{}, passivateAtOnce)
	d.entries.Each(func(_ ledger.AccountID, e *entry) bool {
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

// retire drains one account that is idle, with its entry locked so that nobody
// sends; true where the account stays in memory.
func (d *Host) retire(e *entry, before ledger.Millis) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.pid == nil {
		return false
	}
	if d.running.Err() != nil {
		return true // its actor may have ended: it would not answer
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
	return false
}

// refuse tells whoever sent a message to a host that has closed.
func refuse(message any, why error) {
	if m, ok := message.(*call); ok {
		m.from.failed(fmt.Errorf("%w: %w", ledger.ErrCut, why))
	}
}

// isWork tells messages that refuse can refuse.
func isWork(message any) bool {
	_, is := message.(*call)
	return is
}

// closePatience is how long Close waits for accounts and payouts' children to
// finish what they do.
const closePatience = 10 * time.Second

// errRestless says that something of the accounts' still reads or writes.
var errRestless = errors.New("account: accounts or their payouts do not come to rest")

// Close ends calls to the scheme that are under way, and waits for them: the
// payouts they carry are resumed at the next start. When it returns nil, no
// account and no payout's child reads or writes any more, and what is below may
// be closed.
func (d *Host) Close() error {
	d.stop()
	d.children.end()
	timeout := time.NewTimer(d.limits.ClosePatience)
	defer timeout.Stop()
	last := append(d.closeAccounts(), d.children.over())
	defer d.workers.close()
	defer d.system.Shutdown()
	for _, done := range last {
		select {
		case <-done:
		case <-timeout.C:
			return errRestless
		}
	}
	return nil
}

// closeAccounts tells every account in memory that this is the end; each result is
// closed once one of them has done all that it was told before.
func (d *Host) closeAccounts() (last []<-chan struct{}) {
	d.entries.Each(func(_ ledger.AccountID, e *entry) bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.pid != nil {
			done := make(chan struct{})
			d.root.Send(e.pid, &closing{done})
			last = append(last, done)
		}
		return true
	})
	return last
}
