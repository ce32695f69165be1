package audit

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/ledger/ledgertest"
	"pixd/actors/pix"
)

// life is an account for which a test carries out commands, with the account's records and
// rows.
type life struct {
	passed  pix.Millis // ms that the test adds to the time, beside one ms for each command
	t       testing.TB
	account ledger.Account
	records []ledger.Record
	rows    rows
	n       byte
}

var terms = ledger.Terms{OwnISPB: "99999004", OrphanAfter: 1000, QueueTTL: 2000, ApprovalTTL: 3000}

const noon = pix.Millis(1772366400000)

func begin(t testing.TB, id pix.AccountID) *life {
	l := &life{t: t, account: ledger.Account{ID: id}, rows: rows{}}
	s := ledger.DefaultSettings()
	s.CashOutFee, s.CashInFee = ledger.Fee{Fixed: 7}, ledger.Fee{Fixed: 3}
	l.do(ledger.OpenAccount{Settings: s})
	return l
}

// record implements ledgertest.Reader.Records.
func (l *life) record(_ pix.AccountID, seq uint64) (*ledger.Record, error) {
	return &l.records[seq-1], nil
}

func (l *life) do(c ledger.Command) *ledger.Transaction {
	l.t.Helper()
	l.n++
	s := ledger.Stamp{Reading: pix.At(noon + pix.Millis(l.n) + l.passed), ID: pix.NewTxID(noon, [10]byte{4: l.n}), Terms: terms}
	d, err := ledgertest.Reader{Rows: l.rows, Records: l.record}.Decide(&l.account, c, s)
	if err != nil {
		l.t.Fatalf("%T: %v", c, err)
	}
	if d.Refusal != nil && len(d.Records) == 0 {
		l.t.Fatalf("%T: %v", c, d.Refusal)
	}
	for i := range d.Records {
		if err := l.account.Apply(&d.Records[i]); err != nil {
			l.t.Fatal(err)
		}
		l.records = append(l.records, d.Records[i])
		for _, row := range ledger.Project(nil, &d.Records[i]) {
			if row.Value == nil {
				delete(l.rows, string(row.Key))
			} else {
				l.rows[string(row.Key)] = row.Value
			}
		}
	}
	return d.Tx
}

func (l *life) payout(n int) *ledger.Transaction {
	l.t.Helper()
	key, _ := pix.ParseKey(pix.KeyEmail, fmt.Sprintf("a%d@b.com", n))
	return l.do(ledger.RequestPayout{Amount: 100, Key: key})
}

func (l *life) resolve(t *ledger.Transaction, c ledger.ResolveTransfer) *ledger.Transaction {
	l.t.Helper()
	c.ID, c.EndToEnd = t.ID, t.EndToEnd
	return l.do(c)
}

// whole is an account with at least one record of nearly every kind, and with payouts in
// most statuses.
func whole(t testing.TB) *life {
	l := begin(t, 7)
	l.do(ledger.Credit{Kind: pix.TxTED, Amount: 100_000})
	l.do(ledger.ReceivePayment{EndToEnd: "E60701190202603011200abcdefghijk", Amount: 500})
	accepted := ledger.ResolveTransfer{Result: ledger.TransferIsAccepted}
	limited := ledger.ResolveTransfer{Result: ledger.TransferIsLimited, Refusal: ledger.RefuseBucket}
	payers := ledger.ResolveTransfer{Result: ledger.TransferIsLimited, Refusal: ledger.RefuseRateLimited}
	settled := l.resolve(l.payout(1), ledger.ResolveTransfer{Result: ledger.TransferIsSettled})
	l.do(ledger.ReceiveReturn{ID: settled.ID, EndToEnd: settled.EndToEnd, ReturnID: "D60701190202603011200abcdefghijk", Amount: 40, Reason: "MD06"})
	l.resolve(l.resolve(l.payout(2), accepted), ledger.ResolveTransfer{Result: ledger.TransferIsRejected, Reason: "AC03"})
	l.resolve(l.payout(3), ledger.ResolveTransfer{Result: ledger.TransferIsRefused, Refusal: ledger.RefuseKeyNotFound})
	sent := l.resolve(l.payout(4), accepted)
	l.passed = terms.OrphanAfter
	void := l.resolve(sent, ledger.ResolveTransfer{Result: ledger.TransferIsVoided})
	l.resolve(void, ledger.ResolveTransfer{Result: ledger.TransferIsSettled})
	l.resolve(l.payout(5), accepted)
	l.resolve(l.payout(6), limited)
	l.resolve(l.payout(7), payers)
	l.resolve(l.resolve(l.payout(8), limited), ledger.ResolveTransfer{Result: ledger.TransferIsSending})
	l.payout(9)
	always := pix.Amount(0)
	waits := l.account.Settings
	waits.ApprovalThreshold = &always
	l.do(ledger.ChangeSettings{Settings: waits})
	l.payout(10)
	l.do(ledger.DecideApproval{ID: l.payoutID(11), Word: ledger.Approved, Operator: "Ana"})
	return l
}

func (l *life) payoutID(n int) pix.TxID { return l.payout(n).ID }

func (l *life) last() *ledger.Transaction { return l.records[len(l.records)-1].Tx }

func (l *life) audit() *Account {
	l.t.Helper()
	a := NewAccount(l.account.ID)
	for i := range l.records {
		a.Record(&l.records[i])
	}
	w, err := CountWaiting(l.t.Context(), l.rows)
	if err == nil {
		err = a.Check(l.rows, w)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	for _, id := range w.Left() {
		a.tell(KindOpen, "", "rows of %v are left", id)
	}
	return a
}

// rows is a store in memory.
type rows map[string][]byte

func (r rows) Get(k []byte) ([]byte, bool, error) { v, ok := r[string(k)]; return v, ok, nil }

func (r rows) Scan(lo, hi []byte, fn func(k, v []byte) (bool, error)) error {
	var keys []string
	for k := range r {
		if k >= string(lo) && k < string(hi) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		if more, err := fn([]byte(k), r[k]); err != nil || !more {
			return err
		}
	}
	return nil
}

// TestWhole checks that the audit finds no difference in the account that the function
// whole makes, and that the sums of its settled payments are right and contain no fees.
func TestWhole(t *testing.T) {
	l := whole(t)
	a := l.audit()
	if len(a.Found()) > 0 {
		t.Errorf("%+v", a.Found())
	}
	if a.Sums.Sent != 200 || a.Sums.Received != 500 || a.Sums.ReturnedTo != 40 || a.Sums.ReturnedBy != 0 {
		t.Errorf("%+v", a.Sums)
	}
	if a.InFlight() != 7 || a.Totals != l.account.Totals || a.Totals.Held != 7*107 || a.Records != uint64(len(l.records)) {
		t.Errorf("%d in flight, %+v", a.InFlight(), a.Totals)
	}
}

func (l *life) find(kind ledger.RecordKind) *ledger.Record {
	l.t.Helper()
	for i := range l.records {
		if l.records[i].Kind == kind {
			return &l.records[i]
		}
	}
	l.t.Fatalf("no %v", kind)
	return nil
}

// row returns the key of a row whose first byte is tag; of several rows it may be any.
func (l *life) row(tag byte) string {
	for k := range l.rows {
		if k[0] == tag {
			return k
		}
	}
	l.t.Fatalf("no row %q", tag)
	return ""
}

// TestPlanted checks that the audit finds each error that the test plants, under the right
// kind, and finds no other difference.
func TestPlanted(t *testing.T) {
	for name, c := range map[string]struct {
		plant func(l *life)
		kind  string
		says  string
	}{
		"balance": {func(l *life) { l.records[4].Totals.Balance++ }, KindTotals, "carries balance"},
		"pending": {func(l *life) { l.records[len(l.records)-1].Totals.Held-- }, KindTotals, "carries balance"},
		"a fee":   {func(l *life) { t := *l.records[1].Tx; t.Fee = 1; l.records[1].Tx = &t }, KindTotals, "record 2 (credited)"},
		"a debit": {func(l *life) {
			t := *l.find(ledger.PayoutSettledLate).Tx
			t.Amount++
			l.find(ledger.PayoutSettledLate).Tx = &t
		}, KindTotals, "payout.settled_late"},
		"ends as another": {func(l *life) {
			t := *l.find(ledger.PayoutRejected).Tx
			t.Amount++
			l.find(ledger.PayoutRejected).Tx = &t
		}, KindHolds, "ends a transfer of 108, which held 107"},
		"no open row":      {func(l *life) { delete(l.rows, l.row('o')) }, KindOpen, "has none"},
		"a stray open row": {func(l *life) { l.rows[string(layout.OpenKey(7, pix.TxID{1}))] = make([]byte, 8) }, KindOpen, "stands for no payout or refund in flight"},
		"an old open row":  {func(l *life) { l.rows[l.row('o')] = []byte{0, 0, 0, 0, 0, 0, 0, 1} }, KindOpen, "leads to record 1, its newest is"},
		"another's":        {func(l *life) { l.rows[string(layout.OpenKey(8, pix.TxID{1}))] = make([]byte, 8) }, KindOpen, "are left"},
		"no due row":       {func(l *life) { delete(l.rows, l.row('d')) }, KindDue, "has none"},
		"a stray due row": {func(l *life) {
			l.rows[string(layout.DueKey(layout.DueDoubt, noon, 7, layout.EntityID{1}))] = make([]byte, 8)
		}, KindDue, "nothing is due"},
		"due twice": {func(l *life) {
			l.rows[string(layout.DueKey(layout.DueDoubt, noon, 7, layout.EntityID(l.last().ID)))] = make([]byte, 8)
		}, KindDue, "nothing is due"},
		"not in the queue": {func(l *life) { delete(l.rows, l.row('q')) }, KindQueue, "has none"},
		"a stray in it": {func(l *life) {
			l.rows[string(layout.QueueKey(layout.QueueFor(pix.BucketInstitution, 7), l.last().ID))] = l.rows[l.row('q')]
		}, KindQueue, "stands for no queued payout"},
	} {
		l := whole(t)
		c.plant(l)
		found := l.audit().Found()
		if len(found) != 1 || found[0].Kind != c.kind || !strings.Contains(found[0].Message, c.says) {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// TestHoldsNothing checks that a record which goes on with or ends a payout that holds no
// money is a difference KindHolds, and that a second hold of one payout is one too.
func TestHoldsNothing(t *testing.T) {
	for _, kind := range []ledger.RecordKind{ledger.PayoutSettled, ledger.PayoutRefused, ledger.PayoutSending, ledger.PayoutHeld} {
		l := whole(t)
		r := *l.find(kind)
		a := NewAccount(7)
		a.Record(&r)
		if kind == ledger.PayoutHeld {
			a.Record(&r)
		}
		if !slices.ContainsFunc(a.Found(), func(d Difference) bool { return d.Kind == KindHolds && d.Transaction == r.Tx.Public() }) {
			t.Errorf("%v: %+v", kind, a.Found())
		}
	}
}
