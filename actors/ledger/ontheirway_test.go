package ledger

import (
	"errors"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// TestOnTheirWay checks that each refund of a payment that is in flight is visited once, wherever it is
// found: carried by a child actor, among the open rows, or by its due row alone; and that refunds of
// another payment, payouts, and due rows of other accounts are not.
func TestOnTheirWay(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 100_000)
	a, b := h.paid("a", 50_000), h.paid("b", 50_000)
	refund := func(of *Transaction, amount pix.Amount) pix.TxID {
		return h.step(RequestRefund{Original: of.EndToEnd, Amount: amount, Reason: "MD06"}).Launch[0].Tx.ID
	}
	accepted := func(id pix.TxID) pix.TxID {
		h.step(ResolveTransfer{ID: id, EndToEnd: h.carried[id].EndToEnd, Result: TransferIsAccepted})
		return id
	}
	lost, open, carried := refund(a, 100), accepted(refund(a, 200)), refund(a, 300)
	other := []pix.TxID{refund(b, 400), accepted(refund(b, 500)), refund(b, 600)}
	h.step(RequestPayout{Amount: 700, Key: emailKey(t, "a@example.com")})
	delete(h.carried, lost)
	delete(h.carried, open)
	delete(h.carried, other[1])
	delete(h.carried, other[2])
	h.rows[string(layout.DueKey(layout.DueTransfer, 1, testAccount+1, layout.EntityID(lost)))] = layout.SeqRow(1)

	stamp := h.stamp()
	g := &gathering{Reader: h, account: h.account, stamp: &stamp}
	sums, err := g.readSums(a.ID, a.Amount)
	if err != nil {
		t.Fatal(err)
	}
	visited := map[pix.TxID]int{}
	err = g.onTheirWay(&sums, func(tx *Transaction) { visited[tx.ID]++ })
	if err != nil || len(visited) != 3 || visited[lost] != 1 || visited[open] != 1 || visited[carried] != 1 {
		t.Errorf("visited %v of %v, %v and %v (%v)", visited, lost, open, carried, err)
	}

	h.failing = errors.New("the disk")
	if err := g.onTheirWay(&sums, func(*Transaction) {}); !errors.Is(err, h.failing) {
		t.Errorf("rows that cannot be read: %v", err)
	}
	sums.InFlight = 300
	if err := g.onTheirWay(&sums, func(*Transaction) {}); err != nil {
		t.Errorf("children carry all, and rows are read: %v", err)
	}
}

// TestBeside checks what other refunds count towards each case of one that counts towards two, and that
// nothing is looked for where the cases have room for all that is in flight.
func TestBeside(t *testing.T) {
	h := newHarness(t)
	of, one, two := pix.TxID{1}, &Case{ID: pix.CaseID{1}, Amount: 1000, Refunded: 300, Held: 200, Short: 100}, &Case{ID: pix.CaseID{2}, Amount: 500}
	if one.room() != 400 || two.room() != 500 {
		t.Fatalf("room %d and %d", one.room(), two.room())
	}
	mine := &Transaction{ID: pix.TxID{10}}
	for id, shares := range map[pix.TxID][]CaseShare{
		mine.ID: {{one.ID, 100}, {two.ID, 50}}, {11}: {{two.ID, 70}}, {12}: {{two.ID, 20}, {pix.CaseID{3}, 9}, {one.ID, 30}}, {13}: nil,
	} {
		h.carried[id] = &Transaction{ID: id, Kind: pix.TxRefund, Status: pix.StatusAccepted, Amount: 100, Refund: RefundPart{Original: of, Counts: shares}}
	}
	stamp := h.stamp()
	g := &gathering{Reader: h, account: h.account, stamp: &stamp}
	got, err := g.otherRefundsInFlight(mine, &layout.RefundSums{Original: of, InFlight: 401}, []*Case{one, two})
	if err != nil || len(got) != 2 || got[0] != 30 || got[1] != 90 {
		t.Errorf("beside %v (%v)", got, err)
	}
	if got, err := g.otherRefundsInFlight(mine, &layout.RefundSums{Original: of, InFlight: 400}, []*Case{one, two}); err != nil || got != nil {
		t.Errorf("there is room for all: %v (%v)", got, err)
	}
}
