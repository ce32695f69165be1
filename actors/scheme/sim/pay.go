package sim

import (
	"context"
	"errors"
	"fmt"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
)

// Payment is a customer's payment to one of the engine's keys.
type Payment struct {
	Key           string     // as the directory spells it
	Amount        pix.Amount // base units, 1 to pix.MaxAmount
	TxID          string
	Description   string
	EndToEnd      string     // empty: Pay makes an id
	At            pix.Millis // the scheme's date of the payment; 0: now
	PayerName     string
	PayerDocument string
	PayerISPB     string
}

// The errors of Pay.
var (
	ErrUnknownKey = errors.New("no key of this engine is registered under that name")
	ErrEndToEnd   = errors.New("end_to_end_id belongs to another payment")
)

// Pay books a customer's payment and notifies the engine. A call with an end-to-end id that
// was used before returns the first payment's result and pays nothing.
func (s *Sim) Pay(ctx context.Context, p Payment) (endToEnd string, amount pix.Amount, err error) {
	row, err := s.arrive(p)
	if err != nil {
		return "", 0, err
	}
	if first, err := s.repeated(row.EndToEnd); err != nil {
		return "", 0, err
	} else if first != nil {
		return first.EndToEnd, first.Amount, nil
	}
	acked := make(chan struct{})
	done, err := s.enter(row, acked)
	if errors.Is(err, ErrEndToEnd) {
		return s.first(ctx, row.EndToEnd, err)
	}
	if err != nil {
		return "", 0, err
	}
	if err := wait(ctx, done); err != nil {
		return "", 0, err
	}
	s.out.await(ctx, acked)
	return row.EndToEnd, row.Amount, nil
}

// first returns the result of the customer's payment that has an end-to-end id, once that
// payment is durable. It returns conflict if a payout has the id.
func (s *Sim) first(ctx context.Context, endToEnd string, conflict error) (string, pix.Amount, error) {
	if err := s.waitDurable(ctx); err != nil {
		return "", 0, err
	}
	a, err := s.repeated(endToEnd)
	if err != nil {
		return "", 0, err
	}
	if a == nil {
		return "", 0, conflict
	}
	return a.EndToEnd, a.Amount, nil
}

// arrive makes a payment's row, with default values for the fields that the customer left
// out.
func (s *Sim) arrive(p Payment) (*arrival, error) {
	owner, ok, err := s.key(p.Key)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%s: %w", p.Key, ErrUnknownKey)
	}
	a := &arrival{
		EndToEnd: p.EndToEnd, Account: owner.Account, Key: p.Key, Amount: p.Amount, TxID: p.TxID, At: p.At,
		PayerName: p.PayerName, PayerDocument: p.PayerDocument, PayerISPB: p.PayerISPB, Description: p.Description,
	}
	if a.At == 0 {
		a.At = s.now()
	}
	if a.PayerISPB == "" {
		a.PayerISPB = payerISPB
	}
	if a.PayerName == "" {
		a.PayerName = "Cliente Simulado"
	}
	if a.PayerDocument == "" {
		a.PayerDocument = cpf(123456789)
	}
	if a.EndToEnd == "" {
		a.EndToEnd = pix.EndToEnd(a.PayerISPB, a.At, pix.RandomSuffix(s.opts.Entropy()))
	}
	return a, nil
}

func (s *Sim) repeated(endToEnd string) (*arrival, error) {
	var a arrival
	ok, err := read(s.store, key(rowArrival, endToEnd), &a)
	if err != nil || !ok {
		return nil, err
	}
	return &a, nil
}

// enter writes an arrival, its movement and its notice.
func (s *Sim) enter(a *arrival, acked chan struct{}) (<-chan error, error) {
	s.order.Lock()
	defer s.order.Unlock()
	if _, held, err := s.holder(a.EndToEnd); err != nil {
		return nil, err
	} else if held {
		return nil, fmt.Errorf("%s: %w", a.EndToEnd, ErrEndToEnd)
	}
	s.hold(a.EndToEnd, pix.TxID{})
	at := s.now()
	i := item{at: at, key: openKey(at, []byte(a.EndToEnd)), notice: a.notice(), acked: acked}
	ops := []wal.Op{
		set(key(rowArrival, a.EndToEnd), a),
		{Kind: wal.OpSet, Key: key(rowHolder, a.EndToEnd), Value: make([]byte, 16)},
		i.openRow(rowArrival),
		s.movementRow(at, a.movement()),
	}
	return s.append(ops, func() {
		s.letGo(a.EndToEnd, pix.TxID{})
		s.out.add(i)
	}), nil
}

// movement returns the movement of an arrival. It counts from the time of booking, even if
// the scheme's date of the payment is earlier.
func (a *arrival) movement() *movement {
	return &movement{Kind: MovedPayment, Account: a.Account, Amount: a.Amount, Other: a.PayerISPB, EndToEnd: a.EndToEnd}
}

func (a *arrival) notice() scheme.Notice {
	return scheme.Notice{Kind: scheme.PaymentArrived, EndToEnd: a.EndToEnd, Account: a.Account, Arrived: ledger.ReceivePayment{
		EndToEnd: a.EndToEnd, Amount: a.Amount, Key: a.Key, TxID: a.TxID, Description: a.Description,
		PayerName: a.PayerName, PayerDocument: a.PayerDocument, PayerISPB: a.PayerISPB, PaidAt: a.At,
	}}
}
