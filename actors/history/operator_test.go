package history

import (
	"testing"

	"pixd/actors/ledger"
)

// payout is an accepted payout of 1.00 under an end-to-end id of the merchant's.
func (b *book) payout(id ledger.AccountID, e2e string, f ledger.Facts, result ledger.PayoutResult) *ledger.Transaction {
	b.t.Helper()
	f.Chain.EndToEnd = e2e
	key, _ := ledger.ParseKey(ledger.KeyEmail, "a@b.com")
	held := b.do(id, ledger.RequestPayout{Amount: 100, Key: key, EndToEnd: e2e}, f)
	if result == 0 {
		return held
	}
	return b.do(id, ledger.ResolvePayout{ID: held.ID, EndToEnd: e2e, Result: result}, ledger.Facts{Tx: held})
}

const (
	e2eA = "E99999004202603011200aaaaaaaaaaa"
	e2eB = "E99999004202603011200bbbbbbbbbbb"
	e2eC = "E60701190202603011200ccccccccccc"
	e2eD = "E99999004202603011200ddddddddddd"
)

// TestAnyone: whosoever's, by any of its ids; what was only held is nobody's.
func TestAnyone(t *testing.T) {
	b := newBook(t)
	h := New(b.store)
	for id := ledger.AccountID(1); id <= 2; id++ {
		b.do(id, ledger.Credit{Kind: ledger.TxTED, Amount: 10_000}, ledger.Facts{})
	}
	accepted := b.payout(1, e2eA, ledger.Facts{}, ledger.PayoutIsAccepted)
	settled := b.payout(2, e2eB, ledger.Facts{}, ledger.PayoutIsSettled)
	b.payout(1, e2eD, ledger.Facts{}, 0)
	paid := b.do(2, ledger.ReceivePayment{EndToEnd: e2eC, Amount: 700}, ledger.Facts{})
	for id, want := range map[string]*ledger.Transaction{
		accepted.ID.String(): accepted, accepted.Public(): accepted, e2eA: accepted,
		settled.Public(): settled, e2eB: settled, paid.Public(): paid, e2eC: paid,
		e2eD: nil, "nonsense": nil, "": nil, "E99999004202603011200eeeeeeeeeee": nil,
	} {
		got, err := h.Anyone(id)
		if err != nil || (got == nil) != (want == nil) || got != nil && got.Tx.ID != want.ID {
			t.Errorf("%s: %+v %v", id, got, err)
		}
	}
	if got, err := h.Anyone(e2eC); err != nil || got.Account != 2 || got.Tx.Status != ledger.StatusCompleted {
		t.Errorf("%+v %v", got, err)
	}
	// A payment received under a payout's id: the one that moved money wins.
	stray := b.do(2, ledger.ReceivePayment{EndToEnd: e2eA, Amount: 5}, ledger.Facts{})
	if got, err := h.Anyone(e2eA); err != nil || got.Tx.ID != stray.ID {
		t.Errorf("%+v %v", got, err)
	}
	if got, err := h.Anyone(e2eB); err != nil || got.Tx.ID != settled.ID {
		t.Errorf("%+v %v", got, err)
	}
}

// TestInFlight: what waits, of one account or of all, page by page.
func TestInFlight(t *testing.T) {
	b := newBook(t)
	h := New(b.store)
	want := map[ledger.TxID]ledger.AccountID{}
	for id := ledger.AccountID(1); id <= 2; id++ {
		b.do(id, ledger.Credit{Kind: ledger.TxTED, Amount: 10_000}, ledger.Facts{})
		for n := range 5 {
			e2e := e2eA[:30] + string(rune('0'+id)) + string(rune('a'+n))
			want[b.payout(id, e2e, ledger.Facts{}, ledger.PayoutIsAccepted).ID] = id
		}
	}
	b.payout(1, e2eB, ledger.Facts{}, ledger.PayoutIsSettled)
	b.payout(1, e2eD, ledger.Facts{}, 0)
	seen := map[ledger.TxID]bool{}
	var after []byte
	for page := 0; page == 0 || after != nil; page++ {
		all, next, err := h.InFlight(0, 0, after, 3)
		if err != nil || len(all) > 3 || page > 3 {
			t.Fatalf("page %d: %v %v", page, all, err)
		}
		for _, o := range all {
			if seen[o.Tx.ID] || want[o.Tx.ID] != o.Account || o.Tx.Status != ledger.StatusAccepted {
				t.Errorf("%+v", o)
			}
			seen[o.Tx.ID] = true
		}
		after = next
	}
	if len(seen) != len(want) {
		t.Errorf("%d of %d were listed", len(seen), len(want))
	}
	for a, n := range map[ledger.AccountID]int{1: 5, 2: 5, 3: 0, ^ledger.AccountID(0): 0} {
		if all, next, err := h.InFlight(a, ledger.StatusAccepted, nil, 9); err != nil || len(all) != n || next != nil {
			t.Errorf("of %v: %d, %v %v", a, len(all), next, err)
		}
	}
	if all, next, err := h.InFlight(0, ledger.StatusQueued, nil, 9); err != nil || len(all) != 0 || next != nil {
		t.Errorf("queued: %v %v %v", all, next, err)
	}
}
