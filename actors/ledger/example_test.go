package ledger_test

import (
	"fmt"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/ledger/ledgertest"
	"pixd/actors/pix"
)

// kept are the rows of the example's account: what a journal would have on disk.
type kept map[string][]byte

// Get implements layout.Rows.
func (k kept) Get(key []byte) ([]byte, bool, error) { v, ok := k[string(key)]; return v, ok, nil }

// Scan implements layout.Rows. The example's commands scan nothing that is there.
func (k kept) Scan(_, _ []byte, _ layout.Visit) error { return nil }

// An account is opened, gets money and holds some of it for a payout: each command goes through
// Gather, Decide, Apply and Project.
func Example() {
	account, rows, now := &ledger.Account{ID: 7}, kept{}, pix.Millis(1_772_366_400_000)
	reader := ledgertest.Reader{Rows: rows}
	do := func(c ledger.Command) {
		now++
		stamp := ledger.Stamp{Reading: pix.At(now), ID: pix.NewTxID(now, [10]byte{}), Terms: ledger.Terms{OwnISPB: "99999004"}, Durable: account.Totals}
		facts, err := ledger.Gather(reader, account, c, stamp)
		if err != nil {
			fmt.Println(err) // the failing world: nothing has changed
			return
		}
		decision := account.Decide(facts, stamp)
		if decision.Refusal != nil {
			fmt.Println("refused:", decision.Refusal.Code)
			return
		}
		for i := range decision.Records { // these and their rows are one entry of the journal
			r := &decision.Records[i]
			if err := account.Apply(r); err != nil {
				panic(err)
			}
			for _, row := range ledger.Project(nil, r) {
				rows[string(row.Key)] = row.Value
			}
			fmt.Println(r.Seq, r.Kind, "available", r.Totals.Available())
		}
		for _, l := range decision.Launch { // once the entry is durable
			fmt.Println("child actor for", l.Tx.Public()[:6])
		}
	}
	key, _ := pix.ParseKey(pix.KeyEmail, "ana@example.com")
	do(ledger.OpenAccount{Settings: ledger.DefaultSettings()})
	do(ledger.Credit{Kind: pix.TxTED, Amount: 100_000})
	do(ledger.RequestPayout{Amount: 30_000, Key: key})
	do(ledger.RequestPayout{Amount: 90_000, Key: key})
	// Output:
	// 1 account.opened available 0
	// 2 credited available 100000
	// 3 payout.held available 70000
	// child actor for PIXOUT
	// refused: insufficient_balance
}
