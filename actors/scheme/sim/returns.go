package sim

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
)

// PayoutReturn is a counterparty's return of a payout, in full or in part.
type PayoutReturn struct {
	EndToEnd string
	Amount   pix.Amount // base units; 0: the part of the payout that was not returned yet
	Reason   string     // the scheme's code; empty: MD06
}

// defaultReason is the scheme's code for a return that the receiving customer asked for.
const defaultReason = "MD06"

// The errors of ReturnPayout and Report.
var (
	ErrUnknownPayment = errors.New("the scheme knows no such payment")
	ErrNotSettled     = errors.New("the payment has not settled")
	ErrNothingLeft    = errors.New("the payment came back in full")
	ErrBeyond         = errors.New("the amount is more than what there is")
)

// returned is the stored form of a return, whose time may lie in the future.
type returned struct {
	ID       string        `cbor:"1,keyasint"` // the return's own id, which begins with D
	Tx       pix.TxID      `cbor:"2,keyasint"`
	EndToEnd string        `cbor:"3,keyasint"`
	Account  pix.AccountID `cbor:"4,keyasint"`
	Amount   pix.Amount    `cbor:"5,keyasint"`
	Reason   string        `cbor:"6,keyasint"`
	At       pix.Millis    `cbor:"7,keyasint"` // time from which on the return is final
}

func (r *returned) notice() scheme.Notice {
	return scheme.Notice{
		Kind: scheme.ReturnReceived, Tx: r.Tx, EndToEnd: r.EndToEnd, Account: r.Account,
		ReturnID: r.ID, Amount: r.Amount, Reason: r.Reason,
	}
}

// ReturnPayout books the return of a settled payout, in full or in part, and notifies the engine.
// It returns the return's own id.
func (s *Sim) ReturnPayout(ctx context.Context, r PayoutReturn) (id string, err error) {
	if r.Reason == "" {
		r.Reason = defaultReason
	}
	acked := make(chan struct{})
	if id, err = s.bookReturn(ctx, r, acked); err == nil {
		s.out.await(ctx, acked)
	}
	return id, err
}

func (s *Sim) bookReturn(ctx context.Context, r PayoutReturn, acked chan struct{}) (string, error) {
	s.single.Lock()
	defer s.single.Unlock()
	p, err := s.settledPayout(ctx, r.EndToEnd)
	if err != nil {
		return "", err
	}
	before, err := s.returns(p.Tx)
	if err != nil {
		return "", err
	}
	left := p.Amount
	for _, b := range before {
		left -= b.Amount
	}
	if r.Amount == 0 {
		r.Amount = left
	}
	switch {
	case left <= 0:
		return "", fmt.Errorf("%s: %w", r.EndToEnd, ErrNothingLeft)
	case r.Amount > left:
		return "", fmt.Errorf("%s: %d, of which %d are left: %w", r.EndToEnd, r.Amount, left, ErrBeyond)
	}
	s.order.Lock()
	ops, i := s.giveBack(p, uint32(len(before)), r.Amount, r.Reason, s.now())
	i.acked = acked
	done := s.append(ops, func() { s.out.add(i) })
	s.order.Unlock()
	return i.notice.ReturnID, wait(ctx, done)
}

// settledPayout returns the payout that has an end-to-end id. No other payout can settle
// under the same id.
func (s *Sim) settledPayout(ctx context.Context, endToEnd string) (*payment, error) {
	if err := s.waitDurable(ctx); err != nil {
		return nil, err
	}
	tx, ok, err := s.holder(endToEnd)
	if err != nil {
		return nil, err
	}
	var p payment
	if ok && tx != (pix.TxID{}) {
		ok, err = read(s.store, key(rowPayment, string(tx[:])), &p)
	} else {
		ok = false
	}
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, fmt.Errorf("%s: %w", endToEnd, ErrUnknownPayment)
	case s.state(p.DueAt, p.Reason).Progress != scheme.Settled:
		return nil, fmt.Errorf("%s: %w", endToEnd, ErrNotSettled)
	}
	return &p, nil
}

// giveBack returns the rows of a return: the return, its movement and its notice, all at the
// given time. The caller holds the lock order until the rows are appended.
func (s *Sim) giveBack(p *payment, ordinal uint32, amount pix.Amount, reason string, at pix.Millis) ([]wal.Op, item) {
	r := &returned{
		ID: "D" + pix.EndToEnd(recipientISPB, at, pix.RandomSuffix(s.opts.Entropy()))[1:],
		Tx: p.Tx, EndToEnd: p.EndToEnd, Account: p.Account, Amount: amount, Reason: reason, At: at,
	}
	about := binary.BigEndian.AppendUint32(p.Tx[:16:16], ordinal)
	i := item{at: at, key: openKey(at, about), notice: r.notice()}
	return []wal.Op{
		set(key(rowReturn, string(about)), r),
		s.movementRow(at, &movement{
			Kind: MovedReturn, Account: r.Account, Amount: r.Amount, Other: recipientISPB,
			EndToEnd: r.EndToEnd, Tx: r.Tx, ReturnID: r.ID,
		}),
		i.openRow(rowReturn),
	}, i
}

// returns returns all returns of a payout, oldest first, even those whose time lies in the
// future.
func (s *Sim) returns(tx pix.TxID) (all []returned, err error) {
	from := key(rowReturn, string(tx[:]))
	err = s.store.Scan(from, wal.PrefixEnd(from), func(k, v []byte) (bool, error) {
		var r returned
		err := decode(k, v, &r)
		all = append(all, r)
		return true, err
	})
	return all, err
}
