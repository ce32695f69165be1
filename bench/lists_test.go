package bench

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"pixd/actors/history"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/ledger/ledgertest"
	"pixd/actors/pix"
	"pixd/wal"
)

// The bounds on lists and lookups of an account with a million rows that BenchmarkLists
// checks: a deep page compared with the first one, the least index rows per second of a
// filtered list, and the most time for a lookup whose rows are cached.
const (
	deepPage      = 2.0
	rowsPerSecond = 2_000_000
	lookupTime    = 20 * time.Microsecond
)

// BenchmarkLists measures reads of one account with a million transactions, ten seconds apart.
func BenchmarkLists(b *testing.B) {
	const n = 1_000_000
	l := newLong(b, n)
	for b.Loop() {
		l.deep(b, n)
		l.filtered(b, n)
		l.lookups(b)
	}
}

// long is the store of one account with many transactions.
type long struct {
	store   *wal.Store
	history *history.History
	account ledger.Account
	sum     uint64
	now     pix.Millis
	paid    []*ledger.Transaction // some of the received payments
	charges []*ledger.Transaction // the charges, one in a thousand transactions
}

const longAccount = pix.AccountID(1)

// newLong fills a store with n received payments and credits.
func newLong(b *testing.B, n int) *long {
	s, err := wal.Open(wal.Options{Dir: b.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	l := &long{store: s, history: history.New(s), account: ledger.Account{ID: longAccount}, now: 1_700_000_000_000}
	l.take(b, []ledger.Command{ledger.OpenAccount{Settings: ledger.DefaultSettings()}})
	began := time.Now()
	for made := 0; made < n; {
		var some []ledger.Command
		for ; len(some) < 1000 && made < n; made++ {
			some = append(some, movement(made))
		}
		l.take(b, some)
	}
	fmt.Printf("Lists                  %d transactions written in %v\n", n, time.Since(began).Round(time.Second))
	return l
}

// movement is one movement of money; every third is a credit, and one in a thousand is an open
// charge instead.
func movement(i int) ledger.Command {
	if i%1000 == 501 {
		return ledger.CreateCharge{Amount: 10_000, ExternalID: fmt.Sprint("order-", i)}
	}
	if i%3 == 0 {
		return ledger.Credit{Kind: pix.TxTED, Amount: 100, Reference: fmt.Sprint("r", i)}
	}
	return ledger.ReceivePayment{EndToEnd: fmt.Sprintf("E99999003202603011200%011d", i), Amount: 10_000, Key: "k", PayerName: "Cliente"}
}

// take carries commands out and writes their records and rows as one entry.
func (l *long) take(b *testing.B, all []ledger.Command) {
	e := &wal.Entry{Stream: wal.Stream(longAccount), Expect: l.account.Seq}
	for i, c := range all {
		l.now += 10_000
		id := pix.NewTxID(l.now, [10]byte{byte(i >> 8), byte(i), 1})
		d, err := ledgertest.Reader{Rows: l.store}.Decide(&l.account, c, ledger.Stamp{Reading: pix.At(l.now), ID: id})
		if err != nil {
			b.Fatal(err)
		}
		for j := range d.Records {
			l.add(b, e, &d.Records[j])
		}
		switch t := d.Tx; {
		case t == nil:
		case t.Kind == pix.TxCharge:
			l.charges = append(l.charges, t)
		case t.Kind == pix.TxReceipt && len(l.paid) < len(l.charges):
			l.paid = append(l.paid, t)
		}
	}
	done := make(landed, 1)
	e.Out = []wal.Out{done}
	l.store.Append(e)
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}

func (l *long) add(b *testing.B, e *wal.Entry, r *ledger.Record) {
	if err := l.account.Apply(r); err != nil {
		b.Fatal(err)
	}
	s := wal.Seal(l.sum, wal.Record{Stream: e.Stream, Seq: r.Seq, Kind: uint8(r.Kind), Time: int64(r.Time), Body: r.Encode()})
	l.sum = s.Sum
	e.Records = append(e.Records, s)
	for _, row := range ledger.Project(nil, r) {
		op := wal.Op{Kind: wal.OpSet, Key: row.Key, Value: row.Value}
		if row.Value == nil {
			op.Kind = wal.OpDelete
		}
		e.Ops = append(e.Ops, op)
	}
}

type landed chan error

// Release implements wal.Out.
func (w landed) Release(err error) { w <- err }

// deep compares page 10,000 with page 1, without dates and within dates.
func (l *long) deep(b *testing.B, n int) {
	const size = 99 // page 10,000 of 100 would be the last one
	from := l.now - pix.Millis(n)*10_000 + 1
	for _, f := range []layout.Filter{{}, {From: from, Until: l.now + 1}} {
		for name, list := range map[string]func(p layout.Page) ([]*ledger.Transaction, error){
			"statement": func(p layout.Page) ([]*ledger.Transaction, error) { return l.history.Statement(longAccount, f, p) },
			"transactions": func(p layout.Page) ([]*ledger.Transaction, error) {
				return l.history.Transactions(longAccount, "", f, p)
			},
		} {
			page := func(number int) func() {
				return func() {
					if all, err := list(layout.Page{Number: number, Size: size}); err != nil || len(all) != size {
						b.Fatal(len(all), err)
					}
				}
			}
			first, deep := medians(200, page(1), page(10_000))
			fmt.Printf("Lists                  %s, dates %v: page 1 in %v, page 10,000 in %v: %.2f times\n",
				name, f.From > 0, first, deep, float64(deep)/float64(first))
			if float64(deep) > deepPage*float64(first) {
				b.Errorf("%s: page 10,000 takes %v, page 1 %v", name, deep, first)
			}
		}
	}
}

// filtered measures a filter that selects nothing, so that every row of the index is read.
func (l *long) filtered(b *testing.B, n int) {
	f, p := layout.Filter{Type: layout.FilterInternal}, layout.Page{Number: 1, Size: 20}
	statement, transactions := medians(5,
		func() { l.nothing(b)(l.history.Statement(longAccount, f, p)) },
		func() { l.nothing(b)(l.history.Transactions(longAccount, "", f, p)) })
	slowest := float64(n) / max(statement, transactions).Seconds()
	fmt.Printf("Lists                  a filter that selects nothing: %.1f million rows a second (statement %v, transactions %v)\n", slowest/1e6, statement, transactions)
	if slowest < rowsPerSecond {
		b.Errorf("%.0f rows a second", slowest)
	}
	b.ReportMetric(slowest, "rows/s")
}

func (l *long) nothing(b *testing.B) func([]*ledger.Transaction, error) {
	return func(all []*ledger.Transaction, err error) {
		if err != nil || len(all) > 0 {
			b.Fatal(len(all), err)
		}
	}
}

// lookups measures lookups of a few transactions again and again, so that their rows are
// cached.
func (l *long) lookups(b *testing.B) {
	var i int
	next := func() *ledger.Transaction { i++; return l.paid[i%20] }
	must := func(t *ledger.Transaction, err error) {
		if err != nil || t == nil {
			b.Fatal(t, err)
		}
	}
	id, tag := medians(2000,
		func() { must(l.history.Transaction(longAccount, next().ID.String())) },
		func() { must(l.history.Tag(longAccount, next().Public())) })
	endToEnd, external := medians(2000,
		func() { must(l.history.EndToEnd(longAccount, next().EndToEnd)) },
		func() { must(l.history.Reference(longAccount, l.charges[i%20].ExternalID)) })
	fmt.Printf("Lists                  a lookup by id takes %v, by transaction_id %v, by end-to-end id %v, by external id %v\n", id, tag, endToEnd, external)
	if slowest := max(id, tag, endToEnd, external); slowest > lookupTime {
		b.Errorf("a lookup takes %v", slowest)
	}
}

// medians runs two functions in turn, n times each, and returns the median time of each.
func medians(n int, first, second func()) (a, b time.Duration) {
	var x, y []time.Duration
	timed := func(f func()) time.Duration {
		began := time.Now()
		f()
		return time.Since(began)
	}
	for range n {
		x, y = append(x, timed(first)), append(y, timed(second))
	}
	slices.SortFunc(x, cmp.Compare[time.Duration])
	slices.SortFunc(y, cmp.Compare[time.Duration])
	return x[n/2], y[n/2]
}
