package account_test

import (
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/account"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
)

// rows reads rows and records of the example's journal.
type rows struct{ *wal.Store }

// Record implements account.Rows.
func (r rows) Record(a pix.AccountID, seq uint64) (*ledger.Record, error) {
	w, _, err := r.Store.Record(wal.Stream(a), seq)
	if err != nil {
		return nil, err
	}
	record := &ledger.Record{Account: a, Seq: seq, Time: pix.Millis(w.Time), Kind: ledger.RecordKind(w.Kind)}
	return record, record.Decode(w.Body)
}

// answers renders the answers that are stored under idempotency keys.
type answers struct{}

// Render implements account.Renderer.
func (answers) Render(*ledger.Answer, ledger.Style) (ledger.Stored, bool) {
	return ledger.Stored{Code: 200}, true
}

// A host opens an account at the first command for it, and answers when the answer is durable. Another
// host over the same journal finds the account as it was.
func Example() {
	store, err := wal.Open(wal.Options{Dir: "journal", FS: vfs.NewMem()})
	if err != nil {
		panic(err)
	}
	start := func() *account.Host {
		return account.NewHost(account.Options{
			Config:  account.Config{Renderer: answers{}, HeadEvery: 256, Terms: ledger.Terms{OwnISPB: "99999004"}},
			Journal: store, Rows: rows{store}, Tail: store, Scheme: scheme.Unassigned{},
			Opening: func(pix.AccountID) (ledger.Settings, bool) { return ledger.DefaultSettings(), true },
			Now:     func() pix.Reading { return pix.At(1_772_366_400_000) }, Entropy: func() [10]byte { return [10]byte{7} },
			Log: slog.New(slog.DiscardHandler),
		})
	}
	host := start()
	answer, err := host.Do(7, ledger.Credit{Kind: pix.TxTED, Amount: 100_000})
	fmt.Println(answer.Tx.Status, err)
	answer, err = host.Do(7, ledger.CreateCharge{Amount: -1})
	fmt.Println(answer.Refusal.Code, err)
	if err := host.Close(); err != nil {
		panic(err)
	}
	host = start()
	answer, err = host.Do(7, ledger.ReadAccount{})
	fmt.Println(answer.Head.Totals.Available(), err)
	if err := host.Close(); err != nil {
		panic(err)
	}
	if err := store.Close(); err != nil {
		panic(err)
	}
	// Output:
	// completed <nil>
	// amount <nil>
	// 100000 <nil>
}
