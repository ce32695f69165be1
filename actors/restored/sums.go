package restored

import (
	"math/big"

	"pixd/actors/history"
	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/wal"
)

// Sums are what a snapshot says of the accounts in its journal.
type Sums struct {
	Accounts                  int
	Balance, Pending, MEDHeld *big.Int
}

// SumsOf adds up the newest records of all accounts. newest calls its argument with the newest
// record of each stream; see wal.View.Newest.
func SumsOf(newest func(func(wal.Record) error) error) (Sums, error) {
	s := Sums{0, new(big.Int), new(big.Int), new(big.Int)}
	err := newest(func(sealed wal.Record) error {
		if registry.Owns(sealed.Stream) {
			return nil
		}
		r, err := history.Decode(&sealed)
		if err != nil {
			return err
		}
		s.Accounts++
		add(s.Balance, r.Totals.Balance)
		add(s.Pending, r.Totals.Held)
		add(s.MEDHeld, r.Totals.MEDHeld)
		return nil
	})
	return s, err
}

func add(sum *big.Int, a pix.Amount) { sum.Add(sum, big.NewInt(int64(a))) }
