package provider

import (
	"context"
	"errors"
	"fmt"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// PathReturned is the provider's path for listing the returns of a payment.
const PathReturned = "/v1/returns/list"

// maxReturned is the greatest length in bytes of an answer to a ReturnedQuestion. One return
// takes some two hundred bytes.
const maxReturned = 4 << 20

// ReturnedQuestion asks for the returns of a payment that the engine's institution received.
type ReturnedQuestion struct {
	AccountID  string `json:"account_id"`
	EndToEndID string `json:"end_to_end_id"` // of the payment
}

// ReturnedList answers a ReturnedQuestion: the returns that have settled or are under way, the
// oldest first.
type ReturnedList struct {
	Returns []Returned `json:"returns"`
}

// Returned is a return that the engine submitted before.
type Returned struct {
	TransactionID string     `json:"transaction_id"`
	EndToEndID    string     `json:"end_to_end_id"` // the return's own id, D…
	Amount        pix.Amount `json:"amount"`        // base units
	Reason        string     `json:"reason,omitempty"`
	Progress      string     `json:"progress"` // pending or settled
}

// ReadReturnedQuestion reads a request to PathReturned.
func ReadReturnedQuestion(body []byte) (account pix.AccountID, endToEnd string, err error) {
	var m ReturnedQuestion
	if err := decode(body, &m, false); err != nil {
		return 0, "", err
	}
	if account, err = parseAccount(m.AccountID); err != nil {
		return 0, "", err
	}
	if m.EndToEndID == "" || len(m.EndToEndID) > maxReason {
		return 0, "", errors.New("end_to_end_id must have 1 to 35 characters")
	}
	return account, m.EndToEndID, nil
}

// TellReturned returns the message that carries a list of returns.
func TellReturned(all []ledger.Returned) ReturnedList {
	m := ReturnedList{Returns: make([]Returned, 0, len(all))}
	for _, r := range all {
		progress := scheme.Settled
		if r.Open {
			progress = scheme.Pending
		}
		m.Returns = append(m.Returns, Returned{r.ID.String(), r.ReturnID, r.Amount, r.Reason, progressNames[progress]})
	}
	return m
}

// parse reads a list of returns. An answer without the list is an error, because an empty list
// says that nothing was returned.
func (m *ReturnedList) parse() (all []ledger.Returned, err error) {
	if m.Returns == nil {
		return nil, errors.New("returns is required")
	}
	seen := map[string]bool{}
	for _, r := range m.Returns {
		if seen[r.TransactionID] || seen[r.EndToEndID] {
			return nil, errors.New("a return must stand once")
		}
		seen[r.TransactionID], seen[r.EndToEndID] = true, true
		id, err := parseIDs(r.TransactionID, r.EndToEndID)
		open := r.Progress == progressNames[scheme.Pending]
		switch {
		case err != nil:
			return nil, err
		case !pix.ValidReturnID(r.EndToEndID):
			return nil, errors.New("end_to_end_id of a return must begin with D and have 32 characters")
		case checkAmount(r.Amount) != nil:
			return nil, errAmount
		case !open && r.Progress != progressNames[scheme.Settled]:
			return nil, errors.New("progress of a return must be pending or settled")
		}
		all = append(all, ledger.Returned{ID: id, ReturnID: r.EndToEndID, Amount: r.Amount, Reason: r.Reason, Open: open})
	}
	return all, nil
}

// Returns implements scheme.Scheme.
func (p *Provider) Returns(ctx context.Context, account pix.AccountID, endToEnd string) ([]ledger.Returned, error) {
	var m ReturnedList
	err := p.ask(ctx, PathReturned, ReturnedQuestion{account.String(), endToEnd}, &m, maxReturned)
	var all []ledger.Returned
	if err == nil {
		all, err = m.parse()
	}
	if err != nil {
		return nil, fmt.Errorf("scheme: returns of %s: %w", endToEnd, err)
	}
	return all, nil
}
