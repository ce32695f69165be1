package sim

import (
	"context"
	"fmt"

	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// Known is everything that the scheme knows about one payment.
type Known struct {
	Kind       MovementKind // MovedPayout, MovedPayment or MovedRefund
	Tx         pix.TxID     // transaction id of a payout or a refund
	EndToEnd   string       // of a refund, the end-to-end id of the payment that it returns, as submitted
	ReturnID   string       // the own id, D…, of a refund
	ReturnCode string       // the code that the account stated as a refund's reason
	Account    pix.AccountID
	Amount     pix.Amount // base units
	Key        string     // empty for a refund
	State      scheme.State
	At         pix.Millis // time of the submission, or of the customer's payment
	FinalAt    pix.Millis // time at which the payment became final; 0: the payment is pending
	Returns    []Returned // the settled returns of a payout, or refunds of a customer's payment, oldest first
}

// Returned is a return of a payout, or a refund of a customer's payment, in full or in part.
type Returned struct {
	ID     string
	Amount pix.Amount
	Reason string
	At     pix.Millis
}

// Know returns the payout, the refund or the customer's payment that has an end-to-end id. A
// refund's is its D id.
func (s *Sim) Know(ctx context.Context, endToEnd string) (Known, error) {
	if err := s.waitDurable(ctx); err != nil {
		return Known{}, err
	}
	tx, ok, err := s.holder(endToEnd)
	if err != nil {
		return Known{}, err
	}
	if !ok {
		return Known{}, fmt.Errorf("%s: %w", endToEnd, ErrUnknownPayment)
	}
	if tx != (pix.TxID{}) {
		var r refund
		if ok, err := read(s.store, refundKey(tx, endToEnd), &r); err != nil || ok {
			return s.knowRefund(&r), err
		}
		return s.knowPayout(tx)
	}
	a, err := s.repeated(endToEnd)
	if err != nil || a == nil {
		return Known{}, fmt.Errorf("sim: customer's payment %s that holds its id: %w", endToEnd, present(a != nil, err))
	}
	k := Known{
		Kind: MovedPayment, EndToEnd: a.EndToEnd, Account: a.Account, Amount: a.Amount, Key: a.Key,
		State: scheme.State{Progress: scheme.Settled}, At: a.At, FinalAt: a.At,
	}
	if a.RefusedAt != 0 {
		k.State, k.FinalAt = scheme.State{Progress: scheme.Rejected, Reason: refusedReason}, a.RefusedAt
	}
	k.Returns, err = s.refunds(a.EndToEnd)
	return k, err
}

func (s *Sim) knowRefund(r *refund) Known {
	k := Known{
		Kind: MovedRefund, Tx: r.Tx, EndToEnd: r.Original, ReturnID: r.EndToEnd, ReturnCode: r.ReturnCode,
		Account: r.Account, Amount: r.Amount, State: s.state(r.DueAt, r.Reason), At: r.At,
	}
	if k.State.Progress != scheme.Pending {
		k.FinalAt = r.DueAt
	}
	return k
}

func (s *Sim) knowPayout(tx pix.TxID) (Known, error) {
	var p payment
	ok, err := read(s.store, key(rowPayment, string(tx[:])), &p)
	if err := present(ok, err); err != nil {
		return Known{}, fmt.Errorf("sim: payout %v that holds an id: %w", tx, err)
	}
	k := Known{
		Kind: MovedPayout, Tx: tx, EndToEnd: p.EndToEnd, Account: p.Account, Amount: p.Amount, Key: p.Key,
		State: s.state(p.DueAt, p.Reason), At: p.At,
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
