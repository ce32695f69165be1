package history

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/ledger"
	"pixd/wal"
)

// book is a store and the accounts that write into it.
type book struct {
	t        *testing.T
	store    *wal.Store
	accounts map[ledger.AccountID]*ledger.Account
	sums     map[ledger.AccountID]uint64
	n        byte
	now      ledger.Millis
}

const noon = ledger.Millis(1772366400000)

// terms are long enough for every test.
var terms = ledger.Terms{OwnISPB: "99999004", OrphanAfter: 1000, QueueTTL: 2000, ApprovalTTL: 3000}

func newBook(t *testing.T) *book {
	s, err := wal.Open(wal.Options{Dir: "journal", FS: vfs.NewMem(), MemTableBytes: 1 << 20, CacheBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &book{now: noon, t: t, store: s, accounts: map[ledger.AccountID]*ledger.Account{}, sums: map[ledger.AccountID]uint64{}}
	for id := ledger.AccountID(1); id <= 2; id++ {
		b.accounts[id] = &ledger.Account{ID: id}
		b.do(id, ledger.OpenAccount{Settings: ledger.DefaultSettings()}, ledger.Facts{})
	}
	return b
}

// do carries a command out and journals it.
func (b *book) do(id ledger.AccountID, c ledger.Command, f ledger.Facts) *ledger.Transaction {
	b.t.Helper()
	a := b.accounts[id]
	b.n++
	d := a.Decide(c, f, ledger.Stamp{Reading: ledger.At(b.now), ID: ledger.NewTxID(b.now, [10]byte{b.n}), Terms: terms})
	if d.Refusal != nil {
		b.t.Fatalf("%T: %v", c, d.Refusal.Code)
	}
	e := &wal.Entry{Stream: wal.Stream(id), Expect: a.Seq}
	for i := range d.Records {
		r := &d.Records[i]
		if err := a.Apply(r); err != nil {
			b.t.Fatal(err)
		}
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
	return d.Tx
}

func (b *book) write(e *wal.Entry) {
	b.t.Helper()
	done := make(released, 1)
	e.Out = []wal.Out{done}
	b.store.Append(e)
	if err := <-done; err != nil {
		b.t.Fatal(err)
	}
}

// TestTransaction: an account's own by either of its ids, as it stands now;
// anything else is unknown, whoever it belongs to.
func TestTransaction(t *testing.T) {
	b := newBook(t)
	h := New(b.store)
	charge := b.do(1, ledger.CreateCharge{Amount: 2500}, ledger.Facts{})
	foreign := b.do(2, ledger.Credit{Kind: ledger.TxTED, Amount: 7}, ledger.Facts{})
	paid := b.do(1, ledger.ReceivePayment{EndToEnd: "E60701190202603011200abcdefghijk", Amount: 2500}, ledger.Facts{Open: charge})
	if paid.ID != charge.ID || charge.Status == paid.Status {
		t.Fatalf("charge %+v, paid %+v", charge, paid)
	}
	other := charge.ID
	other[15] ^= 1 // the public id does not have these bits
	for name, c := range map[string]struct {
		account ledger.AccountID
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
		"nobody's":                 {1, ledger.TxID{9}.String(), false},
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

// TestDamage: a row that leads nowhere, or that cannot be read, is an error
// and not a 404.
func TestDamage(t *testing.T) {
	for want, op := range map[string]func(tx *ledger.Transaction) wal.Op{
		"id row of 3 bytes": func(tx *ledger.Transaction) wal.Op {
			return wal.Op{Kind: wal.OpSet, Key: ledger.IDKey(tx.ID.Short()), Value: []byte("abc")}
		},
		"item row of 2 bytes": func(*ledger.Transaction) wal.Op {
			return wal.Op{Kind: wal.OpSet, Key: ledger.ItemKey(1, 1), Value: []byte("ab")}
		},
		"has no row": func(*ledger.Transaction) wal.Op { return wal.Op{Kind: wal.OpDelete, Key: ledger.ItemKey(1, 1)} },
		"is missing": func(*ledger.Transaction) wal.Op {
			return wal.Op{Kind: wal.OpSet, Key: ledger.ItemKey(1, 1), Value: append(make([]byte, 15), 99, 2, 6)}
		},
	} {
		b := newBook(t)
		tx := b.do(1, ledger.Credit{Kind: ledger.TxTED, Amount: 7}, ledger.Facts{})
		b.write(&wal.Entry{Ops: []wal.Op{op(tx)}})
		got, err := New(b.store).Transaction(1, tx.Public())
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "history: ") || got != nil {
			t.Errorf("%s: %v, %v", want, got, err)
		}
	}
}

// held is a journal that shows what it has not yet on disk, and says when it is.
type held struct {
	*wal.Store
	mu     sync.Mutex
	parked []wal.Out
}

func (h *held) Durable() wal.Ticket { return 0 }

func (h *held) Append(e *wal.Entry) wal.Ticket {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.parked = append(h.parked, e.Out...)
	return h.Submitted()
}

func (h *held) waiting() []wal.Out {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.parked
}

// TestLookWaits: what a look may have seen on its way to the disk is answered
// once it is there; so is that there is nothing.
func TestLookWaits(t *testing.T) {
	for _, id := range []string{"", "nonsense"} {
		b := newBook(t)
		tx := b.do(1, ledger.Credit{Kind: ledger.TxTED, Amount: 7}, ledger.Facts{})
		if id == "" {
			id = tx.Public()
		}
		j := &held{Store: b.store}
		answered := make(chan *ledger.Transaction, 1)
		go func() {
			got, err := New(j).Transaction(1, id)
			if err != nil {
				t.Error(err)
			}
			answered <- got
		}()
		for range 1000 {
			if len(j.waiting()) > 0 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if len(j.waiting()) != 1 {
			t.Fatal("the look does not wait for the disk")
		}
		select {
		case <-answered:
			t.Fatal("answered before it was durable")
		case <-time.After(5 * time.Millisecond):
		}
		j.waiting()[0].Release(nil)
		if got := <-answered; (got != nil) != (id != "nonsense") {
			t.Errorf("%s: answered %v", id, got)
		}
	}
}

// TestWaitFails: a wait that the journal refuses is an error.
func TestWaitFails(t *testing.T) {
	b := newBook(t)
	tx := b.do(1, ledger.Credit{Kind: ledger.TxTED, Amount: 7}, ledger.Facts{})
	if _, err := New(failing{&held{Store: b.store}}).Transaction(1, tx.Public()); !errors.Is(err, wal.ErrSequence) {
		t.Errorf("answered with %v", err)
	}
}

type failing struct{ *held }

func (failing) Append(e *wal.Entry) wal.Ticket {
	e.Out[0].Release(wal.ErrSequence)
	return 0
}
