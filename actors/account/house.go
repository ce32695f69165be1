package account

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"pixd/actors/ledger"
)

// Tidy lets every account that was used since the last call give back what it
// does not need at rest; one that still moves is asked again next time.
func (d *Directory) Tidy() {
	d.untidy.Lock()
	desks := d.untidy.desks
	d.untidy.desks = nil
	d.untidy.Unlock()
	for _, desk := range desks {
		desk.untidy.Store(false)
		desk.mu.Lock()
		if desk.pid != nil {
			d.root.Send(desk.pid, &tidy{func() { d.mark(desk) }})
		}
		desk.mu.Unlock()
	}
}

// mark puts a desk on the list of those to tidy.
func (d *Directory) mark(desk *desk) {
	if desk.untidy.CompareAndSwap(false, true) {
		d.untidy.Lock()
		d.untidy.desks = append(d.untidy.desks, desk)
		d.untidy.Unlock()
	}
}

// putAwayAtOnce is how many accounts are put away together, so that their last
// entries share the journal's syncs.
const putAwayAtOnce = 64

// PutAway puts accounts away that have had no work for a while, and tells how
// many are in memory still.
func (d *Directory) PutAway() int {
	before := d.around.Now().Clock - ledger.Millis(d.limits.IdleAfter/time.Millisecond)
	var left atomic.Int64
	var work sync.WaitGroup
	slots := make(chan struct{}, putAwayAtOnce)
	d.desks.Each(func(_ ledger.AccountID, desk *desk) bool {
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			if d.retire(desk, before) {
				left.Add(1)
			}
		})
		return true
	})
	work.Wait()
	return int(left.Load())
}

// retire drains one account that is idle, with its desk locked so that nobody
// sends; true where the account stays in memory.
func (d *Directory) retire(desk *desk, before ledger.Millis) bool {
	desk.mu.Lock()
	defer desk.mu.Unlock()
	if desk.pid == nil {
		return false
	}
	if d.running.Err() != nil {
		return true // its actor may have ended: it would not answer
	}
	if desk.inWork.Load() != 0 || desk.reads.Load() != 0 || desk.used >= before {
		return true
	}
	done := make(chan bool, 1)
	d.root.Send(desk.pid, &putAway{done})
	if !<-done {
		return true
	}
	d.root.Stop(desk.pid)
	desk.pid = nil
	return false
}

// refuse tells whoever sent a message to a directory that has closed.
func refuse(message any, why error) {
	switch m := message.(type) {
	case *call:
		m.to.tell(ledger.Answer{}, ledger.ErrCut)
		settle(m.done, why)
	case *visit:
		m.failed(why)
	}
}

// isWork tells messages that refuse can refuse.
func isWork(message any) bool {
	switch message.(type) {
	case *call, *visit:
		return true
	}
	return false
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
func (d *Directory) Close() error {
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
func (d *Directory) closeAccounts() (last []<-chan struct{}) {
	d.desks.Each(func(_ ledger.AccountID, desk *desk) bool {
		desk.mu.Lock()
		defer desk.mu.Unlock()
		if desk.pid != nil {
			done := make(chan struct{})
			d.root.Send(desk.pid, &closing{done})
			last = append(last, done)
		}
		return true
	})
	return last
}
