package provider

import (
	"context"
	"errors"
	"unicode/utf8"

	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// Return submits a refund: the return of a payment that the engine's institution received.
type Return struct {
	TransactionID      string     `json:"transaction_id"`
	EndToEndID         string     `json:"end_to_end_id"` // the refund's own id, D…
	AccountID          string     `json:"account_id"`
	OriginalEndToEndID string     `json:"original_end_to_end_id"`
	Amount             pix.Amount `json:"amount"` // base units
	Reason             string     `json:"reason,omitempty"`
	Description        string     `json:"description,omitempty"`
}

// The largest numbers of characters of a refund's texts.
const (
	maxReturnReason      = 64
	maxReturnDescription = 140
)

func returnOf(r scheme.Refund) Return {
	return Return{
		TransactionID: r.Tx.String(), EndToEndID: r.EndToEnd, AccountID: r.Account.String(),
		OriginalEndToEndID: r.Original, Amount: r.Amount, Reason: r.Reason, Description: r.Description,
	}
}

// ReadReturn reads a request to PathReturn. Of the original's end-to-end id it checks the
// length alone: the scheme rejects the return of a payment that it does not know (CH16).
func ReadReturn(body []byte) (r scheme.Refund, err error) {
	var m Return
	if err := decode(body, &m, false); err != nil {
		return r, err
	}
	return m.parse()
}

func (m *Return) parse() (r scheme.Refund, err error) {
	if r.Tx, r.Account, err = parseNames(m.TransactionID, m.EndToEndID, m.AccountID); err != nil {
		return r, err
	}
	switch {
	case m.OriginalEndToEndID == "" || len(m.OriginalEndToEndID) > maxReason:
		return r, errors.New("original_end_to_end_id must have 1 to 35 characters")
	case checkAmount(m.Amount) != nil:
		return r, errAmount
	case utf8.RuneCountInString(m.Reason) > maxReturnReason:
		return r, errors.New("reason must have at most 64 characters")
	case utf8.RuneCountInString(m.Description) > maxReturnDescription:
		return r, errors.New("description must have at most 140 characters")
	}
	r.EndToEnd, r.Original, r.Amount = m.EndToEndID, m.OriginalEndToEndID, m.Amount
	r.Reason, r.Description = m.Reason, m.Description
	return r, nil
}

// Return implements scheme.Scheme.
func (p *Provider) Return(ctx context.Context, r scheme.Refund) (scheme.State, error) {
	return p.askState(ctx, PathReturn, returnOf(r), "return", r.Tx)
}
