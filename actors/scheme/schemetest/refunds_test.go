package schemetest

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// keys are PIX keys of accounts 7 and 8, to which customers pay.
var keys = map[pix.AccountID]pix.Key{
	7: {Type: pix.KeyEVP, Value: "00000000-0000-4000-8000-000000000007"},
	8: {Type: pix.KeyEVP, Value: "00000000-0000-4000-8000-000000000008"},
}

const day = pix.Millis(24 * time.Hour / time.Millisecond)

// receive has a customer pay 100 base units to an account, at a time by the scheme's clock,
// and returns the payment's end-to-end id.
func (b body) receive(t *testing.T, a pix.AccountID, at pix.Millis) string {
	t.Helper()
	if err := b.Scheme.RegisterKey(t.Context(), keys[a], a); err != nil {
		t.Fatal(err)
	}
	return b.Pay(t, keys[a], 100, at)
}

// refund returns a new refund by account 7 of a payment.
func refund(b body, original, code string) scheme.Refund {
	p := payment(b, "")
	return scheme.Refund{
		Tx: p.Tx, Account: 7, EndToEnd: "D" + p.EndToEnd[1:], Original: original, Amount: 40, Reason: code, Description: "troco",
	}
}

func (b body) giveBack(t *testing.T, r scheme.Refund) scheme.State {
	t.Helper()
	s, err := b.Scheme.Return(t.Context(), r)
	if err != nil {
		t.Fatalf("return of %s: %v", r.Original, err)
	}
	return s
}

func (b body) askRefund(t *testing.T, r scheme.Refund) scheme.State {
	t.Helper()
	s, err := b.Scheme.Ask(t.Context(), r.Tx, r.EndToEnd)
	if err != nil {
		t.Fatalf("ask: %v", err)
	}
	return s
}

// ended waits until the notice of a refund's outcome has come n times, and checks the notice.
func (i *inbox) ended(t *testing.T, r scheme.Refund, n int, want scheme.State) {
	t.Helper()
	got := i.awaitOf(t, matter{tx: r.Tx}, n)
	if got.Account == 0 {
		got.Account = r.Account // a notice need not name the account
	}
	expected := scheme.Notice{Kind: scheme.RefundSettled, Tx: r.Tx, EndToEnd: r.EndToEnd, Account: r.Account, Reason: want.Reason}
	if want.Progress == scheme.Rejected {
		expected.Kind = scheme.RefundRejected
	}
	if got != expected {
		t.Errorf("notice %+v, want %+v", got, expected)
	}
}

func refundSettles(t *testing.T, b body) {
	in := newInbox(0)
	b.start(t, in)
	r := refund(b, b.receive(t, 7, b.Now()), "MD06")
	expect(t, "return", b.giveBack(t, r), pending)
	in.ended(t, r, 1, settled)
	expect(t, "ask", b.askRefund(t, r), settled)
	expect(t, "the same again", b.giveBack(t, r), settled)
}

func rejectsRefunds(t *testing.T, b body) {
	in := newInbox(0)
	b.start(t, in)
	now := b.Now()
	fresh, late := b.receive(t, 7, now), b.receive(t, 7, now-91*day)
	other, recent := b.receive(t, 8, now), b.receive(t, 7, now-89*day)
	out := payment(b, "settle-now@pix.test")
	b.submit(t, out)
	long := refund(b, fresh, strings.Repeat("ç", 64))
	long.Description = strings.Repeat("ã", 140)
	unformed, old := refund(b, fresh, "MD06"), refund(b, fresh, "nonsense")
	unformed.EndToEnd = "nonsense" + unformed.EndToEnd[8:]
	old.EndToEnd = "D" + pix.EndToEnd("99999004", now-day, old.EndToEnd[21:])[1:]
	for name, c := range map[string]struct {
		refund scheme.Refund
		want   scheme.State
	}{
		"no payment":                   {refund(b, "E99999003202603011200nobodypaids", "MD06"), rejected("CH16")},
		"a payout":                     {refund(b, out.EndToEnd, "MD06"), rejected("CH16")},
		"another account's payment":    {refund(b, other, "MD06"), rejected("CH16")},
		"no code":                      {refund(b, fresh, ""), rejected("CH16")},
		"a code in small letters":      {refund(b, fresh, "md06"), rejected("CH16")},
		"a long text instead":          {long, rejected("CH16")},
		"quotes and a line instead":    {refund(b, fresh, "\"\\\n\x01"), rejected("CH16")},
		"after 90 days":                {refund(b, late, "MD06"), rejected("DT05")},
		"no code after 90 days":        {refund(b, late, "ZZ99"), rejected("CH16")},
		"fraud after 90 days":          {refund(b, late, "BE08"), settled},
		"the institution's after that": {refund(b, late, "FR01"), settled},
		"within 90 days":               {refund(b, recent, "MD06"), settled},
		"AM09":                         {refund(b, fresh, "AM09"), settled},
		"SL02":                         {refund(b, fresh, "SL02"), settled},
		"RR04":                         {refund(b, fresh, "RR04"), settled},
		"an id of no form":             {unformed, rejected("FF08")},
		"an id of yesterday":           {old, rejected("FF08")},
	} {
		if s := b.giveBack(t, c.refund); s != pending && s != c.want {
			t.Errorf("%s: %+v", name, s)
		}
		in.ended(t, c.refund, 1, c.want)
		expect(t, name, b.askRefund(t, c.refund), c.want)
	}
}

func returnsAgain(t *testing.T, b body) {
	in := newInbox(0)
	b.start(t, in)
	original := b.receive(t, 7, b.Now())
	r, never := refund(b, original, "MD06"), refund(b, original, "MD06")
	var work sync.WaitGroup
	for range 20 {
		work.Go(func() {
			s, err := b.Scheme.Return(t.Context(), r)
			if err != nil || s != pending && s != settled {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
	work.Wait()
	in.ended(t, r, 1, settled)
	expect(t, "afterwards", b.giveBack(t, r), settled)
	expect(t, "never sent", b.askRefund(t, never), unknown)
	b.expectReturned(t, 40)
}

// expectReturned checks what account 7 and its institution have returned of what they
// received, and what came back to the payers' institution.
func (b body) expectReturned(t *testing.T, amount pix.Amount) {
	t.Helper()
	k := b.book(t)
	found := 0
	for _, p := range k.Participants {
		switch want := (scheme.Sums{Sent: p.Sent, Received: p.Received}); p.ISPB {
		case ours:
			want.ReturnedBy = amount
			found++
			if p.Sums != want {
				t.Errorf("our institution's book is %+v", p)
			}
		case payers:
			want.ReturnedTo = amount
			found++
			if p.Sums != want {
				t.Errorf("the payers' institution's book is %+v", p)
			}
		}
	}
	for _, a := range k.Accounts {
		if a.Account == 7 {
			found++
			if a.ReturnedBy != amount || a.ReturnedTo != 0 {
				t.Errorf("the account's book is %+v", a)
			}
		}
	}
	if found != 3 {
		t.Errorf("the book is %+v", k)
	}
}

func duplicatesOfRefunds(t *testing.T, b body) {
	in := newInbox(0)
	b.start(t, in)
	original := b.receive(t, 7, b.Now())
	first, second := refund(b, original, "MD06"), refund(b, original, "MD06")
	second.EndToEnd = first.EndToEnd
	b.giveBack(t, first)
	if s := b.giveBack(t, second); s != pending && s != rejected("DUPL") {
		t.Errorf("the second is %+v", s)
	}
	in.ended(t, second, 1, rejected("DUPL"))
	in.ended(t, first, 1, settled)
	expect(t, "the first", b.askRefund(t, first), settled)
	expect(t, "the second", b.askRefund(t, second), rejected("DUPL"))
	expect(t, "the second again", b.giveBack(t, second), rejected("DUPL"))
	b.expectReturned(t, 40)
}

func returnsMoreThanCame(t *testing.T, b body) {
	in := newInbox(0)
	b.start(t, in)
	original := b.receive(t, 7, b.Now())
	for range 3 {
		r := refund(b, original, "FR01")
		b.giveBack(t, r)
		in.ended(t, r, 1, settled)
	}
	b.expectReturned(t, 120) // of 100 that came: the fault of whoever submits must show in the book
}

func listsReturns(t *testing.T, b body) {
	in := newInbox(0)
	b.start(t, in)
	original, other := b.receive(t, 7, b.Now()), b.receive(t, 7, b.Now())
	first, second, lost := refund(b, original, "FR01"), refund(b, original, "MD06"), refund(b, original, "ZZ99")
	b.expectReturns(t, 7, original)
	b.giveBack(t, first)
	if all := b.returns(t, 7, original); len(all) != 1 || all[0].ID != first.Tx { // settled or under way, by how fast this test is
		t.Errorf("right after its submission: %+v", all)
	}
	in.ended(t, first, 1, settled)
	b.giveBack(t, second)
	b.giveBack(t, lost)
	in.ended(t, second, 1, settled)
	in.ended(t, lost, 1, rejected("CH16"))
	want := []ledger.Returned{
		{ID: first.Tx, ReturnID: first.EndToEnd, Amount: 40, Reason: "FR01"},
		{ID: second.Tx, ReturnID: second.EndToEnd, Amount: 40, Reason: "MD06"},
	}
	b.expectReturns(t, 7, original, want...)
	b.expectReturns(t, 8, original)
	b.expectReturns(t, 7, other)
	b.expectReturns(t, 7, "E99999003202603011200nobodypaids")
}

func (b body) returns(t *testing.T, a pix.AccountID, original string) []ledger.Returned {
	t.Helper()
	all, err := b.Scheme.Returns(t.Context(), a, original)
	if err != nil {
		t.Fatalf("returns of %s: %v", original, err)
	}
	return all
}

func (b body) expectReturns(t *testing.T, a pix.AccountID, original string, want ...ledger.Returned) {
	t.Helper()
	if got := b.returns(t, a, original); !slices.Equal(got, want) {
		t.Errorf("returns of %s by %v: %+v, want %+v", original, a, got, want)
	}
}

func refundsSurvive(t *testing.T, b body) {
	never := newInbox(1 << 20)
	b.start(t, never)
	original := b.receive(t, 7, b.Now())
	kept, lost := refund(b, original, "MD06"), refund(b, original, "ZZ99")
	b.giveBack(t, kept)
	b.giveBack(t, lost)
	never.ended(t, kept, 2, settled) // the inbox acknowledges nothing, so the notice comes at least twice
	next := b.Again(t)
	in := newInbox(0)
	next.start(t, in)
	in.ended(t, kept, 1, settled)
	in.ended(t, lost, 1, rejected("CH16"))
	expect(t, "asked of another process", next.askRefund(t, kept), settled)
	expect(t, "the same again", next.giveBack(t, kept), settled)
	dupl := refund(next, original, "MD06")
	dupl.EndToEnd = kept.EndToEnd
	next.giveBack(t, dupl)
	in.ended(t, dupl, 1, rejected("DUPL"))
	next.expectReturned(t, 40)
}
