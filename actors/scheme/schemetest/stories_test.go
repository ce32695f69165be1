package schemetest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

func (b body) start(t *testing.T, i *inbox) {
	t.Helper()
	if err := b.Start(i.take); err != nil {
		t.Fatal(err)
	}
}

func (b body) submit(t *testing.T, p scheme.Payment) scheme.State {
	t.Helper()
	s, err := b.Scheme.Submit(t.Context(), p)
	if err != nil {
		t.Fatalf("submit to %s: %v", p.Key.Value, err)
	}
	return s
}

func (b body) ask(t *testing.T, p scheme.Payment) scheme.State {
	t.Helper()
	s, err := b.Scheme.Ask(t.Context(), p.Tx, p.EndToEnd)
	if err != nil {
		t.Fatalf("ask: %v", err)
	}
	return s
}

func (b body) refused(t *testing.T, err error, want ledger.RefusalCode) {
	t.Helper()
	var r *scheme.Refused
	if !errors.As(err, &r) || r.Code != want {
		t.Errorf("%v, want %v", err, want)
	}
}

var (
	pending = scheme.State{Progress: scheme.Pending}
	settled = scheme.State{Progress: scheme.Settled}
	unknown = scheme.State{}
)

func rejected(code string) scheme.State { return scheme.State{Progress: scheme.Rejected, Reason: code} }

func expect(t *testing.T, what string, got, want scheme.State) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

func registersTwice(t *testing.T, b body) {
	k := pix.Key{Type: pix.KeyEVP, Value: "00000000-0000-4000-8000-000000000001"}
	for range 3 {
		if err := b.Scheme.RegisterKey(t.Context(), k, 7); err != nil {
			t.Fatal(err)
		}
	}
}

// givesBack deregisters a key. Only its owner's deregistration counts, also after a restart,
// and the key is free for another account then.
func givesBack(t *testing.T, b body) {
	k := pix.Key{Type: pix.KeyEmail, Value: "a+b/c@example.com"}
	tell := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	payable := func(b body, want bool, when string) {
		t.Helper()
		if got := b.Payable(t, k); got != want {
			t.Errorf("%s: a customer can pay to the key: %v", when, got)
		}
	}
	tell(b.Scheme.DeregisterKey(t.Context(), k, 7))
	payable(b, false, "never registered")
	tell(b.Scheme.RegisterKey(t.Context(), k, 7))
	tell(b.Scheme.DeregisterKey(t.Context(), k, 8))
	payable(b, true, "deregistered for another account")
	for range 2 {
		tell(b.Scheme.DeregisterKey(t.Context(), k, 7))
		payable(b, false, "deregistered")
	}
	b = b.Again(t)
	payable(b, false, "after a restart")
	tell(b.Scheme.RegisterKey(t.Context(), k, 8))
	tell(b.Scheme.DeregisterKey(t.Context(), k, 7))
	payable(b, true, "another account's")
	in := newInbox(0)
	b.start(t, in)
	paid := b.Pay(t, k, 5, b.Now())
	if n := in.awaitArrival(t, paid); n.Account != 8 {
		t.Errorf("the payment names %v", n.Account)
	}
}

func looksUp(t *testing.T, b body) {
	look := func(key string) (pix.Party, error) {
		p := payment(b, key)
		o, err := b.Scheme.Lookup(t.Context(), scheme.Query{Account: 7, Tx: p.Tx, Key: p.Key, EndToEnd: p.EndToEnd})
		expect(t, "after a lookup", b.ask(t, p), unknown)
		return o, err
	}
	first, err := look("ana@example.com")
	again, _ := look("ana@example.com")
	if err != nil || first != again || first.Name == "" || len(first.Document) != 11 || !pix.ISPB(first.ISPB) {
		t.Errorf("owner %+v, then %+v (%v)", first, again, err)
	}
	if company, _ := look("owner-12345678000195@pix.test"); company.Document != "12345678000195" {
		t.Errorf("a company's key belongs to %+v", company)
	}
	for key, want := range map[string]ledger.RefusalCode{
		"not-found@pix.test": ledger.RefuseKeyNotFound, "blocked+1@pix.test": ledger.RefuseKeyBlocked,
		"lookup-failed@pix.test": ledger.RefuseLookupFailed,
	} {
		_, err := look(key)
		b.refused(t, err, want)
	}
}

func settles(t *testing.T, b body) {
	in := newInbox(0)
	b.start(t, in)
	p := payment(b, "ana@example.com")
	expect(t, "submit", b.submit(t, p), pending)
	n := in.await(t, p, 1)
	if n.Kind != scheme.PaymentSettled || n.EndToEnd != p.EndToEnd || n.Reason != "" {
		t.Errorf("notice %+v", n)
	}
	expect(t, "ask", b.ask(t, p), settled)
	expect(t, "the same again", b.submit(t, p), settled)
}

func settlesNow(t *testing.T, b body) {
	p := payment(b, "settle-now@pix.test")
	expect(t, "submit", b.submit(t, p), settled)
	expect(t, "ask", b.ask(t, p), settled)
}

func rejects(t *testing.T, b body) {
	in := newInbox(0)
	b.start(t, in)
	p := payment(b, "reject-ac03@pix.test")
	expect(t, "submit", b.submit(t, p), pending)
	if n := in.await(t, p, 1); n.Kind != scheme.PaymentRejected || n.Reason != "AC03" {
		t.Errorf("notice %+v", n)
	}
	expect(t, "ask", b.ask(t, p), rejected("AC03"))
}

func refuses(t *testing.T, b body) {
	for key, want := range map[string]ledger.RefusalCode{
		"provider-rejected@pix.test": ledger.RefuseProvider, "provider-unknown@pix.test": ledger.RefuseProviderOther,
		"provider-schema-error@pix.test": ledger.RefuseProviderSchema,
	} {
		p := payment(b, key)
		for range 2 {
			_, err := b.Scheme.Submit(t.Context(), p)
			b.refused(t, err, want)
		}
		expect(t, key, b.ask(t, p), unknown)
	}
}

func submitsAgain(t *testing.T, b body) {
	in := newInbox(0)
	b.start(t, in)
	p := payment(b, "ana@example.com")
	expect(t, "first", b.submit(t, p), pending)
	expect(t, "again", b.submit(t, p), pending)
	in.await(t, p, 1)
	expect(t, "afterwards", b.submit(t, p), settled)
}

func submitsAtOnce(t *testing.T, b body) {
	in := newInbox(0)
	b.start(t, in)
	p := payment(b, "ana@example.com")
	var work sync.WaitGroup
	for range 20 {
		work.Go(func() {
			s, err := b.Scheme.Submit(t.Context(), p)
			if err != nil || s.Progress != scheme.Pending && s.Progress != scheme.Settled {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
	work.Wait()
	if n := in.await(t, p, 1); n.Kind != scheme.PaymentSettled {
		t.Errorf("notice %+v", n)
	}
}

func duplicates(t *testing.T, b body) {
	in := newInbox(0)
	b.start(t, in)
	first, second := payment(b, "ana@example.com"), payment(b, "ana@example.com")
	second.EndToEnd = first.EndToEnd
	b.submit(t, first)
	if s := b.submit(t, second); s != pending && s != rejected("DUPL") {
		t.Errorf("the second is %+v", s)
	}
	if n := in.await(t, second, 1); n.Kind != scheme.PaymentRejected || n.Reason != "DUPL" {
		t.Errorf("the second's notice %+v", n)
	}
	if n := in.await(t, first, 1); n.Kind != scheme.PaymentSettled {
		t.Errorf("the first's notice %+v", n)
	}
	expect(t, "the first", b.ask(t, first), settled)
	expect(t, "the second", b.ask(t, second), rejected("DUPL"))
}

func asksUnknown(t *testing.T, b body) {
	expect(t, "never sent", b.ask(t, payment(b, "ana@example.com")), unknown)
}

func notifiesAgain(t *testing.T, b body) {
	in := newInbox(2)
	b.start(t, in)
	p := payment(b, "ana@example.com")
	b.submit(t, p)
	in.await(t, p, 3)
	pause(1200 * time.Millisecond) // longer than the time between the two deliveries before
	if n := in.count(p); n != 3 {
		t.Errorf("acknowledged, and it came %d times more", n-3)
	}
}

func survives(t *testing.T, b body) {
	never := newInbox(1 << 20)
	b.start(t, never)
	kept, now, lost := payment(b, "ana@example.com"), payment(b, "settle-now@pix.test"), payment(b, "reject-ac03@pix.test")
	b.submit(t, kept)
	expect(t, "inside the call", b.submit(t, now), settled)
	b.submit(t, lost)
	never.await(t, kept, 1) // the notice was delivered, and the inbox did not acknowledge it
	next := b.Again(t)
	in := newInbox(0)
	next.start(t, in)
	if n := in.await(t, kept, 1); n.Kind != scheme.PaymentSettled {
		t.Errorf("notice after the restart %+v", n)
	}
	if n := in.await(t, lost, 1); n.Kind != scheme.PaymentRejected || n.Reason != "AC03" {
		t.Errorf("notice after the restart %+v", n)
	}
	expect(t, "settled inside the call", next.ask(t, now), settled)
	expect(t, "the same again", next.submit(t, kept), settled)
	dupl := payment(next, "ana@example.com")
	dupl.EndToEnd = now.EndToEnd
	next.submit(t, dupl)
	if n := in.await(t, dupl, 1); n.Reason != "DUPL" {
		t.Errorf("the id was given out again: %+v", n)
	}
}

// pause waits a while for a notice that must not come, or for something that is about to
// happen.
func pause(d time.Duration) { time.Sleep(d) }
