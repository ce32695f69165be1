package account

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// refuser is a journal that refuses one entry: the first entry with a single record whose
// kind is kind.
type refuser struct {
	Journal
	kind ledger.RecordKind
	// before is called on the journal's goroutine just before the real journal's refusal is
	// reported. Nil: the test journal refuses the entry itself.
	before func()
	once   atomic.Bool
}

var errRefused = errors.New("refused for the test")

// Append implements Journal.
func (r *refuser) Append(e *wal.Entry) wal.Ticket {
	if len(e.Records) != 1 || ledger.RecordKind(e.Records[0].Value[1]) != r.kind || !r.once.CompareAndSwap(false, true) {
		return r.Journal.Append(e)
	}
	if r.before != nil {
		wrong := *e
		wrong.Expect += 1000
		wrong.Out = append([]wal.Out{released(func(error) { r.before() })}, e.Out...)
		return r.Journal.Append(&wrong)
	}
	outs := e.Out
	return r.Journal.Append(&wal.Entry{Stream: e.Stream, Out: []wal.Out{released(func(error) {
		for _, o := range outs {
			o.Release(errRefused)
		}
	})}})
}

// TestRefusedApproval checks that an approval whose entry was refused is undone completely:
// the next approval starts the payout.
func TestRefusedApproval(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(1, 10_000)
	w.must(1, ledger.ChangeSettings{Settings: approvedFrom(100)})
	id := w.must(1, payoutTo(1, nil)).Tx.ID
	w.deps.Journal = &refuser{Journal: w.deps.Journal, kind: ledger.PayoutApproved}
	approve := ledger.DecideApproval{ID: id, Word: ledger.Approved, Operator: "ana"}
	if _, err := w.Do(1, approve); !errors.Is(err, ledger.ErrInternal) {
		t.Errorf("the refused approval: %v", err)
	}
	w.eventually("the rebuild", func() bool {
		a, err := w.Do(1, approve)
		return err == nil && a.Refusal == nil && !a.Repeat
	})
	w.eventually("the submit", func() bool { return w.scheme.submits.Load() == 1 })
}

// TestRefusedOutcome checks that, while a child actor's report waits to be sent again after
// its entry was refused, a repeated request does not start another child actor for the
// payout.
func TestRefusedOutcome(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(1, 10_000)
	w.scheme.refuse.Store(true)
	w.deps.Journal = &refuser{Journal: w.deps.Journal, kind: ledger.PayoutRefused}
	if _, err := w.Do(1, payoutTo(1, under(1))); !errors.Is(err, ledger.ErrCut) {
		t.Errorf("who waited: %v", err)
	}
	w.scheme.refuse.Store(false) // from now on the scheme would find the owner of the key, if a second child actor looked it up
	a, err := w.Do(1, payoutTo(1, under(1)))
	if err != nil || a.Refusal == nil || a.Refusal.Code != ledger.RefuseKeyNotFound {
		t.Errorf("the retry: %+v %v", a, err)
	}
	if n := w.scheme.submits.Load() + w.scheme.asks.Load(); n != 0 || w.totals(1).Held != 0 {
		t.Errorf("%d submits and asks, %+v", n, w.totals(1))
	}
}

// TestRefusedHold checks that, when the journal refuses the entry that holds a payout's
// money, the request's connection is cut and nothing of the payout remains.
func TestRefusedHold(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(1, 10_000)
	w.deps.Journal = &refuser{Journal: w.deps.Journal, kind: ledger.PayoutHeld}
	began := time.Now()
	if _, err := w.Do(1, payoutTo(1, nil)); !errors.Is(err, ledger.ErrCut) || time.Since(began) > 5*time.Second {
		t.Errorf("who waited: %v after %v", err, time.Since(began))
	}
	if w.totals(1).Held != 0 || w.scheme.lookups.Load() != 0 {
		t.Errorf("%+v, %d lookups", w.totals(1), w.scheme.lookups.Load())
	}
	w.must(1, payoutTo(1, nil))
	if children := w.childActors(); len(children) != 1 {
		t.Errorf("the child actor that the refused entry was to start is not used again: %q", children)
	}
}

// TestRefusedRead checks that a read does not show a change whose entry counts as durable
// while the journal's refusal of that entry has not been reported yet.
func TestRefusedRead(t *testing.T) {
	w := newHarness(t, Limits{})
	w.fund(1, 10_000)
	reached, gate := make(chan struct{}), make(chan struct{})
	w.deps.Journal = &refuser{Journal: w.gate.Journal, kind: ledger.SettingsChanged, before: func() {
		close(reached)
		<-gate
	}}
	refused := make(chan error)
	go func() {
		_, err := w.Do(1, ledger.ChangeSettings{Settings: approvedFrom(77)})
		refused <- err
	}()
	<-reached
	read := make(chan pix.Amount)
	go func() {
		a, err := w.Do(1, ledger.ReadAccount{})
		if err != nil || a.Head.Settings.ApprovalThreshold == nil {
			read <- 0
			return
		}
		read <- *a.Head.Settings.ApprovalThreshold
	}()
	time.Sleep(50 * time.Millisecond)
	close(gate)
	if got := <-read; got == 77 {
		t.Error("it showed what was never written")
	}
	if err := <-refused; !errors.Is(err, ledger.ErrInternal) {
		t.Errorf("the change: %v", err)
	}
}

// released makes a function a wal.Out.
type released func(error)

// Release implements wal.Out.
func (f released) Release(err error) { f(err) }
