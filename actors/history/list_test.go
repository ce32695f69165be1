package history

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// listBook is a book in which account 1 has transactions of every kind in many statuses, and
// account 2 has some of its own. newest has account 1's transactions in their newest states.
type listBook struct {
	*book
	rng    *rand.Rand
	newest map[pix.TxID]*ledger.Transaction
	open   []*ledger.Transaction // payouts and charges that may still change
	n      int
}

func newListBook(t testing.TB, steps int) *listBook {
	l := &listBook{book: newBook(t), rng: rand.New(rand.NewPCG(7, 7)), newest: map[pix.TxID]*ledger.Transaction{}}
	l.take(l.decide(1, ledger.Credit{Kind: pix.TxTED, Amount: 1 << 40}))
	for range steps {
		l.step()
	}
	return l
}

// take notes the transactions of a decision about account 1.
func (l *listBook) take(d ledger.Decision) {
	for i := range d.Records {
		if t := d.Records[i].Tx; t != nil {
			l.newest[t.ID] = t
		}
	}
}

// step does one random thing. Some things happen in one millisecond, some days apart.
func (l *listBook) step() {
	l.now += [...]pix.Millis{0, 0, 1, 60_000, 7 * 3_600_000}[l.rng.IntN(5)]
	l.n++
	external := [...]string{"", "", "order-1", "order-2"}[l.rng.IntN(4)]
	switch l.rng.IntN(8) {
	case 0:
		l.take(l.decide(1, ledger.Credit{Kind: [...]pix.TxKind{pix.TxTED, pix.TxInternal}[l.rng.IntN(2)], Amount: 7}))
	case 1:
		d := l.decide(1, ledger.CreateCharge{Amount: 2500, ExternalID: external})
		l.take(d)
		l.open = append(l.open, d.Tx)
	case 2:
		l.take(l.decide(1, ledger.ReceivePayment{EndToEnd: payment(l.n), Amount: 10}))
	case 3:
		l.decide(2, ledger.Credit{Kind: pix.TxTED, Amount: 7})
	case 4, 5:
		key, _ := pix.ParseKey(pix.KeyEmail, fmt.Sprintf("a%d@b.com", l.n))
		d := l.decide(1, ledger.RequestPayout{Amount: 100, Key: key, ExternalID: external})
		l.take(d)
		l.open = append(l.open, d.Tx)
	default:
		l.goOn()
	}
}

// goOn changes the status of a transaction that may still change.
func (l *listBook) goOn() {
	if len(l.open) == 0 {
		return
	}
	i := l.rng.IntN(len(l.open))
	t := l.newest[l.open[i].ID]
	if t.Kind == pix.TxCharge {
		l.take(l.decide(1, ledger.ReceivePayment{EndToEnd: payment(l.n), Amount: t.Amount, TxID: t.Public()}))
		l.open = slices.Delete(l.open, i, i+1)
		return
	}
	c := ledger.ResolveTransfer{ID: t.ID, EndToEnd: t.EndToEnd, Result: ledger.TransferIsAccepted}
	if t.Status == pix.StatusAccepted {
		c.Result = [...]ledger.TransferResult{ledger.TransferIsSettled, ledger.TransferIsRejected}[l.rng.IntN(2)]
		c.Reason = "AC03"
	}
	l.take(l.decide(1, c))
	if l.newest[t.ID].Ended() {
		l.open = slices.Delete(l.open, i, i+1)
	}
}

// selected returns the transactions that a filter selects, by looking at each of them.
func (l *listBook) selected(f layout.Filter, at func(*ledger.Transaction) pix.Millis, number func(*ledger.Transaction) uint64) (all []*ledger.Transaction) {
	for _, t := range l.newest {
		if number(t) == 0 || !f.Has(t.Status, t.Kind) || f.From > 0 && at(t) < f.From || f.Until > 0 && at(t) >= f.Until {
			continue
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *ledger.Transaction) int { return cmp.Compare(number(b), number(a)) })
	return all
}

func createdAt(t *ledger.Transaction) pix.Millis { return t.CreatedAt }
func bookedAt(t *ledger.Transaction) pix.Millis  { return t.BookedAt }
func ordinal(t *ledger.Transaction) uint64       { return t.Ordinal }
func booking(t *ledger.Transaction) uint64       { return t.Booking }

func paged(all []*ledger.Transaction, p layout.Page) []*ledger.Transaction {
	from := min(len(all), (p.Number-1)*p.Size)
	return all[from:min(len(all), from+p.Size)]
}

func ids(all []*ledger.Transaction) (out []string) {
	for _, t := range all {
		out = append(out, fmt.Sprintf("%v %v %d", t.ID, t.Status, t.Ordinal))
	}
	return out
}

// filters returns every combination of filters, with some spans of time.
func (l *listBook) filters() (all []layout.Filter) {
	for s := layout.AnyStatus; s <= layout.FilterActive; s++ {
		for y := layout.AnyType; y <= layout.FilterInternal; y++ {
			for d := layout.AnyDirection; d <= layout.FilterOutbound; d++ {
				from, until := pix.Millis(0), pix.Millis(0)
				if l.rng.IntN(2) == 0 {
					from = noon + pix.Millis(l.rng.Int64N(int64(l.now-noon)))
				}
				if l.rng.IntN(2) == 0 {
					until = max(1, from) + pix.Millis(l.rng.Int64N(int64(l.now-noon)))
				}
				all = append(all, layout.Filter{Status: s, Type: y, Direction: d, From: from, Until: until})
			}
		}
	}
	return all
}

// TestLists compares every page of both lists, under every filter, with lists that are made by
// looking at each transaction.
func TestLists(t *testing.T) {
	l := newListBook(t, 700)
	h := New(l.store)
	for _, f := range l.filters() {
		size := 1 + l.rng.IntN(60)
		for number := range 12 {
			p := layout.Page{Number: number + 1, Size: size}
			for _, external := range []string{"", "order-1", "order-9"} {
				want := l.selected(f, createdAt, ordinal)
				if external != "" {
					want = slices.DeleteFunc(want, func(t *ledger.Transaction) bool { return t.ExternalID != external })
				}
				got, err := h.Transactions(1, external, f, p)
				if want = paged(want, p); err != nil || !slices.Equal(ids(got), ids(want)) {
					t.Fatalf("transactions %+v %+v %q: %v\n%v\nwant\n%v", f, p, external, err, ids(got), ids(want))
				}
			}
			f := f
			f.Direction = layout.AnyDirection
			want := paged(l.selected(f, bookedAt, booking), p)
			if f.Status == layout.FilterProcessing {
				want = nil
			}
			if p.Number == 1 && (f.Status == layout.AnyStatus || f.Status == layout.FilterProcessing) {
				flying := f
				flying.Status = layout.FilterProcessing
				want = append(l.selected(flying, createdAt, ordinal), want...)
			}
			if got, err := h.Statement(1, f, p); err != nil || !slices.Equal(ids(got), ids(want)) {
				t.Fatalf("statement %+v %+v: %v\n%v\nwant\n%v", f, p, err, ids(got), ids(want))
			}
		}
	}
	if got, err := h.Statement(9, layout.Filter{}, layout.Page{Number: 1, Size: 20}); err != nil || len(got) > 0 {
		t.Errorf("an account without transactions: %v %v", got, err)
	}
	if got, err := h.Transactions(1, "", layout.Filter{}, layout.Page{Number: 1<<62 + 1, Size: 4}); err != nil || len(got) > 0 { // 4 times that is 0 in 64 bits
		t.Errorf("a page whose place overflows: %v %v", got, err)
	}
	all, err := h.Statement(1, layout.Filter{}, layout.Page{Number: 1, Size: 50})
	if one, other := h.Statement(1, layout.Filter{Direction: layout.FilterOutbound}, layout.Page{Number: 1, Size: 50}); err != nil || other != nil || !slices.Equal(ids(one), ids(all)) {
		t.Errorf("a statement has no direction: %v, %v", err, other)
	}
	if got, err := h.Transactions(1, "", layout.Filter{}, layout.Page{Number: 1 << 62, Size: 100}); err != nil || len(got) > 0 {
		t.Errorf("a page beyond every list: %v %v", got, err)
	}
}

// TestLookupsAreNew checks that lookups that were made before see a change of status, and do
// not take one account's transaction for another's.
func TestLookupsAreNew(t *testing.T) {
	b := newBook(t)
	h := New(b.store)
	for id := pix.AccountID(1); id <= 2; id++ {
		b.do(id, ledger.Credit{Kind: pix.TxTED, Amount: 10_000 * pix.Amount(id)})
		p := b.payout(id, pix.EndToEnd("99999004", noon, fmt.Sprintf("%011d", id)), ledger.TransferIsAccepted)
		for _, want := range []pix.TxStatus{pix.StatusAccepted, pix.StatusSettled} {
			for range 2 {
				for name, find := range map[string]func(pix.AccountID, string) (*ledger.Transaction, error){
					p.ID.String(): h.Transaction, p.Public(): h.Tag, p.EndToEnd: h.EndToEnd,
				} {
					if got, err := find(id, name); err != nil || got == nil || got.Status != want || got.ID != p.ID {
						t.Errorf("%s of account %v: %+v (%v), want %v", name, id, got, err, want)
					}
					if got, err := find(3-id, name); err != nil || got != nil {
						t.Errorf("%s of another account: %+v (%v)", name, got, err)
					}
				}
			}
			if want == pix.StatusAccepted {
				b.do(id, ledger.ResolveTransfer{ID: p.ID, EndToEnd: p.EndToEnd, Result: ledger.TransferIsSettled})
			}
		}
	}
}

// TestKnownIsExact checks that a lookup does not take what it keeps of another record for the
// one that it reads.
func TestKnownIsExact(t *testing.T) {
	b := newBook(t)
	h := New(b.store)
	first := b.do(1, ledger.Credit{Kind: pix.TxTED, Amount: 1})
	b.now++
	second := b.do(1, ledger.Credit{Kind: pix.TxTED, Amount: 2})
	for _, wrong := range []cachedTransaction{{1, first.Record(), first}, {2, second.Record(), first}} {
		h.known.slot(1, second.Record()).Store(&wrong)
		if got, err := h.Transaction(1, second.Public()); err != nil || got.Amount != 2 {
			t.Errorf("%+v (%v)", got, err)
		}
	}
}

// TestReferences checks which of several transactions with one external id a lookup shows.
func TestReferences(t *testing.T) {
	b := newBook(t)
	h := New(b.store)
	b.do(1, ledger.Credit{Kind: pix.TxTED, Amount: 10_000})
	charge := func() *ledger.Transaction {
		b.now++
		return b.do(1, ledger.CreateCharge{Amount: 100, ExternalID: "order-1"})
	}
	shows := func(want *ledger.Transaction) {
		t.Helper()
		if got, err := h.Reference(1, "order-1"); err != nil || got == nil || got.ID != want.ID {
			t.Errorf("%+v (%v), want %v", got, err, want.Public())
		}
	}
	key, _ := pix.ParseKey(pix.KeyEmail, "a@b.com")
	b.now++
	held := b.do(1, ledger.RequestPayout{Amount: 100, Key: key, ExternalID: "order-1"})
	rejected := b.do(1, ledger.ResolveTransfer{ID: held.ID, EndToEnd: held.EndToEnd, Result: ledger.TransferIsRejected, Reason: "AC03"})
	shows(rejected)
	b.now++
	second := b.do(1, ledger.RequestPayout{Amount: 100, Key: key, ExternalID: "order-1"})
	b.do(1, ledger.ResolveTransfer{ID: second.ID, EndToEnd: second.EndToEnd, Result: ledger.TransferIsRejected, Reason: "AC03"})
	shows(second) // the newer of two that can move no money
	older := charge()
	shows(older)
	newer := charge()
	shows(newer)
	b.now++
	again := b.do(1, ledger.RequestPayout{Amount: 100, Key: key, ExternalID: "order-1"})
	b.do(1, ledger.ResolveTransfer{ID: again.ID, EndToEnd: again.EndToEnd, Result: ledger.TransferIsRejected, Reason: "AC03"})
	shows(newer) // and not the newest, which can move no money
	b.do(1, ledger.ReceivePayment{EndToEnd: payment(1), Amount: 100, TxID: older.Public()})
	shows(older)
	if got, err := h.EndToEnd(1, payment(1)); err != nil || got == nil || got.ID != older.ID {
		t.Errorf("by the payment's end-to-end id: %+v (%v)", got, err)
	}
}

// gaps is a list of ten rows, of which one cannot be read.
type gaps struct {
	View
	missing uint64
	err     error
}

func (g gaps) Get(key []byte) ([]byte, bool, error) {
	n, err := layout.RowNumber(key)
	if n == g.missing {
		return nil, false, errors.Join(err, g.err)
	}
	return layout.ItemRow{CreatedAt: pix.Millis(n)}.Encode(), true, err
}

// TestUnreadRow checks that looking for a time in a list fails where a row that it needs is missing or cannot be read.
func TestUnreadRow(t *testing.T) {
	x, disk := itemsOf(1), errors.New("the disk fails")
	if n, err := x.before(gaps{}, 10, 7); n != 6 || err != nil {
		t.Errorf("%d rows are earlier (%v), want 6", n, err)
	}
	for want, fails := range map[error]error{errGap: nil, disk: disk} {
		if n, err := x.before(gaps{missing: 6, err: fails}, 10, 7); !errors.Is(err, want) {
			t.Errorf("%d rows are earlier (%v), want %v", n, err, want)
		}
	}
}
