package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
	"pixd/wal/waltest"
)

// TestBookedMeanwhile checks that a movement which is booked in the same millisecond as a
// reading of the book, but after that reading began, belongs to the next reading only.
func TestBookedMeanwhile(t *testing.T) {
	p := newPump(t)
	p.pay("aa", "settle-now@pix.test", 1)
	here, err := p.readableMark(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.pay("bb", "settle-now@pix.test", 2)
	var got []pix.Amount
	if err := p.eachMovementUpTo(mark{}.key(), here, func(_ mark, m *movement) (bool, error) {
		got = append(got, m.Amount)
		return true, nil
	}); err != nil || fmt.Sprint(got) != "[1]" {
		t.Errorf("read %v %v", got, err)
	}
	if got := p.sums(); got.Sent != 3 {
		t.Errorf("sent %d", got.Sent)
	}
}

// TestOnePayoutUnderTwoIDs checks that what became of a payout under one end-to-end id is not told
// of another: an engine that was restored from a snapshot may send a payout again under a renewed id.
func TestOnePayoutUnderTwoIDs(t *testing.T) {
	p := newPump(t)
	first := p.pay("aa", "ana@example.com", 1)
	taken := p.pay("bb", "ana@example.com", 1).EndToEnd
	p.at += 1000
	again := first
	asks := func(endToEnd string, want scheme.State) {
		t.Helper()
		if s, err := p.Ask(t.Context(), first.Tx, endToEnd); err != nil || s != want {
			t.Errorf("%s: %+v %v", endToEnd, s, err)
		}
	}
	submits := func(endToEnd string, want scheme.Progress) {
		t.Helper()
		again.EndToEnd = endToEnd
		if s, err := p.Submit(t.Context(), again); err != nil || s.Progress != want {
			t.Errorf("%s: %+v %v", endToEnd, s, err)
		}
		p.at += 1000
	}
	settled := scheme.State{Progress: scheme.Settled}
	renewed := first.EndToEnd[:31] + "z"
	asks(first.EndToEnd, settled)
	asks(renewed, scheme.State{})
	submits(renewed, scheme.Pending)
	asks(renewed, settled)
	asks(first.EndToEnd, scheme.State{})
	again.EndToEnd = first.EndToEnd
	if s, err := p.Submit(t.Context(), again); !errors.Is(err, errSubmittedOtherwise) {
		t.Errorf("under the first id once more: %+v %v", s, err)
	}
	submits(taken, scheme.Pending)
	asks(taken, scheme.State{Progress: scheme.Rejected, Reason: "DUPL"})
}

// TestScriptsOfRefusedIDs checks that a payment with an invalid or used end-to-end id is
// rejected, whatever its key's script says.
func TestScriptsOfRefusedIDs(t *testing.T) {
	p := newPump(t)
	for n, key := range []string{"silent@pix.test", "returned@pix.test"} {
		o := p.pay("aa", "ana@example.com", 1)
		o.Tx, o.Key.Value = pix.TxID{9, byte(n)}, key // a second transaction under the same end-to-end id
		if _, err := p.Submit(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		bad := o
		bad.Tx, bad.EndToEnd = pix.TxID{8, byte(n)}, fmt.Sprint("nonsense", n)
		if _, err := p.Submit(t.Context(), bad); err != nil {
			t.Fatal(err)
		}
		p.at += 1000
		for want, sent := range map[string]scheme.Payment{"DUPL": o, "FF08": bad} {
			if s, err := p.Ask(t.Context(), sent.Tx, sent.EndToEnd); err != nil || s != (scheme.State{Progress: scheme.Rejected, Reason: want}) {
				t.Errorf("%s: %+v %v", key, s, err)
			}
		}
	}
	if got := fmt.Sprint(p.drain(nil)); got != "[payment_settled payment_rejected payment_rejected payment_rejected payment_rejected]" {
		t.Errorf("reported %v", got)
	}
}

// TestInfractionsAreToldAgain checks that after a restart the simulator sends both notices of
// an infraction report again if they were not acknowledged.
func TestInfractionsAreToldAgain(t *testing.T) {
	p := newPump(t)
	paid, _, err := p.Pay(t.Context(), Payment{Key: shop.Value, Amount: 9})
	if err != nil {
		t.Fatal(err)
	}
	p.drain(nil)
	id, err := p.Report(t.Context(), Report{EndToEnd: paid, Situation: "SCAM", Amount: 4})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Withdraw(t.Context(), id), p.Withdraw(t.Context(), id)); err != nil {
		t.Fatal(err)
	}
	p.open()
	var reported []scheme.Notice
	for n, done, ok := p.Due(); ok; n, done, ok = p.Due() {
		reported = append(reported, n)
		done(nil)
	}
	want := []scheme.Notice{
		{Kind: scheme.InfractionOpened, EndToEnd: paid, Account: 7, Infraction: id, Amount: 4, Situation: "SCAM"},
		{Kind: scheme.InfractionCancelled, EndToEnd: paid, Account: 7, Infraction: id},
	}
	if fmt.Sprint(reported) != fmt.Sprint(want) {
		t.Errorf("reported %+v\nwant %+v", reported, want)
	}
	p.open()
	if got := p.drain(nil); len(got) != 0 {
		t.Errorf("reported again: %v", got)
	}
}

// late is a shelf whose entries become visible and durable only when flush is called.
type late struct {
	shelf
	queue []*wal.Entry
}

func (l *late) Append(e *wal.Entry) wal.Ticket {
	l.queue = append(l.queue, e)
	return 0
}

func (l *late) flush(n int) {
	for _, e := range l.queue[:n] {
		l.shelf.Append(e)
	}
	l.queue = l.queue[n:]
}

// TestLimitsCountAtOnce checks that each limit which a payout's lookup meets is counted once,
// and at once, even before the count is durable.
func TestLimitsCountAtOnce(t *testing.T) {
	p := newPump(t)
	l := &late{shelf: *p.shelf}
	p.store = l
	q := scheme.Query{Tx: pix.TxID{1}, Key: pix.Key{Type: pix.KeyEmail, Value: "client-limited-3@pix.test"}}
	for n, limited := range []bool{true, true, true, false, false} {
		_, err := p.Lookup(t.Context(), q)
		if (err != nil) != limited {
			t.Errorf("lookup %d: %v", n, err)
		}
		if n == 1 {
			l.flush(1) // now the first count is durable and the second is not
		}
	}
	if len(l.queue) != 2 || len(p.limited) != 1 {
		t.Fatalf("%d entries, %v", len(l.queue), p.limited)
	}
	l.flush(2)
	if _, err := p.Lookup(t.Context(), q); err != nil || len(p.limited) != 0 {
		t.Errorf("%v, still %v", err, p.limited)
	}
}

// TestRegisteredTwiceAtOnce checks that a key's registration is confirmed only once it is
// durable, also to a caller who registers the key again before that.
func TestRegisteredTwiceAtOnce(t *testing.T) {
	s, store, hurried := openLate(t)
	k, _ := pix.ParseKey(pix.KeyEmail, "a@example.com")
	store.late = true
	for range 2 {
		if err := s.RegisterKey(hurried, k, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("registered before it is durable: %v", err)
		}
	}
}

// TestKeyChangesAtOnce checks that of several changes of a key that are not durable yet the
// last one counts, and that none is confirmed before it is durable.
func TestKeyChangesAtOnce(t *testing.T) {
	p := newPump(t)
	hurried, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.RegisterKey(hurried, shop, 7); err != nil {
		t.Errorf("a durable registration was written again: %v", err)
	}
	l := &late{shelf: *p.shelf}
	p.store = l
	for n, change := range []func(context.Context, pix.Key, pix.AccountID) error{p.DeregisterKey, p.RegisterKey, p.DeregisterKey, p.RegisterKey} {
		if err := change(hurried, shop, 7); !errors.Is(err, context.Canceled) {
			t.Errorf("change %d was confirmed before it is durable: %v", n+1, err)
		}
		if n%2 == 0 {
			l.flush(len(l.queue) - 1) // all but this change are durable now
		}
		if _, ok, err := p.key(shop.Value); ok != (n%2 == 1) || err != nil {
			t.Errorf("after change %d the key is known: %v %v", n+1, ok, err)
		}
	}
	l.flush(len(l.queue))
	if err := p.RegisterKey(hurried, shop, 7); err != nil || len(p.keys) != 0 {
		t.Errorf("in the end: %v, and %d changes are kept", err, len(p.keys))
	}
}

// TestAskedBeforeDurable checks that Ask does not answer with a payment's state before that
// state is durable.
func TestAskedBeforeDurable(t *testing.T) {
	s, store, hurried := openLate(t)
	k, _ := pix.ParseKey(pix.KeyEmail, "a@example.com")
	p := scheme.Payment{Tx: pix.NewTxID(0, [10]byte{1}), Account: 1, EndToEnd: "E99999004197001010000abcdefghijk", Amount: 1, Key: k}
	store.late = true
	if _, err := s.Submit(hurried, p); !errors.Is(err, context.Canceled) {
		t.Errorf("submitted before it is durable: %v", err)
	}
	if state, err := s.Ask(hurried, p.Tx, p.EndToEnd); !errors.Is(err, context.Canceled) {
		t.Errorf("asked before it can be read: %v %v", state, err)
	}
	store.Commit(10) // now the payment can be read, but a crash may still lose it
	if state, err := s.Ask(hurried, p.Tx, p.EndToEnd); !errors.Is(err, context.Canceled) {
		t.Errorf("asked before it is durable: %v %v", state, err)
	}
	store.late = false
	if state, err := s.Ask(t.Context(), p.Tx, p.EndToEnd); err != nil || state.Progress != scheme.Settled {
		t.Errorf("asked when it is: %v %v", state, err)
	}
}

// openLate returns a simulator on a store that can stop syncing, and a context that is
// already cancelled, with which calls do not wait.
func openLate(t *testing.T) (*Sim, *lateStore, context.Context) {
	hurried, cancel := context.WithCancel(t.Context())
	cancel()
	store := &lateStore{InMemory: waltest.NewInMemory()}
	s, err := Open(Options{Store: store, Now: func() pix.Millis { return 0 }, Entropy: func() (c [10]byte) { return c }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return s, store, hurried
}

// lateStore syncs at once while late is false, and never while it is true.
type lateStore struct {
	*waltest.InMemory
	late bool
}

func (s *lateStore) Append(e *wal.Entry) wal.Ticket {
	t := s.InMemory.Append(e)
	if !s.late {
		s.Settle()
	}
	return t
}

// TestNoticesNameTheAccount checks that notices of every kind name the account of the key
// or the payment, also when the next process sends them.
func TestNoticesNameTheAccount(t *testing.T) {
	p := newPump(t)
	paid, _, err := p.Pay(t.Context(), Payment{Key: shop.Value, Amount: 9})
	if err != nil {
		t.Fatal(err)
	}
	id, err := p.Report(t.Context(), Report{EndToEnd: paid, Situation: "SCAM", Amount: 4})
	if err := errors.Join(err, p.Withdraw(t.Context(), id)); err != nil {
		t.Fatal(err)
	}
	p.pay("aa", "returned@pix.test", 3)
	p.pay("bb", "reject-am04@pix.test", 3)
	p.giveBackTo(returning(p.at, paid, "MD06", 3))
	p.giveBackTo(returning(p.at, paid, "ZZ99", 3))
	for round := range 2 {
		kinds := map[scheme.NoticeKind]bool{}
		p.at += 100_000
		var again []func(error)
		for n, done, ok := p.Due(); ok; n, done, ok = p.Due() {
			if kinds[n.Kind] = true; n.Account != 7 {
				t.Errorf("round %d: %v names account %v", round, n.Kind, n.Account)
			}
			again = append(again, done)
		}
		for _, done := range again {
			done(errors.New("not now"))
		}
		if len(kinds) != len(scheme.NoticeKinds()) {
			t.Errorf("round %d: reported %v", round, kinds)
		}
		p.open()
	}
}
