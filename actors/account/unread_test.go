package account

import (
	"errors"
	"sync"
	"syscall"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// fault makes the next reads of the store fail, as many as the test has set.
func (w *harness) fault() error {
	if w.unread.Load() > 0 && w.unread.Add(-1) >= 0 {
		return syscall.EIO
	}
	return nil
}

// TestUnreadAccount checks that an account which cannot be restored, because reads fail, is not
// quarantined: commands fail while they do, and then the account is as it was.
func TestUnreadAccount(t *testing.T) {
	w := newHarness(t, Limits{IdleAfter: 1})
	w.fund(1, 10_000)
	w.eventually("rest", func() bool { return w.Passivate() == 0 })
	w.unread.Store(1_000_000)
	for range 3 {
		if _, err := w.Do(1, ledger.Credit{Kind: pix.TxTED, Amount: 1}); !errors.Is(err, ledger.ErrInternal) || !errors.Is(err, syscall.EIO) {
			t.Errorf("while reads fail: %v", err)
		}
	}
	if left := w.Passivate(); left != 1 {
		t.Errorf("%d accounts are left, of which one could not be read", left)
	}
	w.unread.Store(0)
	if n := w.totals(1).Balance; n != 10_000 {
		t.Errorf("balance %d", n)
	}
	w.fund(1, 5)
	w.eventually("rest", func() bool { return w.Passivate() == 0 })
}

// TestUnreadAlerts checks that reads which go on failing raise an alert, of an account that works and
// of one that cannot be restored, and no more than one an hour.
func TestUnreadAlerts(t *testing.T) {
	w := newHarness(t, Limits{IdleAfter: 1})
	told := &toldAlerts{}
	w.deps.Config.Alerts = told
	w.fund(1, 10_000)
	w.fund(2, 10_000)
	w.eventually("rest", func() bool { return w.Passivate() == 0 })
	w.totals(2) // it is in memory
	w.unread.Store(1_000_000)
	for n := range byte(3) {
		for id := range 2 {
			if _, err := w.Do(pix.AccountID(id+1), payoutTo(id+1, under(n+1))); !errors.Is(err, syscall.EIO) {
				t.Errorf("account %d: %v", id+1, err)
			}
		}
	}
	if told.count(1) != 1 || told.count(2) != 1 {
		t.Errorf("alerts: %d and %d", told.count(1), told.count(2))
	}
	w.unread.Store(0)
}

// toldAlerts counts the alerts about reads that failed, by account.
type toldAlerts struct {
	mu   sync.Mutex
	told map[pix.AccountID]int
}

func (a *toldAlerts) Raise(id pix.AccountID, alert ledger.Alert) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.told == nil {
		a.told = map[pix.AccountID]int{}
	}
	if alert.Kind == AlertDamage {
		a.told[id]++
	}
}
func (a *toldAlerts) Raised(pix.AccountID, ledger.Alert)                 {}
func (a *toldAlerts) Row(pix.AccountID, ledger.Alert, pix.Millis) wal.Op { return wal.Op{} }

func (a *toldAlerts) count(id pix.AccountID) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.told[id]
}

// TestUnreadAfterRefusal checks that an account which cannot be restored after a refused entry
// still knows, once it is restored, which payouts are on their way, and answers who waits.
func TestUnreadAfterRefusal(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(1, 10_000)
	w.scheme.hold(true)
	answers := make(chan error, 1)
	go func() {
		a, err := w.Do(1, payoutTo(1, under(1)))
		if err == nil && (a.Refusal != nil || a.Tx.Status != pix.StatusAccepted) {
			err = errors.New("not accepted")
		}
		answers <- err
	}()
	w.eventually("the lookup", func() bool { return w.scheme.lookups.Load() == 1 })
	w.deps.Journal = &refuser{Journal: w.deps.Journal, kind: ledger.Credited, before: func() { w.unread.Store(1) }}
	if _, err := w.Do(1, ledger.Credit{Kind: pix.TxTED, Amount: 1}); !errors.Is(err, ledger.ErrInternal) {
		t.Errorf("the refused credit: %v", err)
	}
	w.eventually("the failed read", func() bool { return w.unread.Load() <= 0 })
	w.scheme.release()
	if err := <-answers; err != nil {
		t.Errorf("who waited: %v", err)
	}
	if n := w.scheme.submits.Load(); n != 1 || w.totals(1).Held != 100 {
		t.Errorf("%d submits, %+v", n, w.totals(1))
	}
}
