package account

import (
	"errors"
	"syscall"
	"testing"

	"pixd/actors/ledger"
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
		if _, err := w.Do(1, ledger.Credit{Kind: ledger.TxTED, Amount: 1}); !errors.Is(err, ledger.ErrInternal) || !errors.Is(err, syscall.EIO) {
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

// TestUnreadAfterRefusal checks that an account which cannot be restored after a refused entry
// still knows, once it is restored, which payouts are on their way, and answers who waits.
func TestUnreadAfterRefusal(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(1, 10_000)
	w.scheme.hold(true)
	answers := make(chan error, 1)
	go func() {
		a, err := w.Do(1, payoutTo(1, under(1)))
		if err == nil && (a.Refusal != nil || a.Tx.Status != ledger.StatusAccepted) {
			err = errors.New("not accepted")
		}
		answers <- err
	}()
	w.eventually("the lookup", func() bool { return w.scheme.lookups.Load() == 1 })
	w.deps.Journal = &refuser{Journal: w.deps.Journal, kind: ledger.Credited, before: func() { w.unread.Store(1) }}
	if _, err := w.Do(1, ledger.Credit{Kind: ledger.TxTED, Amount: 1}); !errors.Is(err, ledger.ErrInternal) {
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
