// Package ledgertest carries out an account's commands in tests: Reader reads the facts of a
// command from rows and records that a test keeps, and nothing is in memory beside them.
package ledgertest

import (
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// Reader is a ledger.Reader over rows and records. Every row is durable, no child actor carries a
// transfer, and no PIX key is registered.
type Reader struct {
	layout.Rows
	Records func(a pix.AccountID, seq uint64) (*ledger.Record, error)
}

// Decide carries a command out, as far as the decision: an account's machine would write its
// records next. The account is active, and all of its records are durable.
func (r Reader) Decide(a *ledger.Account, c ledger.Command, s ledger.Stamp) (ledger.Decision, error) {
	s.Durable = a.Totals
	f, err := ledger.Gather(r, a, c, s)
	if err != nil {
		return ledger.Decision{}, err
	}
	return a.Decide(f, s), nil
}

// Own implements ledger.Reader.
func (r Reader) Own(lo, hi []byte, visit layout.Visit) error {
	return r.Scan(lo, hi, visit)
}

// Record implements ledger.Reader. It returns the record as a journal gives it back: encoded and
// decoded.
func (r Reader) Record(a pix.AccountID, seq uint64) (*ledger.Record, error) {
	stored, err := r.Records(a, seq)
	if err != nil {
		return nil, err
	}
	again := &ledger.Record{Account: a, Seq: seq, Time: stored.Time, Kind: stored.Kind}
	return again, again.Decode(stored.Encode())
}

// Claim implements ledger.Reader. It uses no filter.
func (r Reader) Claim(key []byte, _, _ pix.Millis) ([]byte, bool, error) { return r.Get(key) }

// Equal implements ledger.Reader.
func (r Reader) Equal(_ pix.TxID, read func() (*ledger.Transaction, error)) (*ledger.Transaction, error) {
	return read()
}

// KeyIsOurs implements ledger.Reader.
func (Reader) KeyIsOurs(string) bool { return false }

// Carried implements ledger.Reader.
func (Reader) Carried(pix.TxID) *ledger.Transaction { return nil }

// EachCarried implements ledger.Reader.
func (Reader) EachCarried(func(*ledger.Transaction) bool) {}

// Recent implements ledger.Reader.
func (Reader) Recent(pix.TxID) *ledger.Transaction { return nil }

// RecentSums implements ledger.Reader.
func (Reader) RecentSums(pix.TxID) *layout.RefundSums { return nil }

// Crowded implements ledger.Reader.
func (Reader) Crowded([]byte, pix.Millis) bool { return false }

// Crowd implements ledger.Reader.
func (Reader) Crowd([]byte, pix.Millis) {}

// OwedBehind implements ledger.Reader.
func (Reader) OwedBehind() pix.Amount { return 0 }

// NoteOwed implements ledger.Reader.
func (Reader) NoteOwed(pix.Amount) {}
