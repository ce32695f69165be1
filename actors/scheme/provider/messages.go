package provider

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// The paths of the protocol besides PathBook: six that a provider serves, and PathNotices,
// which an engine serves. Every request is a POST.
const (
	PathRegister = "/v1/keys/register"
	PathLookup   = "/v1/keys/lookup"

	PathDeregister = "/v1/keys/deregister"

	PathSubmit = "/v1/payments/submit"
	PathReturn = "/v1/returns/submit"
	PathAsk    = "/v1/payments/ask"

	PathNotices = "/scheme/v1/notices"
)

// Key is a PIX key in the directory's spelling.
type Key struct {
	Type  string `json:"type"`
	Value string `json:"value"`
}

// Registration registers one of the engine's PIX keys with the scheme, or deregisters it.
type Registration struct {
	Key       Key    `json:"key"`
	AccountID string `json:"account_id"`
}

// Lookup asks the directory who owns a key.
type Lookup struct {
	TransactionID string `json:"transaction_id"`
	EndToEndID    string `json:"end_to_end_id"`
	AccountID     string `json:"account_id"`
	Key           Key    `json:"key"`
}

// Found answers a Lookup.
type Found struct {
	Owner Owner `json:"owner"`
}

// Owner is the owner of a key, as the directory names it.
type Owner struct {
	Name     string `json:"name"`
	Document string `json:"document"`
	ISPB     string `json:"ispb"`
}

// Payment submits a payout.
type Payment struct {
	TransactionID string     `json:"transaction_id"`
	EndToEndID    string     `json:"end_to_end_id"`
	AccountID     string     `json:"account_id"`
	Amount        pix.Amount `json:"amount"` // base units
	Key           Key        `json:"key"`
	RecipientISPB string     `json:"recipient_ispb,omitempty"`
	Description   string     `json:"description,omitempty"`
	Purpose       string     `json:"purpose,omitempty"`
}

// Question asks for the status of a payout or a refund.
type Question struct {
	TransactionID string `json:"transaction_id"`
	EndToEndID    string `json:"end_to_end_id"`
}

// Reported answers a Payment, a Return or a Question.
type Reported struct {
	State State `json:"state"`
}

// State is the progress of a payout or a refund.
type State struct {
	Progress string `json:"progress"`
	Reason   string `json:"reason,omitempty"`
}

// Refusal is the provider's explicit refusal of a request.
type Refusal struct {
	Code string `json:"refusal"`
}

// Done acknowledges a request that has no other answer. Known reports that the request was
// acknowledged before, and that nothing was done now.
type Done struct {
	Known bool `json:"known,omitempty"`
}

var progressNames = [...]string{
	scheme.Unknown: "unknown", scheme.Pending: "pending", scheme.Settled: "settled", scheme.Rejected: "rejected",
}

func keyOf(k pix.Key) Key { return Key{k.Type.String(), k.Value} }

func (k Key) parse() (pix.Key, error) {
	t, ok := pix.ParseKeyType(k.Type)
	if !ok {
		return pix.Key{}, errors.New("key.type must be cpf, cnpj, email, phone or evp")
	}
	key, ok := pix.ParseKey(t, k.Value)
	if !ok || key.Value != k.Value {
		return pix.Key{}, errors.New("key.value must be a " + k.Type + " key as the directory spells it")
	}
	return key, nil
}

func paymentOf(p scheme.Payment) Payment {
	return Payment{
		TransactionID: p.Tx.String(), EndToEndID: p.EndToEnd, AccountID: p.Account.String(), Amount: p.Amount,
		Key: keyOf(p.Key), RecipientISPB: p.RecipientISPB, Description: p.Description, Purpose: p.Purpose,
	}
}

// TellState returns the message that carries the state of a payout or a refund.
func TellState(s scheme.State) Reported { return Reported{State{progressNames[s.Progress], s.Reason}} }

func (s State) parse() (scheme.State, error) {
	for p, name := range progressNames {
		if name != s.Progress {
			continue
		}
		got := scheme.State{Progress: scheme.Progress(p), Reason: s.Reason}
		if (got.Progress == scheme.Rejected) != (s.Reason != "") || utf8.RuneCountInString(s.Reason) > maxReason {
			return scheme.State{}, errors.New("state.reason goes with rejected, in at most 35 characters")
		}
		return got, nil
	}
	return scheme.State{}, errors.New("state.progress must be unknown, pending, settled or rejected")
}

const maxReason = 35

// parse reads an owner. It accepts the document only in the form in which the accounts'
// controls on documents compare it.
func (o Owner) parse() (pix.Party, error) {
	if clean, ok := pix.CleanHolder(o.Document); !ok || clean != o.Document {
		return pix.Party{}, errors.New("owner.document must be 11 digits or a CNPJ, without punctuation")
	}
	if !pix.ISPB(o.ISPB) {
		return pix.Party{}, errors.New("owner.ispb must be 8 digits or capital letters")
	}
	return pix.Party(o), nil
}

// ReadRegistration reads a request to PathRegister or PathDeregister.
func ReadRegistration(body []byte) (pix.Key, pix.AccountID, error) {
	var m Registration
	if err := decode(body, &m, false); err != nil {
		return pix.Key{}, 0, err
	}
	account, err := parseAccount(m.AccountID)
	if err != nil {
		return pix.Key{}, 0, err
	}
	k, err := m.Key.parse()
	return k, account, err
}

// ReadLookup reads a request to PathLookup.
func ReadLookup(body []byte) (q scheme.Query, err error) {
	var m Lookup
	if err := decode(body, &m, false); err != nil {
		return q, err
	}
	if q.Tx, q.Account, err = parseNames(m.TransactionID, m.EndToEndID, m.AccountID); err != nil {
		return q, err
	}
	q.EndToEnd = m.EndToEndID
	q.Key, err = m.Key.parse()
	return q, err
}

// ReadPayment reads a request to PathSubmit.
func ReadPayment(body []byte) (p scheme.Payment, err error) {
	var m Payment
	if err := decode(body, &m, false); err != nil {
		return p, err
	}
	return m.parse()
}

func (m *Payment) parse() (p scheme.Payment, err error) {
	if p.Tx, p.Account, err = parseNames(m.TransactionID, m.EndToEndID, m.AccountID); err != nil {
		return p, err
	}
	if err = checkAmount(m.Amount); err != nil {
		return p, err
	}
	if m.RecipientISPB != "" && !pix.RecipientISPB(m.RecipientISPB) {
		return p, errors.New("recipient_ispb must be 8 digits")
	}
	p.EndToEnd, p.Amount, p.RecipientISPB = m.EndToEndID, m.Amount, m.RecipientISPB
	p.Description, p.Purpose = m.Description, m.Purpose
	p.Key, err = m.Key.parse()
	return p, err
}

// ReadQuestion reads a request to PathAsk.
func ReadQuestion(body []byte) (tx pix.TxID, endToEnd string, err error) {
	var m Question
	if err := decode(body, &m, false); err != nil {
		return tx, "", err
	}
	tx, err = parseIDs(m.TransactionID, m.EndToEndID)
	return tx, m.EndToEndID, err
}

var errAmount = fmt.Errorf("amount must be an integer from 1 to %d base units", pix.MaxAmount)

// parseIDs reads the transaction id of a payout or a refund, and checks the length of its
// end-to-end id. It does not check the form of the end-to-end id, which a merchant may have
// chosen: the scheme checks that form (FF08).
func parseIDs(tx, endToEnd string) (pix.TxID, error) {
	id, ok := pix.ParseTxID(tx)
	if !ok || id.String() != tx {
		return id, errors.New("transaction_id must be a UUID in lower case")
	}
	if endToEnd == "" || len(endToEnd) > maxReason {
		return id, errors.New("end_to_end_id must have 1 to 35 characters")
	}
	return id, nil
}

// parseNames reads what a message about a transaction names: the transaction, with the end-to-end
// id that parseIDs checks, and the account.
func parseNames(tx, endToEnd, account string) (id pix.TxID, a pix.AccountID, err error) {
	if id, err = parseIDs(tx, endToEnd); err == nil {
		a, err = parseAccount(account)
	}
	return id, a, err
}

func parseAccount(s string) (pix.AccountID, error) {
	id, ok := pix.ParseAccountID(s)
	if !ok {
		return 0, errors.New("account_id must be acc_ and 13 characters")
	}
	return id, nil
}
