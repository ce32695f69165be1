package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/ledger"
	"pixd/actors/scheme"
	"pixd/wal"
	"pixd/wal/waltest"
)

// returning returns a new refund of a payment that account 7 received.
func returning(at ledger.Millis, original, code string, amount ledger.Amount) scheme.Refund {
	entropy := draw()
	return scheme.Refund{
		Tx: ledger.NewTxID(at, entropy), Account: 7, EndToEnd: "D" + ledger.EndToEnd("99999004", at, ledger.RandomSuffix(entropy))[1:],
		Original: original, Amount: amount, Reason: code, Description: "troco",
	}
}

// paidAt books a customer's payment with the scheme's date at, and returns its end-to-end id.
func paidAt(t *testing.T, s *Sim, at ledger.Millis, amount ledger.Amount) string {
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
	const minute, day = ledger.Millis(60_000), ledger.Millis(24 * 3_600_000)
	at := goldenNoon
	s := openOn(t, vfs.NewMem(), func(o *Options) { o.SettleDelay, o.Now = 0, func() ledger.Millis { return at } })
	for n, key := range []string{shop.Value, "00000000-0000-4000-8000-000000000002"} {
		if err := s.RegisterKey(t.Context(), ledger.Key{Type: ledger.KeyEVP, Value: key}, ledger.AccountID(7+n)); err != nil {
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
	id := func(at ledger.Millis) string { return returning(at, "", "", 1).EndToEnd }
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
	changed.Amount, changed.Reason = 31, "XXXX"
	other.Tx = ledger.TxID{9}
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
	for code, wait := range map[string]ledger.Millis{"MD06": 1000, "XXXX": 0} {
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

// TestRefundsInTheBook checks sums, movements and what the book says of a refund and of the
// payment that it returns, before and after the sums are added up and the book is opened
// again.
func TestRefundsInTheBook(t *testing.T) {
	p := newPump(t)
	paid := paidAt(t, p.Sim, 0, 100)
	first, second := returning(p.at, paid, "MD06", 30), returning(p.at, paid, "SL02", 20)
	bad := returning(p.at, paid, "XXXX", 9)
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
	if k, err := p.Know(t.Context(), bad.EndToEnd); err != nil || k.State.Reason != "CH16" || k.FinalAt != settledAt || k.ReturnCode != "XXXX" {
		t.Errorf("%+v %v", k, err)
	}
	k, err = p.Know(t.Context(), paid)
	returns := []Returned{{second.EndToEnd, 20, "SL02", settledAt - 10}, {first.EndToEnd, 30, "MD06", settledAt}}
	if err != nil || k.Kind != MovedPayment || fmt.Sprint(k.Returns) != fmt.Sprint(returns) {
		t.Errorf("%+v %v", k, err)
	}
	page, _, err := p.Movements(t.Context(), settledAt, "", 10)
	if err != nil || len(page) != 1 || page[0] != (Movement{
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

// TestRefundBeforeDurable checks that neither Return nor Ask answers about a refund that is
// not durable yet, and that its D id is taken all the same.
func TestRefundBeforeDurable(t *testing.T) {
	s, store, hurried := openLate(t)
	if err := s.RegisterKey(t.Context(), shop, 7); err != nil {
		t.Fatal(err)
	}
	r := returning(0, paidAt(t, s, 0, 100), "MD06", 5)
	other := r
	other.Tx = ledger.TxID{9}
	store.late = true
	for _, r := range []scheme.Refund{r, r, other} {
		if state, err := s.Return(hurried, r); !errors.Is(err, context.Canceled) {
			t.Errorf("answered before it is durable: %+v %v", state, err)
		}
	}
	for range 2 {
		if state, err := s.Ask(hurried, r.Tx, r.EndToEnd); !errors.Is(err, context.Canceled) {
			t.Errorf("asked before it is durable: %+v %v", state, err)
		}
		store.Commit(100) // now the refunds can be read, but a crash may still lose them
	}
	store.Settle()
	store.late = false
	for tx, want := range map[ledger.TxID]string{r.Tx: "", other.Tx: "DUPL"} {
		if state, err := s.Ask(t.Context(), tx, r.EndToEnd); err != nil || state.Reason != want || state.Progress < scheme.Settled {
			t.Errorf("%+v %v, want %q", state, err, want)
		}
	}
	if k, err := s.Book(t.Context()); err != nil || k.Accounts[0].ReturnedBy != 5 || len(s.holders) != 0 {
		t.Errorf("%+v %v, %d ids held", k, err, len(s.holders))
	}
}

// lazyStore makes entries durable only when an entry without rows is appended, with which the
// simulator waits for all entries before it.
type lazyStore struct{ *waltest.InMemory }

func (s lazyStore) Append(e *wal.Entry) wal.Ticket {
	t := s.InMemory.Append(e)
	if len(e.Ops) == 0 {
		s.Settle()
	}
	return t
}

// TestRefundOfWhatIsOnItsWay checks that a payment which is booked and not readable yet can be
// returned.
func TestRefundOfWhatIsOnItsWay(t *testing.T) {
	mem := waltest.NewInMemory()
	s, err := Open(Options{Store: prompt{mem}, Now: func() ledger.Millis { return 0 }, Entropy: draw, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RegisterKey(t.Context(), shop, 7); err != nil {
		t.Fatal(err)
	}
	s.store = lazyStore{mem}
	hurried, cancel := context.WithCancel(t.Context())
	cancel()
	const paid = "E60701190197001010000abcdefghijk"
	if _, _, err := s.Pay(hurried, Payment{Key: shop.Value, Amount: 9, EndToEnd: paid}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	r := returning(0, paid, "MD06", 5)
	if _, err := s.Return(hurried, r); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if state, err := s.Ask(t.Context(), r.Tx, r.EndToEnd); err != nil || state.Progress != scheme.Settled {
		t.Errorf("%+v %v", state, err)
	}
}

// prompt is a store whose entries are durable when Append returns.
type prompt struct{ *waltest.InMemory }

func (s prompt) Append(e *wal.Entry) wal.Ticket {
	t := s.InMemory.Append(e)
	s.Settle()
	return t
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
	if !errors.Is(submit, errOtherKind) || !errors.Is(back, errOtherKind) {
		t.Error(submit, back)
	}
	p.at += 1000
	if got := p.sums(); got != (scheme.Sums{Sent: 100, Received: 100, ReturnedBy: 5}) {
		t.Errorf("%+v", got)
	}
}

// TestRefundAddsUpWhileItSettles checks that a refund counts once in the sums, wherever its
// settlement lies among the readings that move the mark.
func TestRefundAddsUpWhileItSettles(t *testing.T) {
	p := newPump(t)
	paid := paidAt(t, p.Sim, 0, 100)
	for range 20 {
		p.giveBackTo(returning(p.at, paid, "MD06", 5))
		p.at += ledger.Millis(time.Second/time.Millisecond) / 3
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
