package httpapi

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/ledger/ledgertest"
	"pixd/actors/pix"
)

// book is one account, whose records the ledger's own decisions make. It keeps records and
// rows in memory, and is the ledger.Reader that they are read from.
type book struct {
	t       *testing.T
	account *ledger.Account
	records []ledger.Record
	rows    map[string][]byte
	now     pix.Millis
	drawn   byte // number of ids drawn
}

const (
	evtPayer = "E6070119020260921132000000000001"
	minute   = pix.Millis(60_000)
)

// newBook opens an account that takes fees and owns 100.00 BRL.
func newBook(t *testing.T) *book {
	b := &book{t: t, account: &ledger.Account{ID: merchant}, rows: map[string][]byte{}, now: testNow}
	s := ledger.DefaultSettings()
	s.Name, s.Document, s.CashInFee, s.CashOutFee = "Loja", "12345678000195", ledger.Fee{Fixed: 7}, ledger.Fee{Fixed: 50}
	b.step(ledger.OpenAccount{Settings: s})
	b.step(ledger.Credit{Kind: pix.TxTED, Amount: 1_000_000})
	return b
}

func (b *book) Get(key []byte) ([]byte, bool, error) {
	v, ok := b.rows[string(key)]
	return v, ok, nil
}

func (b *book) Scan(lo, hi []byte, fn func(k, v []byte) (bool, error)) error {
	for _, k := range slices.Sorted(maps.Keys(b.rows)) {
		if k < string(lo) || k >= string(hi) {
			continue
		}
		if more, err := fn([]byte(k), b.rows[k]); err != nil || !more {
			return err
		}
	}
	return nil
}

func (b *book) record(a pix.AccountID, seq uint64) (*ledger.Record, error) {
	if a != merchant || seq == 0 || seq > uint64(len(b.records)) {
		return nil, fmt.Errorf("record %d of %v is missing", seq, a)
	}
	return &b.records[seq-1], nil
}

// step carries a command out, one millisecond after the one before.
func (b *book) step(c ledger.Command) ledger.Decision {
	b.t.Helper()
	b.now++
	b.drawn++
	s := ledger.Stamp{Reading: pix.At(b.now), ID: pix.NewTxID(b.now, [10]byte{b.drawn}), Terms: ledger.Terms{
		Secret: []byte("a secret of the test's own"), OwnISPB: "99999004", OrphanAfter: 30 * minute, QueueTTL: 120 * minute,
		ApprovalTTL: 10_080 * minute, MEDDeadline: 7_200 * minute, MEDAnalysis: 10_080 * minute,
	}}
	d, err := ledgertest.Reader{Rows: b, Records: b.record}.Decide(b.account, c, s)
	if err != nil {
		b.t.Fatal(err)
	}
	if d.Refusal != nil {
		b.t.Fatalf("%T: %s", c, d.Refusal.Message)
	}
	for i := range d.Records {
		b.write(&d.Records[i])
	}
	return d
}

func (b *book) write(r *ledger.Record) {
	b.t.Helper()
	if err := b.account.Apply(r); err != nil {
		b.t.Fatal(err)
	}
	b.records = append(b.records, *r)
	for _, row := range ledger.Project(nil, r) {
		if row.Value == nil {
			delete(b.rows, string(row.Key))
		} else {
			b.rows[string(row.Key)] = row.Value
		}
	}
}

// last returns the newest event of a kind, from its record as a journal gives it back.
func (b *book) last(kind pix.EventKind) ledger.Event {
	b.t.Helper()
	for _, r := range slices.Backward(b.records) {
		i := slices.Index(r.Events, kind)
		if i < 0 {
			continue
		}
		read, err := ledgertest.Reader{Records: b.record}.Record(merchant, r.Seq)
		if err != nil {
			b.t.Fatal(err)
		}
		return read.Event(i)
	}
	b.t.Fatalf("no event %v", kind)
	return ledger.Event{}
}

// pay requests a payout of 1.00 BRL and hands the account the results given, in order.
func (b *book) pay(results ...ledger.ResolveTransfer) *ledger.Transaction {
	b.t.Helper()
	d := b.step(ledger.RequestPayout{
		Amount: 10_000, Key: pix.Key{Type: pix.KeyEmail, Value: "z@x.br"}, Description: "rent", ExternalID: fmt.Sprint("o-", b.drawn),
	})
	for _, r := range results {
		r.ID, r.EndToEnd, r.Owner = d.Tx.ID, d.Tx.EndToEnd, pix.Party{Name: "Zé", Document: "12345678909", ISPB: "60701190"}
		d = b.step(r)
	}
	return d.Tx
}

// receive credits a payment of 2.00 BRL that names a charge, or none.
func (b *book) receive(charge string) *ledger.Transaction {
	b.t.Helper()
	return b.step(ledger.ReceivePayment{
		EndToEnd: evtPayer, Amount: 20_000, Key: testEVP, TxID: charge, PayerName: "Ana", PayerDocument: "98765432100", PayerISPB: "60701190",
	}).Tx
}

// refund requests a refund of the received payment in centavos, and hands the account the
// result given.
func (b *book) refund(centavos pix.Amount, r ledger.ResolveTransfer) *ledger.Transaction {
	b.t.Helper()
	d := b.step(ledger.RequestRefund{Original: evtPayer, Amount: 100 * centavos, Reason: "MD06", Description: "Devolução PIX"})
	r.ID, r.EndToEnd = d.Tx.ID, d.Tx.EndToEnd
	return b.step(r).Tx
}

// back hands the account a return of a payout.
func (b *book) back(t *ledger.Transaction, id string, amount pix.Amount, reason string) {
	b.t.Helper()
	b.step(ledger.ReceiveReturn{ID: t.ID, EndToEnd: t.EndToEnd, ReturnID: id, Amount: amount, Reason: reason})
}

// Results that the tests hand to an account.
var (
	isAccepted = ledger.ResolveTransfer{Result: ledger.TransferIsAccepted}
	isSettled  = ledger.ResolveTransfer{Result: ledger.TransferIsSettled}
)

func isRejected(code string) ledger.ResolveTransfer {
	return ledger.ResolveTransfer{Result: ledger.TransferIsRejected, Reason: code}
}

func isLimited(code ledger.RefusalCode) ledger.ResolveTransfer {
	return ledger.ResolveTransfer{Result: ledger.TransferIsLimited, Refusal: code}
}
