package schemetest

import (
	"slices"
	"sync"
	"testing"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

func limits(t *testing.T, b body) {
	in := newInbox(0)
	b.start(t, in)
	look := func(b body, p scheme.Payment) error {
		_, err := b.Scheme.Lookup(t.Context(), scheme.Query{Account: 7, Tx: p.Tx, Key: p.Key, EndToEnd: p.EndToEnd})
		return err
	}
	for key, want := range map[string]ledger.RefusalCode{
		"client-limited@pix.test": ledger.RefuseRateLimited, "bucket-exhausted+a@pix.test": ledger.RefuseBucket,
	} {
		p := payment(b, key)
		for range 4 {
			b.refused(t, look(b, p), want)
		}
	}
	first, second := payment(b, "client-limited-2@pix.test"), payment(b, "client-limited-2@pix.test")
	other := payment(b, "bucket-exhausted-1+x@pix.test")
	for range 2 {
		b.refused(t, look(b, first), ledger.RefuseRateLimited)
	}
	b.refused(t, look(b, second), ledger.RefuseRateLimited)
	b.refused(t, look(b, other), ledger.RefuseBucket)
	for _, p := range []scheme.Payment{first, first, other} {
		if err := look(b, p); err != nil {
			t.Errorf("%s after its limits: %v", p.Key.Value, err)
		}
	}
	b.submit(t, other)
	in.await(t, other, 1) // the store writes in order: once this payment is durable, the counts written earlier are too
	next := b.Again(t)
	b.refused(t, look(next, second), ledger.RefuseRateLimited)
	for _, p := range []scheme.Payment{first, second} {
		if err := look(next, p); err != nil {
			t.Errorf("%s after its limits, of another process: %v", p.Key.Value, err)
		}
	}
}

func staysSilent(t *testing.T, b body) {
	in := newInbox(0)
	b.start(t, in)
	p, after := payment(b, "silent+1@pix.test"), payment(b, "ana@example.com")
	expect(t, "submit", b.submit(t, p), pending)
	b.submit(t, after)
	in.await(t, after, 1)
	pause(100 * time.Millisecond)
	expect(t, "ask", b.ask(t, p), pending)
	expect(t, "the same again", b.submit(t, p), pending)
	next := b.Again(t)
	expect(t, "asked of another process", next.ask(t, p), pending)
	if n := in.count(p); n != 0 {
		t.Errorf("%d notices of a silent payment", n)
	}
}

func comesBack(t *testing.T, b body) {
	never := newInbox(1 << 20)
	b.start(t, never)
	p := payment(b, "returned@pix.test")
	if got := b.submit(t, p); got != pending && got != settled { // on a busy machine it has settled before the answer
		t.Errorf("submit: %+v", got)
	}
	first := never.awaitOf(t, matter{p.Tx, true}, 2) // the inbox acknowledges nothing, so the notice comes at least twice
	settlement, back := never.index(matter{tx: p.Tx}), never.index(matter{p.Tx, true})
	if settlement < 0 || settlement > back {
		t.Errorf("the settlement's notice is number %d, the return's %d", settlement, back)
	}
	expect(t, "a payment that came back", b.ask(t, p), settled)
	next := b.Again(t)
	in := newInbox(0)
	next.start(t, in)
	n := in.awaitOf(t, matter{p.Tx, true}, 1)
	if n != first || n.EndToEnd != p.EndToEnd || n.Amount != p.Amount || n.Reason != "MD06" ||
		len(n.ReturnID) != 32 || n.ReturnID[0] != 'D' || !pix.ValidEndToEnd("E"+n.ReturnID[1:]) {
		t.Errorf("notice %+v, and after a restart %+v", first, n)
	}
}

// index returns the position of the first notice about a matter; -1: there is none.
func (i *inbox) index(m matter) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.IndexFunc(i.got, func(n scheme.Notice) bool { return about(n) == m })
}

func (b body) book(t *testing.T) scheme.Book {
	t.Helper()
	k, err := b.Scheme.Book(t.Context())
	if err != nil {
		t.Fatalf("book: %v", err)
	}
	return k
}

func (b body) expectBook(t *testing.T, participants []scheme.ParticipantBook, accounts []scheme.AccountBook) {
	t.Helper()
	k := b.book(t)
	if !slices.Equal(k.Participants, participants) || !slices.Equal(k.Accounts, accounts) {
		t.Errorf("the book has %+v and %+v\nwant %+v and %+v", k.Participants, k.Accounts, participants, accounts)
	}
	if now := b.Now(); k.At > now+60_000 || k.At < now-60_000 {
		t.Errorf("read at %v, at %v", k.At, now)
	}
}

// ours is the ISPB of the engine's institution; theirs is the ISPB of the institution at
// which the recipients of payouts have their keys.
const ours, theirs = "99999004", "99999005"

// payers is the ISPB of the institution from which customers pay.
const payers = "99999003"

func keepsBook(t *testing.T, b body) {
	in := newInbox(0)
	b.start(t, in)
	b.expectBook(t, nil, nil)
	at := func(key string, a pix.AccountID, amount pix.Amount) scheme.Payment {
		p := payment(b, key)
		p.Account, p.Amount = a, amount
		b.submit(t, p)
		return p
	}
	at("settle-now@pix.test", 8, 1)
	at("silent@pix.test", 8, 10)
	plain, back := at("ana@example.com", 7, 100), at("returned@pix.test", 9, 1000)
	rejected, now := at("reject-ac03@pix.test", 9, 10_000), at("settle-now@pix.test", 7, 100_000)
	dupl := now
	dupl.Tx[15]++
	b.submit(t, dupl)
	b.submit(t, now) // submitting the same payment again pays nothing more
	for _, p := range []scheme.Payment{plain, back, rejected, dupl} {
		in.await(t, p, 1)
	}
	in.awaitOf(t, matter{back.Tx, true}, 1)
	participants := []scheme.ParticipantBook{
		{ISPB: ours, Messages: 5, Sums: scheme.Sums{Sent: 101_101, ReturnedTo: 1000}},
		{ISPB: theirs, Messages: 5, Sums: scheme.Sums{Received: 101_101, ReturnedBy: 1000}},
	}
	accounts := []scheme.AccountBook{
		{Account: 7, Sums: scheme.Sums{Sent: 100_100}},
		{Account: 8, Sums: scheme.Sums{Sent: 1}},
		{Account: 9, Sums: scheme.Sums{Sent: 1000, ReturnedTo: 1000}},
	}
	b.expectBook(t, participants, accounts)
	next := b.Again(t)
	next.expectBook(t, participants, accounts)
	next.expectBook(t, participants, accounts)
}

// bookOfOneInstant reads the book while payments settle: what the accounts sent is what their
// institution sent, in each reading.
func bookOfOneInstant(t *testing.T, b body) {
	b.start(t, newInbox(0))
	const accounts, rounds = 7, 12
	pay := func() {
		for a := range accounts {
			p := payment(b, "settle-now@pix.test")
			p.Account = pix.AccountID(a + 1)
			b.submit(t, p)
		}
	}
	pay()
	var paying sync.WaitGroup
	paying.Go(func() {
		for range rounds {
			pay()
		}
	})
	for range rounds {
		k, sent := b.book(t), pix.Amount(0)
		for _, a := range k.Accounts {
			sent += a.Sent
		}
		if i := slices.IndexFunc(k.Participants, func(p scheme.ParticipantBook) bool { return p.ISPB == ours }); i < 0 ||
			len(k.Accounts) != accounts || k.Participants[i].Sent != sent {
			t.Errorf("%d accounts sent %d: %+v", len(k.Accounts), sent, k.Participants)
		}
	}
	paying.Wait()
}

func namesOldest(t *testing.T, b body) {
	if k := b.book(t); k.OldestOpen != 0 {
		t.Errorf("open since %v in an empty book", k.OldestOpen)
	}
	in := newInbox(1)
	b.start(t, in)
	p := payment(b, "ana@example.com")
	before := b.Now()
	b.submit(t, p)
	in.await(t, p, 1)
	if k := b.book(t); k.OldestOpen < before || k.OldestOpen > k.At {
		t.Errorf("open since %v, submitted at %v, read at %v", k.OldestOpen, before, k.At)
	}
	in.await(t, p, 2)
	for range 100 {
		if b.book(t).OldestOpen == 0 {
			return
		}
		pause(20 * time.Millisecond) // the acknowledgement of the last notice may still be on its way to the scheme
	}
	t.Errorf("still open since %v", b.book(t).OldestOpen)
}
