package sim

import (
	"context"
	"fmt"

	"pixd/actors/ledger"
	"pixd/actors/scheme"
)

// Known is everything that the scheme knows about one payment.
type Known struct {
	Kind     MovementKind // MovedPayout or MovedPayment
	Tx       ledger.TxID  // transaction id of a payout
	EndToEnd string
	Account  ledger.AccountID
	Amount   ledger.Amount // base units
	Key      string
	State    scheme.State
	At       ledger.Millis // time of the submission, or of the customer's payment
	FinalAt  ledger.Millis // time at which the payment became final; 0: the payment is pending
	Returns  []Returned    // the returns of a payout, oldest first
}

// Returned is a return of a payout, in full or in part.
type Returned struct {
	ID     string
	Amount ledger.Amount
	Reason string
	At     ledger.Millis
}

// Know returns the payout or customer's payment that has an end-to-end id.
func (s *Sim) Know(ctx context.Context, endToEnd string) (Known, error) {
	if err := s.settle(ctx); err != nil {
		return Known{}, err
	}
	tx, ok, err := s.holder(endToEnd)
	if err != nil {
		return Known{}, err
	}
	if !ok {
		return Known{}, fmt.Errorf("%s: %w", endToEnd, ErrUnknownPayment)
	}
	if tx != (ledger.TxID{}) {
		return s.knowPayout(tx)
	}
	a, err := s.repeated(endToEnd)
	if err != nil || a == nil {
		return Known{}, fmt.Errorf("sim: customer's payment %s that holds its id: %w", endToEnd, present(a != nil, err))
	}
	return Known{
		Kind: MovedPayment, EndToEnd: a.EndToEnd, Account: a.Account, Amount: a.Amount, Key: a.Key,
		State: scheme.State{Progress: scheme.Settled}, At: a.At, FinalAt: a.At,
	}, nil
}

func (s *Sim) knowPayout(tx ledger.TxID) (Known, error) {
	var p payment
	ok, err := read(s.store, key(rowPayment, string(tx[:])), &p)
	if err := present(ok, err); err != nil {
		return Known{}, fmt.Errorf("sim: payout %v that holds an id: %w", tx, err)
	}
	k := Known{
		Kind: MovedPayout, Tx: tx, EndToEnd: p.EndToEnd, Account: p.Account, Amount: p.Amount, Key: p.Key,
		State: s.state(&p), At: p.At,
	}
	if k.State.Progress != scheme.Pending {
		k.FinalAt = p.DueAt
	}
	all, err := s.returns(tx)
	now := s.now()
	for _, r := range all {
		if r.At <= now {
			k.Returns = append(k.Returns, Returned{r.ID, r.Amount, r.Reason, r.At})
		}
	}
	return k, err
}
