package account

import (
	"errors"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// TestFeedKnowsItsOwn checks that a notice is taken only when all 128 bits of its
// transaction id are those of one of our payouts, it does not name another account, and its
// kind is known.
func TestFeedKnowsItsOwn(t *testing.T) {
	b := newBench(t)
	b.step(ledger.OpenAccount{Settings: settings()})
	b.step(ledger.Credit{Kind: pix.TxTED, Amount: 1_000_000})
	k, _ := pix.ParseKey(pix.KeyEmail, "a@example.com")
	held := b.step(ledger.RequestPayout{Amount: 100, Key: k}).Start[0].Tx
	reported := map[pix.AccountID]int{}
	f := Feed{
		Rows: b.store, Key: func(key string) (pix.AccountID, bool) { return 9, key == "ours" },
		Notice: func(id pix.AccountID, _ ledger.Command, done func(error)) { reported[id]++; done(nil) },
	}
	take := func(n scheme.Notice) (err error) {
		f.Take(n, func(e error) { err = e })
		return err
	}
	other := held.ID
	other[15] ^= 1 // a bit of the id that is not part of the public transaction_id
	settled := scheme.Notice{Kind: scheme.PaymentSettled, Tx: held.ID, EndToEnd: held.EndToEnd}
	named, misnamed := settled, settled
	named.Account, misnamed.Account = testAccount, testAccount+1
	stranger := settled
	stranger.Tx = other
	for round := range 2 { // in round 0 the payout is only held, in round 1 the merchant can see it
		if err := take(settled); err != nil || reported[testAccount] != 2*round+1 {
			t.Errorf("round %d: ours: %v, reported %v", round, err, reported)
		}
		if err := take(misnamed); !errors.Is(err, errAccount) || reported[testAccount] != 2*round+1 {
			t.Errorf("round %d: under another account: %v, reported %v", round, err, reported)
		}
		if err := take(named); err != nil {
			t.Errorf("round %d: under its account: %v", round, err)
		}
		if err := take(stranger); err == nil || reported[testAccount] != 2*round+2 {
			t.Errorf("round %d: under the same end-to-end id: %v, reported %v", round, err, reported)
		}
		b.step(ledger.ResolveTransfer{ID: held.ID, EndToEnd: held.EndToEnd, Result: ledger.TransferIsAccepted})
	}
	if err := take(scheme.Notice{Kind: scheme.PaymentArrived, Arrived: ledger.ReceivePayment{Key: "theirs"}}); !errors.Is(err, scheme.ErrNoPayee) {
		t.Errorf("a payment to another's key: %v", err)
	}
	if err := take(scheme.Notice{Kind: scheme.PaymentArrived, Arrived: ledger.ReceivePayment{Key: "ours"}}); err != nil || reported[9] != 1 {
		t.Errorf("a payment to our key: %v, %v", err, reported)
	}
	for _, c := range []struct {
		n    scheme.Notice
		want pix.AccountID
	}{
		{named, testAccount},
		{misnamed, testAccount + 1},
		{settled, 0}, // no table of recent payouts here
		{scheme.Notice{Kind: scheme.PaymentArrived, Arrived: ledger.ReceivePayment{Key: "ours"}}, 9},
		{scheme.Notice{Kind: scheme.PaymentArrived, Arrived: ledger.ReceivePayment{Key: "theirs"}}, 0},
	} {
		if got := f.Whose(c.n); got != c.want {
			t.Errorf("%+v is about %v, want %v", c.n, got, c.want)
		}
	}
	f.Recent = NewRecent(8)
	f.Recent.put(testAccount, held)
	if f.Whose(settled) != testAccount || f.Whose(stranger) != 0 {
		t.Error("a recent payout's account is not known, or another's is taken for it")
	}
	if err := take(scheme.Notice{Kind: 99, Tx: held.ID, EndToEnd: held.EndToEnd}); !errors.Is(err, errKind) {
		t.Errorf("a notice of an unknown kind: %v", err)
	}
}

// TestOneReturnAtOnce checks that, while one account works on a return, a second notice
// with the same return id is refused, even if it names another payout. Otherwise two
// accounts would credit the same return.
func TestOneReturnAtOnce(t *testing.T) {
	var done []func(error)
	row := func(a pix.AccountID, id pix.TxID) []byte {
		tx := ledger.Transaction{ID: id, Kind: pix.TxPayout, Status: pix.StatusAccepted, Ordinal: 1, Transfer: ledger.TransferPart{DueKind: layout.DueTransfer}}
		r := ledger.Record{Account: a, Seq: 1, Kind: ledger.PayoutAccepted, Body: ledger.Body{Tx: &tx}}
		for _, row := range ledger.Project(nil, &r) {
			if string(row.Key) == string(layout.IDKey(id.Short())) {
				return row.Value
			}
		}
		t.Fatal("no id row")
		return nil
	}
	ids := map[string][]byte{}
	for a, id := range map[pix.AccountID]pix.TxID{1: {1}, 2: {2}} {
		ids[string(layout.IDKey(id.Short()))] = row(a, id)
	}
	f := Feed{
		Rows:   idRows(ids),
		Notice: func(_ pix.AccountID, _ ledger.Command, d func(error)) { done = append(done, d) },
	}
	var reported []error
	take := func(tx pix.TxID) {
		f.Take(scheme.Notice{Kind: scheme.ReturnReceived, Tx: tx, ReturnID: "D1", Amount: 1}, func(err error) { reported = append(reported, err) })
	}
	take(pix.TxID{1})
	take(pix.TxID{2})
	if len(done) != 1 || len(reported) != 1 || reported[0] == nil {
		t.Fatalf("%d handed on, reported %v", len(done), reported)
	}
	done[0](nil)
	take(pix.TxID{2})
	if len(done) != 2 || len(reported) != 2 || reported[1] != nil {
		t.Errorf("after the first: %d handed on, reported %v", len(done), reported)
	}
}

// idRows are rows by key.
type idRows map[string][]byte

// Get implements layout.Rows.
func (r idRows) Get(key []byte) ([]byte, bool, error) { v, ok := r[string(key)]; return v, ok, nil }

// Scan implements layout.Rows.
func (r idRows) Scan(_, _ []byte, _ layout.Visit) error { panic("id rows are looked up by their keys") }

// scanned are rows that are scanned and not looked up by their keys.
type scanned func(lo, hi []byte, visit layout.Visit) error

// Get implements layout.Rows.
func (s scanned) Get([]byte) ([]byte, bool, error) { panic("these rows are scanned") }

// Scan implements layout.Rows.
func (s scanned) Scan(lo, hi []byte, visit layout.Visit) error { return s(lo, hi, visit) }
