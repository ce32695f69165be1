package history

import (
	"fmt"
	"slices"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// payout makes a payout of 100 base units under an end-to-end id that the merchant chose,
// and applies result to the payout.
func (b *book) payout(id pix.AccountID, e2e string, result ledger.TransferResult) *ledger.Transaction {
	b.t.Helper()
	key, _ := pix.ParseKey(pix.KeyEmail, "a@b.com")
	held := b.do(id, ledger.RequestPayout{Amount: 100, Key: key, EndToEnd: e2e})
	if result == 0 {
		return held
	}
	return b.do(id, ledger.ResolveTransfer{ID: held.ID, EndToEnd: e2e, Result: result})
}

const (
	e2eA = "E99999004202603011200aaaaaaaaaaa"
	e2eB = "E99999004202603011200bbbbbbbbbbb"
	e2eC = "E60701190202603011200ccccccccccc"
	e2eD = "E99999004202603011200ddddddddddd"
)

// TestAnyone checks that Anyone finds a transaction of any account by any of its ids, but
// finds no payout that is only held.
func TestAnyone(t *testing.T) {
	b := newBook(t)
	h := New(b.store)
	for id := pix.AccountID(1); id <= 2; id++ {
		b.do(id, ledger.Credit{Kind: pix.TxTED, Amount: 10_000})
	}
	accepted := b.payout(1, e2eA, ledger.TransferIsAccepted)
	settled := b.payout(2, e2eB, ledger.TransferIsSettled)
	b.payout(1, e2eD, 0)
	paid := b.do(2, ledger.ReceivePayment{EndToEnd: e2eC, Amount: 700})
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
	if got, err := h.Anyone(e2eC); err != nil || got.Account != 2 || got.Tx.Status != pix.StatusCompleted {
		t.Errorf("%+v %v", got, err)
	}
	// A payment was received under a payout's id: the transaction that moved money is
	// returned.
	stray := b.do(2, ledger.ReceivePayment{EndToEnd: e2eA, Amount: 5})
	if got, err := h.Anyone(e2eA); err != nil || got.Tx.ID != stray.ID {
		t.Errorf("%+v %v", got, err)
	}
	if got, err := h.Anyone(e2eB); err != nil || got.Tx.ID != settled.ID {
		t.Errorf("%+v %v", got, err)
	}
}

// TestAnyoneRefused checks that a payout which was refused before its merchant could see it is found
// by operators alone, under its end-to-end id, and only while no other has that id.
func TestAnyoneRefused(t *testing.T) {
	b := newBook(t)
	h := New(b.store)
	b.do(1, ledger.Credit{Kind: pix.TxTED, Amount: 10_000})
	held := b.payout(1, e2eA, 0)
	refused := b.do(1, ledger.ResolveTransfer{ID: held.ID, EndToEnd: e2eA, Result: ledger.TransferIsRefused, Refusal: ledger.RefuseProvider})
	if got, err := h.Anyone(e2eA); err != nil || got == nil || got.Tx.ID != refused.ID || got.Tx.Status != pix.StatusRefused || got.Account != 1 {
		t.Errorf("%+v %v", got, err)
	}
	if got, err := h.Anyone(refused.Public()); err != nil || got != nil {
		t.Errorf("by its transaction_id: %+v %v", got, err)
	}
	again := b.payout(1, e2eA, ledger.TransferIsAccepted)
	if got, err := h.Anyone(e2eA); err != nil || got == nil || got.Tx.ID != again.ID {
		t.Errorf("beside another: %+v %v, want %v", got, err, again.ID)
	}
}

// TestAnyoneRenewed checks that a payout whose end-to-end id was renewed is found by its
// new id and by its former ids, and that the former ids do not lead to a later payout whose
// id ends in the same 11 characters.
func TestAnyoneRenewed(t *testing.T) {
	b := newBook(t)
	h := New(b.store)
	b.do(1, ledger.Credit{Kind: pix.TxTED, Amount: 10_000})
	always := pix.Amount(0)
	settings := ledger.DefaultSettings()
	settings.ApprovalThreshold = &always
	b.do(1, ledger.ChangeSettings{Settings: settings})
	key, _ := pix.ParseKey(pix.KeyEmail, "a@b.com")
	held := b.do(1, ledger.RequestPayout{Amount: 100, Key: key})
	former := held.EndToEnd
	b.now += 12 * 60 * 60 * 1000
	approved := b.do(1, ledger.DecideApproval{ID: held.ID, Word: ledger.Approved, Operator: "Ana"})
	if !slices.Equal(approved.Payout.Former, []string{former}) || approved.EndToEnd == former {
		t.Fatalf("not renewed: %+v", approved)
	}
	// The directory refuses the look-up because its rate limit is used up, so the payout is
	// queued. In the queue its new end-to-end id grows too old as well, so the id is renewed
	// a second time.
	b.do(1, ledger.ResolveTransfer{ID: held.ID, Result: ledger.TransferIsLimited, Refusal: ledger.RefuseBucket})
	b.now += 12 * 60 * 60 * 1000
	sending := b.do(1, ledger.ResolveTransfer{ID: held.ID, Result: ledger.TransferIsSending})
	if !slices.Equal(sending.Payout.Former, []string{former, approved.EndToEnd}) {
		t.Fatalf("not renewed again: %+v", sending)
	}
	for _, id := range []string{former, approved.EndToEnd, sending.EndToEnd} {
		if got, err := h.Anyone(id); err != nil || got == nil || got.Tx.ID != held.ID || got.Account != 1 {
			t.Errorf("by %s: %+v %v", id, got, err)
		}
	}
	if got, err := h.Anyone(former[:20] + "9" + former[21:]); err != nil || got != nil {
		t.Errorf("another minute of the suffix: %+v %v", got, err)
	}
}

// TestAnyoneReturned checks that Anyone finds a return by the return's id, and the returned
// payout by the payout's own id.
func TestAnyoneReturned(t *testing.T) {
	b := newBook(t)
	h := New(b.store)
	b.do(2, ledger.Credit{Kind: pix.TxTED, Amount: 10_000})
	paid := b.payout(2, e2eA, ledger.TransferIsSettled)
	returnID := "D60701190202603011200" + "rrrrrrrrrrr"
	back := b.do(2, ledger.ReceiveReturn{ID: paid.ID, EndToEnd: e2eA, ReturnID: returnID, Amount: 40, Reason: "MD06"})
	for id, want := range map[string]pix.TxID{returnID: back.ID, back.Public(): back.ID, e2eA: paid.ID} {
		if got, err := h.Anyone(id); err != nil || got == nil || got.Tx.ID != want || got.Account != 2 {
			t.Errorf("by %s: %+v %v", id, got, err)
		}
	}
	if got, err := h.Anyone("D60701190202603011200" + "sssssssssss"); err != nil || got != nil {
		t.Errorf("another return: %+v %v", got, err)
	}
}

// TestFinalPayouts checks that FinalPayouts lists exactly the payouts with the wanted status, page by
// page.
func TestFinalPayouts(t *testing.T) {
	b := newBook(t)
	h := New(b.store)
	ended := map[pix.TxStatus][]pix.TxID{}
	for id := pix.AccountID(1); id <= 2; id++ {
		b.do(id, ledger.Credit{Kind: pix.TxTED, Amount: 100_000})
		for n := range 6 {
			result := [...]ledger.TransferResult{ledger.TransferIsSettled, ledger.TransferIsRejected, ledger.TransferIsAccepted}[n%3]
			e2e := pix.EndToEnd("99999004", noon, fmt.Sprintf("%d%010d", id, n))
			tx := b.payout(id, e2e, result)
			ended[tx.Status] = append(ended[tx.Status], tx.ID)
		}
	}
	for status, want := range map[pix.TxStatus][]pix.TxID{
		pix.StatusSettled: ended[pix.StatusSettled], pix.StatusRejected: ended[pix.StatusRejected], pix.StatusFailed: nil,
	} {
		var got []pix.TxID
		for after, more := []byte(nil), true; more; more = after != nil {
			page, next, err := parts(h.FinalPayouts(0, status, after, 3))
			if err != nil || len(page) > 3 {
				t.Fatal(page, err)
			}
			for _, o := range page {
				got = append(got, o.Tx.ID)
			}
			after = next
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v", status, got, want)
		}
		one, _, err := parts(h.FinalPayouts(2, status, nil, 100))
		if err != nil || len(one) != len(want)/2 || len(one) > 0 && one[0].Account != 2 {
			t.Errorf("of one account: %v %v", one, err)
		}
	}
}

// TestInFlight checks that InFlight lists the payouts in flight of one account or of all,
// page by page, and no refund.
func TestInFlight(t *testing.T) {
	b := newBook(t)
	h := New(b.store)
	want := map[pix.TxID]pix.AccountID{}
	for id := pix.AccountID(1); id <= 2; id++ {
		b.do(id, ledger.Credit{Kind: pix.TxTED, Amount: 10_000})
		for n := range 5 {
			e2e := e2eA[:30] + string(rune('0'+id)) + string(rune('a'+n))
			want[b.payout(id, e2e, ledger.TransferIsAccepted).ID] = id
		}
	}
	b.payout(1, e2eB, ledger.TransferIsSettled)
	b.payout(1, e2eD, 0)
	p := b.received(1, payment(1), 1000)
	refund := b.do(1, ledger.RequestRefund{Original: p.ID.String(), Amount: 1000, Reason: "MD06"})
	b.do(1, ledger.ResolveTransfer{ID: refund.ID, EndToEnd: refund.EndToEnd, Result: ledger.TransferIsAccepted})
	seen := map[pix.TxID]bool{}
	var after []byte
	for page := 0; page == 0 || after != nil; page++ {
		all, next, err := parts(h.InFlight(0, nil, after, 3))
		if err != nil || len(all) > 3 || page > 3 {
			t.Fatalf("page %d: %v %v", page, all, err)
		}
		for _, o := range all {
			if seen[o.Tx.ID] || want[o.Tx.ID] != o.Account || o.Tx.Status != pix.StatusAccepted {
				t.Errorf("%+v", o)
			}
			seen[o.Tx.ID] = true
		}
		after = next
	}
	if len(seen) != len(want) {
		t.Errorf("%d of %d were listed", len(seen), len(want))
	}
	for a, n := range map[pix.AccountID]int{1: 5, 2: 5, 3: 0, ^pix.AccountID(0): 0} {
		if all, next, err := parts(h.InFlight(a, []pix.TxStatus{pix.StatusQueued, pix.StatusAccepted}, nil, 9)); err != nil || len(all) != n || next != nil {
			t.Errorf("of %v: %d, %v %v", a, len(all), next, err)
		}
	}
	if all, next, err := parts(h.InFlight(0, []pix.TxStatus{pix.StatusQueued}, nil, 9)); err != nil || len(all) != 0 || next != nil {
		t.Errorf("queued: %v %v %v", all, next, err)
	}
}
