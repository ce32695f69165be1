package sim

import (
	"fmt"
	"testing"
	"time"

	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// TestRefundsInTheBook checks sums, movements and what the book says of a refund and of the
// payment that it returns, before and after the sums are added up and the book is opened
// again.
func TestRefundsInTheBook(t *testing.T) {
	p := newPump(t)
	paid := paidAt(t, p.Sim, 0, 100)
	first, second := returning(p.at, paid, "MD06", 30), returning(p.at, paid, "SL02", 20)
	bad := returning(p.at, paid, "ZZ99", 9)
	p.giveBackTo(second)
	p.at += 10
	p.giveBackTo(bad)
	p.giveBackTo(first)
	if k, err := p.Know(t.Context(), first.EndToEnd); err != nil || k.FinalAt != 0 || k.State.Progress != scheme.Pending {
		t.Errorf("%+v %v", k, err)
	}
	p.at += 995
	if k, err := p.Know(t.Context(), paid); err != nil || len(k.Returns) != 1 || k.Returns[0].ID != second.EndToEnd {
		t.Errorf("%+v %v", k, err)
	}
	p.at += 5
	for range 2 {
		p.judgeRefunds(paid, first, second, bad)
		p.at++
		if err := p.addUp(); err != nil {
			t.Fatal(err)
		}
		p.open()
	}
}

func (p *pump) judgeRefunds(paid string, first, second, bad scheme.Refund) {
	t := p.t
	t.Helper()
	want := []scheme.ParticipantBook{
		{ISPB: "99999003", Messages: 3, Sums: scheme.Sums{Sent: 100, ReturnedTo: 50}},
		{ISPB: "99999004", Messages: 3, Sums: scheme.Sums{Received: 100, ReturnedBy: 50}},
	}
	if b := p.book(); fmt.Sprint(b.Participants) != fmt.Sprint(want) || p.sums() != (scheme.Sums{Received: 100, ReturnedBy: 50}) {
		t.Errorf("%+v", b)
	}
	settledAt := goldenNoon + 1010
	k, err := p.Know(t.Context(), first.EndToEnd)
	if err != nil || fmt.Sprint(k) != fmt.Sprint(Known{
		Kind: MovedRefund, Tx: first.Tx, EndToEnd: paid, ReturnID: first.EndToEnd, ReturnCode: "MD06", Account: 7, Amount: 30,
		State: scheme.State{Progress: scheme.Settled}, At: settledAt - 1000, FinalAt: settledAt,
	}) {
		t.Errorf("%+v %v", k, err)
	}
	if k, err := p.Know(t.Context(), bad.EndToEnd); err != nil || k.State.Reason != "CH16" || k.FinalAt != settledAt || k.ReturnCode != "ZZ99" {
		t.Errorf("%+v %v", k, err)
	}
	k, err = p.Know(t.Context(), paid)
	returns := []Returned{{second.EndToEnd, 20, "SL02", settledAt - 10}, {first.EndToEnd, 30, "MD06", settledAt}}
	if err != nil || k.Kind != MovedPayment || fmt.Sprint(k.Returns) != fmt.Sprint(returns) {
		t.Errorf("%+v %v", k, err)
	}
	page, _, err := p.Settled(t.Context(), settledAt, "", 10)
	if err != nil || len(page) != 1 || page[0] != (SettledMovement{
		At: settledAt, Kind: MovedRefund, Tx: first.Tx, EndToEnd: paid, ReturnID: first.EndToEnd, Account: 7, Amount: 30, Other: payerISPB,
	}) {
		t.Errorf("%+v %v", page, err)
	}
}

// TestRefundsOfNeighbours checks that the refunds of a payment are not listed under a payment
// whose end-to-end id is the beginning of the first one's.
func TestRefundsOfNeighbours(t *testing.T) {
	p := newPump(t)
	p.opts.SettleDelay = 0
	const longer = "E60701190202603011200abcdefghijk"
	for _, id := range []string{longer, longer[:31]} {
		if _, _, err := p.Pay(t.Context(), Payment{Key: shop.Value, Amount: 9, EndToEnd: id}); err != nil {
			t.Fatal(err)
		}
	}
	p.giveBackTo(returning(p.at, longer, "MD06", 1))
	for id, want := range map[string]int{longer: 1, longer[:31]: 0} {
		if k, err := p.Know(t.Context(), id); err != nil || len(k.Returns) != want {
			t.Errorf("%s: %+v %v", id, k, err)
		}
	}
}

// TestRefundAddsUpWhileItSettles checks that a refund counts once in the sums, wherever its
// settlement lies among the readings that move the mark.
func TestRefundAddsUpWhileItSettles(t *testing.T) {
	p := newPump(t)
	paid := paidAt(t, p.Sim, 0, 100)
	for range 20 {
		p.giveBackTo(returning(p.at, paid, "MD06", 5))
		p.at += pix.Millis(time.Second/time.Millisecond) / 3
		if err := p.addUp(); err != nil {
			t.Fatal(err)
		}
	}
	p.at += 1000
	for range 2 {
		if got := p.sums().ReturnedBy; got != 100 {
			t.Errorf("returned %d", got)
		}
		p.open()
	}
}
