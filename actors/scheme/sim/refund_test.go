package sim

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// returning returns a new refund of a payment that account 7 received.
func returning(at pix.Millis, original, code string, amount pix.Amount) scheme.Refund {
	entropy := draw()
	return scheme.Refund{
		Tx: pix.NewTxID(at, entropy), Account: 7, EndToEnd: "D" + pix.EndToEnd("99999004", at, pix.RandomSuffix(entropy))[1:],
		Original: original, Amount: amount, Reason: code, Description: "troco",
	}
}

// paidAt books a customer's payment with the scheme's date at, and returns its end-to-end id.
func paidAt(t *testing.T, s *Sim, at pix.Millis, amount pix.Amount) string {
	t.Helper()
	paid, _, err := s.Pay(t.Context(), Payment{Key: shop.Value, Amount: amount, At: at})
	if err != nil {
		t.Fatal(err)
	}
	return paid
}

func (p *pump) giveBackTo(r scheme.Refund) scheme.State {
	p.t.Helper()
	state, err := p.Return(p.t.Context(), r)
	if err != nil {
		p.t.Fatal(err)
	}
	return state
}

// TestRefundOutcomes checks which refunds settle and with which code the others are rejected,
// inside the call where there is no settle delay.
func TestRefundOutcomes(t *testing.T) {
	const minute, day = pix.Millis(60_000), pix.Millis(24 * 3_600_000)
	at := goldenNoon
	s := openOn(t, vfs.NewMem(), func(o *Options) { o.SettleDelay, o.Now = 0, func() pix.Millis { return at } })
	for n, key := range []string{shop.Value, "00000000-0000-4000-8000-000000000002"} {
		if err := s.RegisterKey(t.Context(), pix.Key{Type: pix.KeyEVP, Value: key}, pix.AccountID(7+n)); err != nil {
			t.Fatal(err)
		}
	}
	out := payoutAt(at)
	out.Key.Value = "settle-now@pix.test"
	_, submitted := s.Submit(t.Context(), out)
	others, _, paid := s.Pay(t.Context(), Payment{Key: "00000000-0000-4000-8000-000000000002", Amount: 5})
	if err := errors.Join(submitted, paid); err != nil {
		t.Fatal(err)
	}
	fresh, last := paidAt(t, s, 0, 100), paidAt(t, s, at-90*day, 100)
	late := paidAt(t, s, at-90*day-1, 100)
	id := func(at pix.Millis) string { return returning(at, "", "", 1).EndToEnd }
	for _, c := range []struct{ original, code, id, want string }{
		{fresh, "MD06", "", ""},
		{fresh, "BE08", "", ""},
		{fresh, "AM09", "", ""},
		{fresh, "SL02", "", ""},
		{fresh, "RR04", "", ""},
		{fresh, "FR01", "", ""},
		{last, "MD06", "", ""},
		{late, "MD06", "", "DT05"},
		{late, "FR01", "", ""},
		{late, "BE08", "", ""},
		{late, "FOCR", "", "CH16"},
		{fresh, "", "", "CH16"},
		{fresh, "md06", "", "CH16"},
		{fresh, "MD06 ", "", "CH16"},
		{fresh, "AC03", "", "CH16"},
		{"E60701190202603011200nobodypaids", "MD06", "", "CH16"},
		{"", "MD06", "", "CH16"},
		{out.EndToEnd, "MD06", "", "CH16"},
		{others, "MD06", "", "CH16"},
		{fresh, "MD06", id(at - 12*60*minute), ""},
		{fresh, "MD06", id(at + 12*60*minute), ""},
		{fresh, "MD06", id(at - 12*60*minute - minute), "FF08"},
		{fresh, "MD06", id(at + 12*60*minute + minute), "FF08"},
		{fresh, "MD06", "nonsense", "FF08"},
		{fresh, "MD06", "D", "FF08"},
		{fresh, "MD06", "E" + id(at)[1:], "FF08"},
		{fresh, "MD06", id(at)[1:], "FF08"},
		{late, "AC03", id(at - 13*60*minute), "FF08"},
	} {
		r := returning(at, c.original, c.code, 100)
		if c.id != "" {
			r.EndToEnd = c.id
		}
		want := scheme.State{Progress: scheme.Settled}
		if c.want != "" {
			want = scheme.State{Progress: scheme.Rejected, Reason: c.want}
		}
		got, err := s.Return(t.Context(), r)
		asked, err2 := s.Ask(t.Context(), r.Tx, r.EndToEnd)
		if err != nil || err2 != nil || got != want || asked != want {
			t.Errorf("%+v: %+v %v, asked %+v %v, want %q", c, got, err, asked, err2, c.want)
		}
	}
	b, err := s.Book(t.Context())
	if err != nil || len(b.Accounts) != 2 || b.Accounts[0].ReturnedBy != 11*100 || b.Accounts[1].ReturnedBy != 0 {
		t.Errorf("%+v %v", b, err)
	}
}

// TestRefundAgain checks that a refund which is submitted again gets the first answer and
// returns nothing more, that another transaction under its D id is rejected, and that a
// second D id of the same transaction is another refund.
func TestRefundAgain(t *testing.T) {
	p := newPump(t)
	r := returning(p.at, paidAt(t, p.Sim, 0, 100), "MD06", 30)
	settled, pending := scheme.State{Progress: scheme.Settled}, scheme.State{Progress: scheme.Pending}
	dupl := scheme.State{Progress: scheme.Rejected, Reason: "DUPL"}
	changed, other, second := r, r, r
	changed.Amount, changed.Reason = 31, "ZZ99"
	other.Tx = pix.TxID{9}
	second.EndToEnd = returning(p.at, "", "", 1).EndToEnd
	for _, s := range []scheme.Refund{r, r, changed, other, other, second} {
		if got := p.giveBackTo(s); got != pending {
			t.Errorf("%+v is %+v", s, got)
		}
	}
	p.drain(nil)
	p.at += 999
	if got := p.giveBackTo(r); got != pending || len(p.drain(nil)) != 0 {
		t.Errorf("%+v before the delay has passed", got)
	}
	p.at++
	for range 2 {
		for _, c := range []struct {
			of   scheme.Refund
			want scheme.State
		}{{r, settled}, {changed, settled}, {other, dupl}, {second, settled}} {
			if got := p.giveBackTo(c.of); got != c.want {
				t.Errorf("%+v is %+v", c.of, got)
			}
			if got, err := p.Ask(t.Context(), c.of.Tx, c.of.EndToEnd); err != nil || got != c.want {
				t.Errorf("%+v is %+v %v", c.of, got, err)
			}
		}
		p.open()
	}
	if got := fmt.Sprint(p.drain(nil)); got != "[return_settled return_settled return_rejected]" {
		t.Errorf("reported %v", got)
	}
	if got := p.sums(); got != (scheme.Sums{Received: 100, ReturnedBy: 60}) {
		t.Errorf("%+v", got)
	}
	if got, err := p.Ask(t.Context(), r.Tx, "D99999004202603011200nobodysents"); err != nil || got != (scheme.State{}) {
		t.Errorf("a refund that never came: %+v %v", got, err)
	}
}

// TestRefundsBeyond checks that the simulator does not stop refunds that come to more than the
// payment: the book then shows the engine's fault.
func TestRefundsBeyond(t *testing.T) {
	p := newPump(t)
	paid := paidAt(t, p.Sim, 0, 100)
	for range 2 {
		p.giveBackTo(returning(p.at, paid, "FR01", 100))
	}
	p.at += 1000
	if got := p.sums(); got != (scheme.Sums{Received: 100, ReturnedBy: 200}) {
		t.Errorf("%+v", got)
	}
}

// TestRefundNotices checks the notices of refunds, which are open until they are acknowledged,
// count in the book's OldestOpen, and are sent again by the next process.
func TestRefundNotices(t *testing.T) {
	p := newPump(t)
	paid := paidAt(t, p.Sim, p.at-100*24*3_600_000, 100)
	p.drain(nil)
	good, bad := returning(p.at, paid, "BE08", 40), returning(p.at, paid, "MD06", 40)
	p.giveBackTo(good)
	p.giveBackTo(bad)
	if b := p.book(); b.OldestOpen != 0 {
		t.Errorf("open since %v before it is due", b.OldestOpen)
	}
	due := p.at + 1000
	if next, ok := p.NextDue(); !ok || next != due {
		t.Errorf("next at %v", next)
	}
	p.at = due + 500
	want := []scheme.Notice{
		{Kind: scheme.RefundSettled, Tx: good.Tx, EndToEnd: good.EndToEnd, Account: 7},
		{Kind: scheme.RefundRejected, Tx: bad.Tx, EndToEnd: bad.EndToEnd, Account: 7, Reason: "DT05"},
	}
	for round, result := range []error{errAway, nil} {
		if b := p.book(); b.OldestOpen != due {
			t.Errorf("round %d: open since %v, want %v", round, b.OldestOpen, due)
		}
		got := map[scheme.NoticeKind]scheme.Notice{}
		for n, done, ok := p.Due(); ok; n, done, ok = p.Due() {
			got[n.Kind] = n
			done(result)
		}
		if len(got) != 2 || got[scheme.RefundSettled] != want[0] || got[scheme.RefundRejected] != want[1] {
			t.Errorf("round %d: reported %+v", round, got)
		}
		p.open()
	}
	if got := p.drain(nil); len(got) != 0 || p.book().OldestOpen != 0 {
		t.Errorf("acknowledged, and reported again: %v", got)
	}
}

// TestRefundInsideTheCallIsToldLater checks that the notice of a refund which settled inside
// the call comes a second later, and that of a rejected one at once, as for payouts.
func TestRefundInsideTheCallIsToldLater(t *testing.T) {
	for code, wait := range map[string]pix.Millis{"MD06": 1000, "ZZ99": 0} {
		p := newPump(t)
		p.opts.SettleDelay = 0
		paid := paidAt(t, p.Sim, 0, 100)
		p.drain(nil)
		p.giveBackTo(returning(p.at, paid, code, 1))
		if next, ok := p.NextDue(); !ok || next != p.at+wait {
			t.Errorf("%s: next at %v, want %v", code, next, p.at+wait)
		}
	}
}

// TestRefundWithAPayoutsIDs checks that a refund and a payout with the same two ids are not
// taken for repeats of each other: neither is answered with the other's state.
func TestRefundWithAPayoutsIDs(t *testing.T) {
	p := newPump(t)
	r := returning(p.at, paidAt(t, p.Sim, 0, 100), "MD06", 5)
	p.giveBackTo(r)
	o := payoutAt(p.at)
	if _, err := p.Submit(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	asPayout, asRefund := o, r
	asPayout.Tx, asPayout.EndToEnd = r.Tx, r.EndToEnd
	asRefund.Tx, asRefund.EndToEnd = o.Tx, o.EndToEnd
	_, submit := p.Submit(t.Context(), asPayout)
	_, back := p.Return(t.Context(), asRefund)
	if !errors.Is(submit, errSubmittedOtherwise) || !errors.Is(back, errSubmittedOtherwise) {
		t.Error(submit, back)
	}
	p.at += 1000
	if got := p.sums(); got != (scheme.Sums{Sent: 100, Received: 100, ReturnedBy: 5}) {
		t.Errorf("%+v", got)
	}
}

// TestAskTellsRefundsFromPayouts checks that a question about a refund is answered with the
// refund's state, even where a payout of the same transaction has another one.
func TestAskTellsRefundsFromPayouts(t *testing.T) {
	p := newPump(t)
	r := returning(p.at, paidAt(t, p.Sim, 0, 100), "ZZ99", 5)
	o := payoutAt(p.at)
	o.Tx = r.Tx
	if _, err := p.Submit(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	p.giveBackTo(r)
	p.at += 1000
	for id, want := range map[string]scheme.State{
		r.EndToEnd: {Progress: scheme.Rejected, Reason: "CH16"}, o.EndToEnd: {Progress: scheme.Settled},
	} {
		if got, err := p.Ask(t.Context(), r.Tx, id); err != nil || got != want {
			t.Errorf("%s: %+v %v, want %+v", id, got, err, want)
		}
	}
}
