package history

import (
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/ledger/ledgertest"
	"pixd/actors/pix"
	"pixd/wal"
)

// book is a store, and the accounts whose records and rows a test writes into the store.
type book struct {
	t        testing.TB
	store    *wal.Store
	accounts map[pix.AccountID]*ledger.Account
	records  map[pix.AccountID][]*ledger.Record
	sums     map[pix.AccountID]uint64
	n        byte
	now      pix.Millis
}

const noon = pix.Millis(1772366400000)

// terms are the service's terms in these tests, in which no payout expires or is voided.
var terms = ledger.Terms{OwnISPB: "99999004", OrphanAfter: 1000, QueueTTL: 2000, ApprovalTTL: 3000}

func newBook(t testing.TB) *book {
	s, err := wal.Open(wal.Options{Dir: "journal", FS: vfs.NewMem(), MemTableBytes: 1 << 20, CacheBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &book{now: noon, t: t, store: s, accounts: map[pix.AccountID]*ledger.Account{}, records: map[pix.AccountID][]*ledger.Record{}, sums: map[pix.AccountID]uint64{}}
	for id := pix.AccountID(1); id <= 2; id++ {
		b.accounts[id] = &ledger.Account{ID: id}
		b.do(id, ledger.OpenAccount{Settings: ledger.DefaultSettings()})
	}
	return b
}

// do carries out a command for an account, and journals its records and rows.
func (b *book) do(id pix.AccountID, c ledger.Command) *ledger.Transaction {
	b.t.Helper()
	return b.decide(id, c).Tx
}

// record implements ledgertest.Reader.Records.
func (b *book) record(id pix.AccountID, seq uint64) (*ledger.Record, error) {
	return b.records[id][seq-1], nil
}

func (b *book) decide(id pix.AccountID, c ledger.Command) ledger.Decision {
	b.t.Helper()
	a := b.accounts[id]
	b.n++
	s := ledger.Stamp{Reading: pix.At(b.now), ID: pix.NewTxID(b.now, [10]byte{4: b.n}), Terms: terms}
	d, err := ledgertest.Reader{Rows: b.store, Records: b.record}.Decide(a, c, s)
	if err != nil {
		b.t.Fatalf("%T: %v", c, err)
	}
	if d.Refusal != nil && !d.Refusal.AfterHold {
		b.t.Fatalf("%T: %v", c, d.Refusal.Code)
	}
	e := &wal.Entry{Stream: wal.Stream(id), Expect: a.Seq}
	for i := range d.Records {
		r := &d.Records[i]
		if err := a.Apply(r); err != nil {
			b.t.Fatal(err)
		}
		b.records[id] = append(b.records[id], r)
		s := wal.Seal(b.sums[id], wal.Record{Stream: e.Stream, Seq: r.Seq, Kind: uint8(r.Kind), Time: int64(r.Time), Body: r.Encode()})
		b.sums[id] = s.Sum
		e.Records = append(e.Records, s)
		for _, row := range ledger.Project(nil, r) {
			op := wal.Op{Kind: wal.OpSet, Key: row.Key, Value: row.Value}
			if row.Value == nil {
				op.Kind = wal.OpDelete
			}
			e.Ops = append(e.Ops, op)
		}
	}
	b.write(e)
	return d
}

type written chan error

// Release implements wal.Out.
func (w written) Release(err error) { w <- err }

func (b *book) write(e *wal.Entry) {
	b.t.Helper()
	done := make(written, 1)
	e.Out = []wal.Out{done}
	b.store.Append(e)
	if err := <-done; err != nil {
		b.t.Fatal(err)
	}
}

// TestTransaction checks that an account finds its own transaction, in its newest state, by
// id and by transaction_id, and finds no transaction of another account.
func TestTransaction(t *testing.T) {
	b := newBook(t)
	h := New(b.store)
	charge := b.do(1, ledger.CreateCharge{Amount: 2500})
	foreign := b.do(2, ledger.Credit{Kind: pix.TxTED, Amount: 7})
	paid := b.do(1, ledger.ReceivePayment{EndToEnd: "E60701190202603011200abcdefghijk", Amount: 2500, TxID: charge.Public()})
	if paid.ID != charge.ID || charge.Status == paid.Status {
		t.Fatalf("charge %+v, paid %+v", charge, paid)
	}
	other := charge.ID
	other[15] ^= 1 // a bit of the id that is not part of the public transaction_id
	for name, c := range map[string]struct {
		account pix.AccountID
		id      string
		found   bool
	}{
		"by id":                    {1, charge.ID.String(), true},
		"by id in upper case":      {1, strings.ToUpper(charge.ID.String()), true},
		"by transaction_id":        {1, charge.Public(), true},
		"another account's":        {1, foreign.ID.String(), false},
		"another's transaction_id": {1, foreign.Public(), false},
		"by the other account":     {2, charge.ID.String(), false},
		"by an account not there":  {9, charge.Public(), false},
		"nearly the same id":       {1, other.String(), false},
		"under another prefix":     {1, "PIXOUT" + strings.TrimPrefix(charge.Public(), "PIXIN"), false},
		"in lower case":            {1, strings.ToLower(charge.Public()), false},
		"nobody's":                 {1, pix.TxID{9}.String(), false},
		"nonsense":                 {1, "nonsense", false},
		"empty":                    {1, "", false},
	} {
		got, err := h.Transaction(c.account, c.id)
		if err != nil || (got != nil) != c.found {
			t.Errorf("%s: found %v, %v", name, got, err)
		}
		if got != nil && (got.ID != charge.ID || got.Status != paid.Status || got.Amount != 2500) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got, err := h.Transaction(2, foreign.Public()); err != nil || got == nil || got.Amount != 7 {
		t.Errorf("the other account's own: %+v %v", got, err)
	}
}

// TestDamage checks that a lookup returns an error, and not "unknown transaction", where a
// row cannot be read or leads to a missing record.
func TestDamage(t *testing.T) {
	for want, op := range map[string]func(tx *ledger.Transaction) wal.Op{
		"id row of 3 bytes": func(tx *ledger.Transaction) wal.Op {
			return wal.Op{Kind: wal.OpSet, Key: layout.IDKey(tx.ID.Short()), Value: []byte("abc")}
		},
		"item row of 2 bytes": func(*ledger.Transaction) wal.Op {
			return wal.Op{Kind: wal.OpSet, Key: layout.ItemKey(1, 1), Value: []byte("ab")}
		},
		"has no row": func(*ledger.Transaction) wal.Op { return wal.Op{Kind: wal.OpDelete, Key: layout.ItemKey(1, 1)} },
		"is missing": func(*ledger.Transaction) wal.Op {
			return wal.Op{Kind: wal.OpSet, Key: layout.ItemKey(1, 1), Value: append(make([]byte, 15), 99, 2, 6)}
		},
	} {
		b := newBook(t)
		tx := b.do(1, ledger.Credit{Kind: pix.TxTED, Amount: 7})
		b.write(&wal.Entry{Ops: []wal.Op{op(tx)}})
		got, err := New(b.store).Transaction(1, tx.Public())
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "history: ") || got != nil {
			t.Errorf("%s: %v, %v", want, got, err)
		}
	}
}

// looks is a store that counts the calls of Look and can make them fail.
type looks struct {
	store
	streams []wal.Stream
	err     error
}

func (l *looks) Look(stream wal.Stream, read func(View) error) error {
	l.streams = append(l.streams, stream)
	return errors.Join(l.store.Look(stream, read), l.err)
}

// TestThroughTheGate checks that every lookup calls wal.Store.Look once, with the right
// stream, and returns nothing where Look fails.
func TestThroughTheGate(t *testing.T) {
	b := newBook(t)
	tx := b.do(1, ledger.Credit{Kind: pix.TxTED, Amount: 7})
	b.do(1, ledger.CreateCharge{Amount: 7, ExternalID: "order-1"})
	k := b.opened(1, b.received(1, e2eA, 5), "inf-1", 5)
	for name, c := range map[string]struct {
		stream wal.Stream
		read   func(*History) (any, error)
	}{
		"transaction": {1, func(h *History) (any, error) { got, err := h.Transaction(1, tx.Public()); return got == nil, err }},
		"anyone":      {0, func(h *History) (any, error) { got, err := h.Anyone(tx.Public()); return got == nil, err }},
		"in flight": {0, func(h *History) (any, error) {
			got, _, err := parts(h.InFlight(1, nil, nil, 9))
			return got == nil, err
		}},
		"ended": {0, func(h *History) (any, error) {
			got, _, err := parts(h.FinalPayouts(1, pix.StatusSettled, nil, 9))
			return got == nil, err
		}},
		"statement": {1, func(h *History) (any, error) {
			got, err := h.Statement(1, layout.Filter{}, layout.Page{Number: 1, Size: 9})
			return got == nil, err
		}},
		"a filtered statement": {1, func(h *History) (any, error) {
			got, err := h.Statement(1, layout.Filter{Type: layout.FilterTED}, layout.Page{Number: 1, Size: 9})
			return got == nil, err
		}},
		"transactions": {1, func(h *History) (any, error) {
			got, err := h.Transactions(1, "", layout.Filter{}, layout.Page{Number: 1, Size: 9})
			return got == nil, err
		}},
		"end-to-end id": {1, func(h *History) (any, error) { got, err := h.EndToEnd(1, e2eA); return got == nil, err }},
		"tag":           {1, func(h *History) (any, error) { got, err := h.Tag(1, tx.Public()); return got == nil, err }},
		"reference":     {1, func(h *History) (any, error) { got, err := h.Reference(1, "order-1"); return got == nil, err }},

		"case":      {1, func(h *History) (any, error) { got, err := h.Case(1, k.ID.String()); return got == nil, err }},
		"cases":     {1, func(h *History) (any, error) { got, err := h.Cases(1, 0, 1, 9); return got == nil, err }},
		"any case":  {0, func(h *History) (any, error) { got, err := h.AnyCase(k.ID.String()); return got == nil, err }},
		"all cases": {0, func(h *History) (any, error) { got, _, err := parts(h.AllCases(0, nil, 9)); return got == nil, err }},
	} {
		j := &looks{store: store{b.store}}
		if _, err := c.read(Over(j)); err != nil || len(j.streams) != 1 || j.streams[0] != c.stream {
			t.Errorf("%s: looked at %v (%v)", name, j.streams, err)
		}
		j = &looks{store: store{b.store}, err: wal.ErrClosed}
		if nothing, err := c.read(Over(j)); !errors.Is(err, wal.ErrClosed) || nothing != true {
			t.Errorf("%s: through a gate that is shut: nothing %v, %v", name, nothing, err)
		}
	}
}
