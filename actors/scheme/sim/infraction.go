package sim

import (
	"context"
	"errors"
	"fmt"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
)

// Report is a payer's report of a payment that an account received.
type Report struct {
	EndToEnd  string
	Amount    pix.Amount // base units; 0: the payment's whole amount
	Situation string     // one of the directory's words for the fraud, such as SCAM
}

// infraction is a Report in the book.
type infraction struct {
	ID          string        `cbor:"1,keyasint"` // a UUID v7
	EndToEnd    string        `cbor:"2,keyasint"`
	Account     pix.AccountID `cbor:"3,keyasint"`
	Amount      pix.Amount    `cbor:"4,keyasint"`
	Situation   string        `cbor:"5,keyasint"`
	At          pix.Millis    `cbor:"6,keyasint"`
	CancelledAt pix.Millis    `cbor:"7,keyasint,omitempty"` // 0: the report is not withdrawn
}

// cancelled is the tag of the open row for the notice of a report's withdrawal.
const cancelled = 'x'

func (i *infraction) opened() scheme.Notice {
	return scheme.Notice{
		Kind: scheme.InfractionOpened, EndToEnd: i.EndToEnd, Account: i.Account, Infraction: i.ID, Amount: i.Amount, Situation: i.Situation,
	}
}

func (i *infraction) withdrawn() scheme.Notice {
	return scheme.Notice{Kind: scheme.InfractionCancelled, EndToEnd: i.EndToEnd, Account: i.Account, Infraction: i.ID}
}

// ErrUnknownInfraction is the error for an id that Report never returned.
var ErrUnknownInfraction = errors.New("the scheme knows no such infraction")

// Report books an infraction, that is a payer's report about a customer's payment, and
// notifies the engine. It returns the infraction's id.
func (s *Sim) Report(ctx context.Context, r Report) (id string, err error) {
	if err := s.waitDurable(ctx); err != nil {
		return "", err
	}
	a, err := s.repeated(r.EndToEnd)
	switch {
	case err != nil:
		return "", err
	case a == nil || a.RefusedAt != 0:
		return "", fmt.Errorf("%s: %w", r.EndToEnd, ErrUnknownPayment)
	case r.Amount > a.Amount:
		return "", fmt.Errorf("%s: %d of %d: %w", r.EndToEnd, r.Amount, a.Amount, ErrBeyond)
	case r.Amount == 0:
		r.Amount = a.Amount
	}
	s.order.Lock()
	at := s.now()
	i := &infraction{
		ID: pix.NewTxID(at, s.opts.Entropy()).String(), EndToEnd: a.EndToEnd, Account: a.Account,
		Amount: r.Amount, Situation: r.Situation, At: at,
	}
	done := s.tell(at, i, rowInfraction, i.opened())
	s.order.Unlock()
	return i.ID, wait(ctx, done)
}

// Withdraw withdraws an infraction and notifies the engine. A second call with the same id
// has no effect.
func (s *Sim) Withdraw(ctx context.Context, id string) error {
	s.single.Lock()
	defer s.single.Unlock()
	if err := s.waitDurable(ctx); err != nil {
		return err
	}
	var i infraction
	ok, err := read(s.store, key(rowInfraction, id), &i)
	switch {
	case err != nil:
		return err
	case !ok:
		return fmt.Errorf("%s: %w", id, ErrUnknownInfraction)
	case i.CancelledAt != 0:
		return nil
	}
	s.order.Lock()
	i.CancelledAt = s.now()
	done := s.tell(i.CancelledAt, &i, cancelled, i.withdrawn())
	s.order.Unlock()
	return wait(ctx, done)
}

// tell writes an infraction in its present state, with the notice n about it.
func (s *Sim) tell(at pix.Millis, i *infraction, tag byte, n scheme.Notice) <-chan error {
	reported := item{at: at, key: openKey(at, append([]byte{tag}, i.ID...)), notice: n}
	return s.append([]wal.Op{set(key(rowInfraction, i.ID), i), reported.openRow(tag), otherRow(at, tag, i.ID)}, func() { s.out.add(reported) })
}
