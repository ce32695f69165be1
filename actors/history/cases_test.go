package history

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// received makes a received payment.
func (b *book) received(id pix.AccountID, e2e string, amount pix.Amount) *ledger.Transaction {
	b.t.Helper()
	return b.do(id, ledger.ReceivePayment{EndToEnd: e2e, Amount: amount})
}

// opened opens a case about a payment that nothing was refunded of.
func (b *book) opened(id pix.AccountID, p *ledger.Transaction, infraction string, amount pix.Amount) *ledger.Case {
	b.t.Helper()
	return b.decide(id, ledger.OpenCase{Infraction: infraction, EndToEnd: p.EndToEnd, Amount: amount, Situation: "SCAM"}).Case
}

// closed closes a case for the merchant.
func (b *book) closed(id pix.AccountID, k *ledger.Case) {
	b.t.Helper()
	b.decide(id, ledger.CloseCase{ID: k.ID, Result: pix.Disagreed})
}

func payment(n int) string { return fmt.Sprintf("E60701190202603011200%011d", n) }

// caseBook is a book with 25 cases of account 1 and three of account 2, opened in turns. Of
// account 1, every fifth is closed.
func caseBook(t *testing.T) (b *book, first, second []*ledger.Case) {
	b = newBook(t)
	for n := range 25 {
		b.now++
		p := b.received(1, payment(n), 10)
		k := b.opened(1, p, fmt.Sprint("inf-", n), 10)
		if n%5 == 0 {
			b.closed(1, k)
		}
		first = append(first, k)
		if n%10 == 0 {
			b.now++
			second = append(second, b.opened(2, b.received(2, payment(100+n), 10), fmt.Sprint("other-", n), 10))
		}
	}
	return b, first, second
}

func ordinals(all []*ledger.Case) (out []uint64) {
	for _, k := range all {
		out = append(out, k.Ordinal)
	}
	return out
}

// downFrom lists n numbers from the first one down.
func downFrom(first uint64, n int) (out []uint64) {
	for range n {
		out = append(out, first)
		first--
	}
	return out
}

// TestCases checks the pages of an account's cases, the newest first, with and without a
// status.
func TestCases(t *testing.T) {
	b, _, _ := caseBook(t)
	h := New(b.store)
	open := slices.DeleteFunc(downFrom(25, 25), func(n uint64) bool { return n%5 == 1 })
	for _, v := range []struct {
		account       pix.AccountID
		status        pix.CaseStatus
		page, perPage int
		want          []uint64
	}{
		{1, 0, 1, 20, downFrom(25, 20)},
		{1, 0, 2, 20, downFrom(5, 5)},
		{1, 0, 3, 20, nil},
		{1, 0, 1, 25, downFrom(25, 25)},
		{1, 0, 2, 25, nil},
		{1, 0, 25, 1, []uint64{1}},
		{1, 0, 26, 1, nil},
		{1, 0, math.MaxInt64, 100, nil},
		{1, 0, math.MaxInt64/100 + 2, 100, nil},
		{1, 0, 1<<62 + 1, 100, nil},
		{1, pix.CaseOpen, 1, 8, open[:8]},
		{1, pix.CaseOpen, 2, 8, open[8:16]},
		{1, pix.CaseOpen, 3, 8, open[16:]},
		{1, pix.CaseOpen, 4, 8, nil},
		{1, pix.CaseClosed, 1, 100, []uint64{21, 16, 11, 6, 1}},
		{1, pix.CaseClosed, 2, 2, []uint64{11, 6}},
		{1, pix.CaseClosed, math.MaxInt64, 100, nil},
		{1, pix.CaseCancelled, 1, 9, nil},
		{1, pix.CaseDefended, 1, 9, nil},
		{2, 0, 1, 2, []uint64{3, 2}},
		{2, 0, 2, 2, []uint64{1}},
		{2, pix.CaseClosed, 1, 9, nil},
		{9, 0, 1, 9, nil},
	} {
		got, err := h.Cases(v.account, v.status, v.page, v.perPage)
		if err != nil || !slices.Equal(ordinals(got), v.want) {
			t.Errorf("%+v: %v (%v)", v, ordinals(got), err)
		}
	}
}

// TestCase checks that an account finds its own case in its newest state, and no other, and
// that AnyCase finds the cases of all accounts.
func TestCase(t *testing.T) {
	b, first, second := caseBook(t)
	h := New(b.store)
	if k, err := h.Case(1, first[5].ID.String()); err != nil || k == nil || k.ID != first[5].ID || k.Status != pix.CaseClosed {
		t.Errorf("%+v %v", k, err)
	}
	other := first[0].ID
	other[15] ^= 1
	for _, v := range []struct {
		account pix.AccountID
		id      string
		there   bool
	}{
		{1, first[1].ID.String(), true},
		{2, second[0].ID.String(), true},
		{1, second[0].ID.String(), false},
		{2, first[1].ID.String(), false},
		{9, first[1].ID.String(), false},
		{1, other.String(), false},
		{1, "", false},
		{1, "med_", false},
		{1, strings.ToUpper(first[1].ID.String()), false},
		{1, first[1].ID.String()[4:], false},
		{1, "\x00\xff", false},
	} {
		if k, err := h.Case(v.account, v.id); err != nil || (k != nil) != v.there || k != nil && k.ID.String() != v.id {
			t.Errorf("%v %q: %+v %v", v.account, v.id, k, err)
		}
	}
	for id, want := range map[string]pix.AccountID{first[1].ID.String(): 1, second[2].ID.String(): 2, other.String(): 0, "nonsense": 0} {
		o, err := h.AnyCase(id)
		if err != nil || (o != nil) != (want != 0) || o != nil && (o.Account != want || o.Case.ID.String() != id) {
			t.Errorf("%s: %+v %v", id, o, err)
		}
	}
}

// TestAllCases checks the list of all accounts' cases, the oldest first, in pages of any size,
// with and without a status.
func TestAllCases(t *testing.T) {
	b, first, second := caseBook(t)
	h := New(b.store)
	var want []string // in the order of opening
	for n, k := range first {
		want = append(want, fmt.Sprint("1 ", k.Ordinal))
		if n%10 == 0 {
			want = append(want, fmt.Sprint("2 ", second[n/10].Ordinal))
		}
	}
	closed := []string{"1 1", "1 6", "1 11", "1 16", "1 21"}
	for status, want := range map[pix.CaseStatus][]string{0: want, pix.CaseClosed: closed, pix.CaseCancelled: nil} {
		for _, limit := range []int{1, 2, 5, 27, 28, 29} {
			var got []string
			var after []byte
			for calls := 0; ; calls++ {
				page, next, err := parts(h.AllCases(status, after, limit))
				if err != nil || len(page) > limit || calls > 40 {
					t.Fatalf("status %v, %d at once: %d cases, %v", status, limit, len(page), err)
				}
				for _, o := range page {
					got = append(got, fmt.Sprint(uint64(o.Account), " ", o.Case.Ordinal))
				}
				if after = next; next == nil {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("status %v, %d at once: %v, want %v", status, limit, got, want)
			}
		}
	}
}

// TestCover checks what an account's money covers of its cases: all of them where there is
// enough, else the oldest first, whatever the list that shows them.
func TestCover(t *testing.T) {
	for balance, want := range map[pix.Amount][]pix.Amount{
		100: {30, 40, 0, 30}, 101: {30, 40, 0, 30}, 99: {30, 40, 0, 29}, 71: {30, 40, 0, 1}, 70: {30, 40, 0, 0}, 69: {30, 39, 0, 0}, 30: {30, 0, 0, 0}, 29: {29, 0, 0, 0}, 1: {1, 0, 0, 0}, 0: {0, 0, 0, 0}, -5: {0, 0, 0, 0},
	} {
		b := newBook(t)
		b.do(1, ledger.Credit{Kind: pix.TxTED, Amount: 1000})
		var all []*ledger.Case
		for n, amount := range []pix.Amount{30, 40, 50, 30} {
			p := b.received(1, payment(n), amount)
			all = append(all, b.opened(1, p, fmt.Sprint("inf-", n), amount))
			if n == 2 {
				b.closed(1, all[2])
			}
		}
		b.payout(1, e2eC, 0) // in flight: it holds money that covers no case
		b.spend(1, balance)
		h := New(b.store)
		page, err := h.Cases(1, 0, 1, 9)
		if err != nil {
			t.Fatal(err)
		}
		for n, k := range all {
			one, err := h.Case(1, k.ID.String())
			anyone, err2 := h.AnyCase(k.ID.String())
			lists, _, err3 := parts(h.AllCases(0, layout.CaseIDKey(k.ID), 1))
			if err != nil || err2 != nil || err3 != nil {
				t.Fatal(err, err2, err3)
			}
			if in := page[3-n]; in.Covered != want[n] || one.Covered != want[n] || anyone.Case.Covered != want[n] {
				t.Errorf("of %d, case %d: %d, %d, %d, want %d", balance, n, in.Covered, one.Covered, anyone.Case.Covered, want[n])
			}
			if n < 3 && lists[0].Case.Covered != want[n+1] {
				t.Errorf("of %d, case %d in the list of all: %d, want %d", balance, n+1, lists[0].Case.Covered, want[n+1])
			}
		}
		if some, err := h.Cases(1, pix.CaseOpen, 1, 1); err != nil || some[0].Covered != want[3] {
			t.Errorf("of %d, the newest alone: %+v %v", balance, some, err)
		}
	}
}

// spend takes money out of the account until balance minus holds is left, with a payout that
// was voided and settles late, which may take it below zero.
func (b *book) spend(id pix.AccountID, left pix.Amount) {
	b.t.Helper()
	totals := b.accounts[id].Totals
	amount := totals.Balance - totals.Held - left
	key, _ := pix.ParseKey(pix.KeyEmail, "a@b.com")
	free := totals.Available()
	part := min(free, amount)
	pay := func(amount pix.Amount, e2e string) *ledger.Transaction {
		held := b.do(id, ledger.RequestPayout{Amount: amount, Key: key, EndToEnd: e2e})
		return b.do(id, ledger.ResolveTransfer{ID: held.ID, EndToEnd: e2e, Result: ledger.TransferIsAccepted})
	}
	late := amount - part
	var voided *ledger.Transaction
	if late > 0 {
		voided = pay(late, e2eB)
		b.now += 5000
		voided = b.do(id, ledger.ResolveTransfer{ID: voided.ID, EndToEnd: e2eB, Result: ledger.TransferIsVoided})
	}
	first := pay(part, e2eA)
	b.do(id, ledger.ResolveTransfer{ID: first.ID, EndToEnd: e2eA, Result: ledger.TransferIsSettled})
	if voided != nil {
		b.do(id, ledger.ResolveTransfer{ID: voided.ID, EndToEnd: e2eB, Result: ledger.TransferIsSettled})
	}
}

// TestDamagedCases checks that a row about a case which cannot be read, or leads to nothing or
// to something else, is an error, and not an unknown case.
func TestDamagedCases(t *testing.T) {
	for want, op := range map[string]func(k *ledger.Case) wal.Op{
		"case id row of 3 bytes": func(k *ledger.Case) wal.Op {
			return wal.Op{Kind: wal.OpSet, Key: layout.CaseIDKey(k.ID), Value: []byte("abc")}
		},
		"case row of 2 bytes": func(k *ledger.Case) wal.Op {
			return wal.Op{Kind: wal.OpSet, Key: layout.CaseKey(1, k.Ordinal), Value: []byte("ab")}
		},
		"case 1 of acc_aaaaaaaaaaaac has no row": func(k *ledger.Case) wal.Op {
			return wal.Op{Kind: wal.OpDelete, Key: layout.CaseKey(1, k.Ordinal)}
		},
		"is missing": func(k *ledger.Case) wal.Op {
			return wal.Op{Kind: wal.OpSet, Key: layout.CaseKey(1, k.Ordinal), Value: []byte{0, 0, 0, 0, 0, 0, 0, 99, 1}}
		},
		"record 2: is not about case 1": func(k *ledger.Case) wal.Op {
			return wal.Op{Kind: wal.OpSet, Key: layout.CaseKey(1, k.Ordinal), Value: []byte{0, 0, 0, 0, 0, 0, 0, 2, 1}}
		},
		"record 5: is not about case 1": func(k *ledger.Case) wal.Op {
			return wal.Op{Kind: wal.OpSet, Key: layout.CaseKey(1, k.Ordinal), Value: []byte{0, 0, 0, 0, 0, 0, 0, 5, 1}} // of case 2
		},
		"holding row of 1 bytes": func(k *ledger.Case) wal.Op {
			return wal.Op{Kind: wal.OpSet, Key: layout.HoldingKey(1, k.Ordinal), Value: []byte("a")}
		},
	} {
		b := newBook(t)
		p := b.received(1, payment(1), 10) // the account's second record
		b.do(1, ledger.Credit{Kind: pix.TxTED, Amount: 100})
		k := b.opened(1, p, "inf-1", 10)
		if other := b.opened(1, p, "inf-2", 0); b.accounts[1].Seq != 5 || other.Ordinal != 2 {
			t.Fatalf("case 2 is in record %d", b.accounts[1].Seq)
		}
		b.spend(1, 5)
		b.write(&wal.Entry{Ops: []wal.Op{op(k)}})
		h := New(b.store)
		one, err1 := h.Case(1, k.ID.String())
		anyone, err2 := h.AnyCase(k.ID.String())
		l, err3 := h.AllCases(0, nil, 9)
		all, damaged := l.Entries, l.Damaged
		page, err4 := h.Cases(1, 0, 1, 9)
		for name, err := range map[string]error{"one": err1, "any": err2, "all": err3, "page": err4} {
			if name == "all" && strings.HasPrefix(want, "record ") || name == "all" && want == "is missing" {
				if err != nil || len(all) != 1 || all[0].Case.Ordinal != 2 || damaged != 1 {
					t.Errorf("%s: %d cases are listed, %d left out (%v)", want, len(all), damaged, err)
				}
				continue
			}
			if name == "page" && strings.HasPrefix(want, "case id row") || name == "page" && strings.HasSuffix(want, "has no row") {
				continue // a page is read from the account's own list alone
			}
			if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "history: ") {
				t.Errorf("%s, %s: %v", want, name, err)
			}
		}
		if one != nil || anyone != nil || err3 != nil && all != nil || err4 != nil && page != nil {
			t.Errorf("%s: %v %v %v %v", want, one, anyone, all, page)
		}
	}
}
