package schemetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// list reads all movements since an instant, in pages of a few.
func (b body) list(t *testing.T, since pix.Millis, most int) (all []scheme.Movement) {
	t.Helper()
	after := ""
	for range 1000 {
		page, err := b.Scheme.Movements(t.Context(), since, after, most)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Movements) > most || len(page.Next) > scheme.MaxAfter {
			t.Fatalf("%d of %d movements, next %q", len(page.Movements), most, page.Next)
		}
		if all = append(all, page.Movements...); page.Next == "" {
			return all
		}
		after = page.Next
	}
	t.Fatal("the pages do not end")
	return nil
}

// named says what a movement is about, for comparisons.
func named(m *scheme.Movement) string {
	kind := m.Notice.Kind.String()
	switch {
	case m.Notice.Kind != 0:
	case m.Payment.Tx != pix.TxID{}:
		kind = "payment pending"
	case m.Refund.Tx != pix.TxID{}:
		kind = "refund pending"
	}
	return fmt.Sprintf("%s %v %s %s%s%s", kind, m.Notice.Account, m.Notice.EndToEnd, m.Notice.ReturnID, m.Notice.Infraction, m.Notice.Reason)
}

// listsMovements checks that everything that was told is listed once, in order, with what was
// submitted, whatever was acknowledged, also by the next process; and what is pending behind it.
func listsMovements(t *testing.T, b body) {
	in := newInbox(0)
	b.start(t, in)
	early := b.receive(t, 7, b.Now())
	time.Sleep(5 * time.Millisecond)
	since := b.Now()
	time.Sleep(5 * time.Millisecond)

	paid := b.receive(t, 8, b.Now())
	pay := func(key string) scheme.Payment {
		p := payment(b, key)
		p.RecipientISPB, p.Description, p.Purpose = "99999005", "supplier", "IPAY"
		b.submit(t, p)
		return p
	}
	ends := func(p scheme.Payment) { in.awaitOf(t, matter{tx: p.Tx}, 1) }
	out := pay("ana@example.com")
	ends(out)
	bad := pay("reject-ac03@pix.test")
	ends(bad)
	back := pay("returned@pix.test")
	ends(back)
	returned := in.awaitOf(t, matter{tx: back.Tx, back: true}, 1)
	ret := refund(b, early, "MD06")
	b.giveBack(t, ret)
	in.ended(t, ret, 1, settled)
	wrong := refund(b, early, "nonsense")
	b.giveBack(t, wrong)
	in.ended(t, wrong, 1, rejected("CH16"))
	silent := pay("silent@pix.test")

	want := []string{
		fmt.Sprintf("payment_arrived %v %s ", pix.AccountID(8), paid),
		fmt.Sprintf("payment_settled %v %s ", pix.AccountID(7), out.EndToEnd),
		fmt.Sprintf("payment_rejected %v %s AC03", pix.AccountID(7), bad.EndToEnd),
		fmt.Sprintf("payment_settled %v %s ", pix.AccountID(7), back.EndToEnd),
		fmt.Sprintf("return_received %v %s %sMD06", pix.AccountID(7), back.EndToEnd, returned.ReturnID),
		fmt.Sprintf("return_settled %v %s ", pix.AccountID(7), ret.EndToEnd),
		fmt.Sprintf("return_rejected %v %s CH16", pix.AccountID(7), wrong.EndToEnd),
		fmt.Sprintf("payment pending %v %s ", pix.AccountID(7), silent.EndToEnd),
	}
	submitted := map[string]scheme.Payment{out.EndToEnd: out, bad.EndToEnd: bad, back.EndToEnd: back, silent.EndToEnd: silent}
	refunded := map[string]scheme.Refund{ret.EndToEnd: ret, wrong.EndToEnd: wrong}
	check := func(b body, most int) {
		t.Helper()
		all := b.list(t, since, most)
		var got []string
		for i := range all {
			m := &all[i]
			got = append(got, named(m))
			if m.At < since || m.At > b.Now() || i > 0 && i < len(all)-1 && m.At < all[i-1].At {
				t.Errorf("%s is of %v, listed since %v", named(m), m.At, since)
			}
			about := m.Notice.Kind != scheme.ReturnReceived // of a return the notice says everything
			if p := submitted[m.Notice.EndToEnd]; about && m.Payment != p || p.Tx != (pix.TxID{}) && about && (m.Owner.Name == "" || m.Notice.Tx != p.Tx) {
				t.Errorf("%s shows %+v of %+v, submitted was %+v", named(m), m.Payment, m.Owner, p)
			}
			if r := refunded[m.Notice.EndToEnd]; m.Refund != r {
				t.Errorf("%s shows %+v, submitted was %+v", named(m), m.Refund, r)
			}
			if m.Notice.Kind == scheme.PaymentArrived && (m.Notice.Arrived.Amount != 100 || m.Notice.Arrived.Key != keys[8].Value || m.Notice.Arrived.EndToEnd != paid) {
				t.Errorf("%+v", m.Notice.Arrived)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("in pages of %d:\n%q\nwant\n%q", most, got, want)
		}
	}
	for most := range 10 {
		check(b, most+1)
	}
	page, err := b.Scheme.Movements(t.Context(), since, "", 3)
	if err != nil || page.Left != 0 && page.Left != len(want)-3 {
		t.Errorf("%d left of %d; %v", page.Left, len(want), err)
	}
	if got := b.list(t, b.Now()+1, 10); len(got) > 1 { // what is pending has no instant yet
		t.Errorf("later than everything: %+v", got)
	}
	if _, err := b.Scheme.Movements(t.Context(), since, "nonsense", 3); err == nil {
		t.Error("a cursor that was never given is taken")
	}
	next := b.Again(t)
	check(next, 3)
	rest, err := next.Scheme.Movements(t.Context(), since, page.Next, 3)
	if err != nil || len(rest.Movements) != 3 || named(&rest.Movements[0]) != want[3] {
		t.Errorf("the next process goes on after a page with %+v; %v", rest, err)
	}
}

// listsNoRefused checks that a payment which the engine has refused is not listed.
func listsNoRefused(t *testing.T, b body) {
	refused := make(chan struct{}, 1)
	since := b.Now()
	if err := b.Start(func(n scheme.Notice, done func(error)) {
		done(scheme.ErrNoPayee)
		select {
		case refused <- struct{}{}:
		default:
		}
	}); err != nil {
		t.Fatal(err)
	}
	b.receive(t, 7, b.Now())
	<-refused
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		all := b.list(t, since, 10)
		if len(all) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("listed: %+v", all)
		}
	}
}
