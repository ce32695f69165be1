package account

import (
	"errors"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// counted counts what a machine reads of the store.
type counted struct {
	Rows
	records, rows int
}

func (c *counted) Record(a pix.AccountID, seq uint64) (*ledger.Record, error) {
	c.records++
	return c.Rows.Record(a, seq)
}

func (c *counted) Get(key []byte) ([]byte, bool, error) {
	c.rows++
	return c.Rows.Get(key)
}

// equalBench is a machine with equal payouts, of which at most 100 may be under one id.
type equalBench struct {
	*bench
	reads *counted
	own   string // the merchant's own end-to-end id; empty: the engine makes it
	ids   []ledger.ResolveTransfer
}

const mostEqual = 100

func newEqualBench(t *testing.T) *equalBench {
	b := &equalBench{bench: newBench(t)}
	b.machine.config.Terms.MaxRepeats = mostEqual
	b.reads = &counted{Rows: b.store}
	b.step(ledger.OpenAccount{Settings: settings()})
	b.step(ledger.Credit{Kind: pix.TxTED, Amount: 1 << 40})
	return b
}

// tries requests the payout, and accepts it where it is held.
func (b *equalBench) tries() error {
	b.store.durable = b.store.ticket
	k, _ := pix.ParseKey(pix.KeyEmail, "ana@example.com")
	e, effects, err := b.machine.Step(b.reads, Call{
		Command: ledger.RequestPayout{Amount: 100, Key: k, EndToEnd: b.own}, Now: b.reading(), Entropy: b.draw(), Durable: b.store.durable,
	})
	if err != nil {
		return err
	}
	b.machine.Submitted(b.store.append(&e))
	tx := b.machine.outcome(e, effects).Start[0].Tx
	b.ids = append(b.ids, ledger.ResolveTransfer{ID: tx.ID, EndToEnd: tx.EndToEnd})
	b.ends(len(b.ids)-1, ledger.TransferIsAccepted, "")
	return nil
}

// ends reports the outcome of one of the payouts.
func (b *equalBench) ends(n int, result ledger.TransferResult, reason string) {
	c := b.ids[n]
	c.Result, c.Reason = result, reason
	b.step(c)
}

// TestEqualPayoutsReadFew checks that one more payout under an end-to-end id that many others
// have reads few of their states, however many there are, and that a refusal at the cap reads
// none: of 100 payouts or of none.
func TestEqualPayoutsReadFew(t *testing.T) {
	for _, own := range []string{"", endToEnd("own")} {
		b := newEqualBench(t)
		b.own = own
		readFew(t, b)
	}
}

func readFew(t *testing.T, b *equalBench) {
	t.Helper()
	var alone counted
	for n := range mostEqual {
		before := *b.reads
		if err := b.tries(); err != nil {
			t.Fatal(n, err)
		}
		if n == fewMembersAlone {
			alone = counted{nil, b.reads.records - before.records, b.reads.rows - before.rows}
		}
		records, rows := b.reads.records-before.records, b.reads.rows-before.rows
		if n > 2*fewMembersAlone && (records > alone.records || rows > alone.rows) {
			t.Fatalf("beside %d equal payouts: %d records and %d rows; beside %d: %d and %d", n, records, rows, fewMembersAlone, alone.records, alone.rows)
		}
	}
	if err := b.tries(); !errors.Is(err, ledger.ErrBusy) {
		t.Fatal(err)
	}
	before, states := *b.reads, b.machine.equals.states
	b.machine.equals.states = nil // a refusal that counts would read them all again
	if err := b.tries(); !errors.Is(err, ledger.ErrBusy) || b.reads.records != before.records || b.machine.equals.states != nil {
		t.Errorf("a refusal reads %d records (%v)", b.reads.records-before.records, err)
	}
	b.machine.equals.states = states
}

// fewMembersAlone is a number of payouts of one id whose states are all read anew.
const fewMembersAlone = 8

// TestEqualPayoutsEnd checks that what is kept follows the payouts: once some have ended there is
// room for as many again at once, and after the settlement of one and the end of the window a
// request gets another id.
func TestEqualPayoutsEnd(t *testing.T) {
	b := newEqualBench(t)
	for n := range mostEqual {
		if err := b.tries(); err != nil {
			t.Fatal(n, err)
		}
	}
	if err := b.tries(); !errors.Is(err, ledger.ErrBusy) {
		t.Fatal(err)
	}
	for n := range 3 {
		b.ends(10+n, ledger.TransferIsRejected, ledger.ReasonDuplicate)
	}
	for n := range 3 {
		if err := b.tries(); err != nil {
			t.Fatalf("room for %d of 3 that ended: %v", n, err)
		}
	}
	if err := b.tries(); !errors.Is(err, ledger.ErrBusy) {
		t.Fatal(err)
	}
	b.ends(0, ledger.TransferIsSettled, "")
	for n := range len(b.ids) {
		if n != 0 && (n < 10 || n > 12) {
			b.ends(n, ledger.TransferIsRejected, ledger.ReasonDuplicate)
		}
	}
	if err := b.tries(); err != nil {
		t.Fatal(err)
	}
	last := len(b.ids) - 1
	if b.ids[last].EndToEnd != b.ids[0].EndToEnd {
		t.Error("within the window a repeat has another id")
	}
	b.ends(last, ledger.TransferIsRejected, ledger.ReasonDuplicate)
	b.now += settings().RepeatWindow + stampsAhead + 1
	if err := b.tries(); err != nil {
		t.Fatal(err)
	}
	if b.ids[last+1].EndToEnd == b.ids[0].EndToEnd {
		t.Error("after the window a request has the settled payout's id")
	}
}

// TestCrowdedIsCountedAgain checks that a refusal is believed for a second at most.
func TestCrowdedIsCountedAgain(t *testing.T) {
	b := newEqualBench(t)
	for range mostEqual {
		if err := b.tries(); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := b.tries(); !errors.Is(err, ledger.ErrBusy) {
			t.Fatal(err)
		}
	}
	b.machine.config.Terms.MaxRepeats++ // as if one had ended unseen
	b.now += 999
	if err := b.tries(); !errors.Is(err, ledger.ErrBusy) {
		t.Errorf("within the second: %v", err)
	}
	b.now++
	if err := b.tries(); err != nil {
		t.Errorf("after a second: %v", err)
	}
}

// TestEqualsAreBounded checks that the states that are kept are few, and are given back when the
// account rests.
func TestEqualsAreBounded(t *testing.T) {
	b := newEqualBench(t)
	r := &reader{b.machine, b.store}
	for n := range 3 * mostEquals {
		id := pix.TxID{byte(n >> 16), byte(n >> 8), byte(n)}
		if _, err := r.Equal(id, func() (*ledger.Transaction, error) { return &ledger.Transaction{ID: id}, nil }); err != nil {
			t.Fatal(err)
		}
		r.Crowd(id[:], 1)
	}
	if e := &b.machine.equals; len(e.states) > mostEquals || len(e.crowded) > mostEquals {
		t.Errorf("%d states, %d rows", len(e.states), len(e.crowded))
	}
	if !b.machine.Trim(b.store.ticket) || b.machine.equals.states != nil || b.machine.equals.crowded != nil {
		t.Error("kept at rest")
	}
	failed := errors.New("disk")
	if _, err := r.Equal(pix.TxID{9}, func() (*ledger.Transaction, error) { return nil, failed }); !errors.Is(err, failed) || len(b.machine.equals.states) != 0 {
		t.Error(err, len(b.machine.equals.states))
	}
}
