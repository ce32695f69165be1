package audit

import (
	"math/big"
	"slices"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// Report is the result of an audit. Amounts are base units.
type Report struct {
	At          string               `json:"at"`       // when the engine's accounts were read
	Book        string               `json:"book"`     // that the scheme's book was compared, or why it was not
	Accounts    int                  `json:"accounts"` // the number of accounts
	Records     uint64               `json:"records"`
	InFlight    int                  `json:"in_flight"` // transactions that hold money
	Balance     *big.Int             `json:"balance"`   // sum over all accounts, which may be more than one account can hold
	Pending     *big.Int             `json:"pending"`
	MEDHeld     *big.Int             `json:"med_held"` // what special-return cases hold
	Cases       int                  `json:"cases"`    // special-return cases that hold money or wait
	Differences []ReportedDifference `json:"differences"`
	Rows        []ReportedAccount    `json:"rows"`     // every account with a difference, and up to reportedRows others
	LeftOut     int                  `json:"left_out"` // number of accounts that have no difference and no line in Rows
}

// ReportedDifference is one difference between what two sources say about an account, such as
// its records and the scheme's book.
type ReportedDifference struct {
	Account     string      `json:"account_id"`
	Kind        string      `json:"kind"`
	Transaction *string     `json:"transaction_id"`
	Message     string      `json:"message"`
	Field       *string     `json:"field"` // the differing sum, if kind is "book"; else null
	Engine      *pix.Amount `json:"engine"`
	Scheme      *pix.Amount `json:"scheme"`
}

// ReportedAccount is an account's line in the report.
type ReportedAccount struct {
	ID          string     `json:"account_id"`
	Balance     pix.Amount `json:"balance"`
	Pending     pix.Amount `json:"pending"`
	MEDHeld     pix.Amount `json:"med_held"`
	Cases       int        `json:"cases"`
	InFlight    int        `json:"in_flight"`
	Sent        pix.Amount `json:"sent"`
	Received    pix.Amount `json:"received"`
	ReturnedBy  pix.Amount `json:"returned_by"`
	ReturnedTo  pix.Amount `json:"returned_to"`
	Differences int        `json:"differences"`
}

// How Report.Book begins.
const (
	Compared    = "compared"
	NotCompared = "not compared: " // the reason follows
)

// reportedRows is the largest number of accounts without a difference that get a line.
const reportedRows = 1000

// NewReport makes the report of an audit that read the accounts at a time.
func NewReport(at pix.Millis) *Report {
	return &Report{
		At: at.String(), Balance: new(big.Int), Pending: new(big.Int), MEDHeld: new(big.Int),
		Differences: []ReportedDifference{}, Rows: []ReportedAccount{},
	}
}

// addAccount adds an account to the report.
func (r *Report) addAccount(a *Account) {
	r.Accounts++
	r.Records += a.Records
	r.InFlight += a.InFlight()
	add(r.Balance, a.Totals.Balance)
	add(r.Pending, a.Totals.Held)
	add(r.MEDHeld, a.Totals.MEDHeld)
	r.Cases += a.Cases()
	r.AddDifferences(a.Found())
	r.Rows = append(r.Rows, reportedAccount(a.ID, &a.Totals, a.InFlight(), a.Cases(), &a.Sums))
}

func reportedAccount(id pix.AccountID, t *ledger.Totals, inFlight, cases int, s *scheme.Sums) ReportedAccount {
	return ReportedAccount{
		ID: id.String(), Balance: t.Balance, Pending: t.Held, MEDHeld: t.MEDHeld, Cases: cases, InFlight: inFlight,
		Sent: s.Sent, Received: s.Received, ReturnedBy: s.ReturnedBy, ReturnedTo: s.ReturnedTo,
	}
}

// AddDifferences adds differences to the report.
func (r *Report) AddDifferences(found []Difference) {
	for _, d := range found {
		one := ReportedDifference{Account: d.Account.String(), Kind: d.Kind, Message: d.Message}
		if d.Transaction != "" {
			one.Transaction = &d.Transaction
		}
		if d.Kind == KindBook {
			one.Field, one.Engine, one.Scheme = &d.Field, &d.Engine, &d.Scheme
		}
		r.Differences = append(r.Differences, one)
	}
}

// Finish counts the differences of each line, removes lines without a difference beyond the
// first reportedRows, and returns the report. Call it once, after everything was added.
func (r *Report) Finish() *Report {
	count := map[string]int{}
	for _, d := range r.Differences {
		count[d.Account]++
	}
	kept := 0
	r.Rows = slices.DeleteFunc(r.Rows, func(a ReportedAccount) bool {
		if count[a.ID] == 0 {
			kept++
		}
		return count[a.ID] == 0 && kept > reportedRows
	})
	r.LeftOut = max(0, kept-reportedRows)
	for i := range r.Rows {
		r.Rows[i].Differences = count[r.Rows[i].ID]
	}
	return r
}

func add(sum *big.Int, a pix.Amount) { sum.Add(sum, big.NewInt(int64(a))) }
