package provider

import (
	"errors"
	"fmt"
	"strconv"

	"pixd/actors/ledger"
	"pixd/actors/scheme"
)

// Notice is the scheme's word to the engine. Which fields it has, its kind says.
type Notice struct {
	Kind          string `json:"kind"`
	TransactionID string `json:"transaction_id,omitempty"` // ours, of a payout
	EndToEndID    string `json:"end_to_end_id"`
	Reason        string `json:"reason,omitempty"` // of a rejection

	Arrived *Arrived `json:"arrived,omitempty"`
}

// Arrived is a customer's payment to one of the engine's keys.
type Arrived struct {
	Amount      ledger.Amount `json:"amount"` // base units
	PixKey      string        `json:"pix_key"`
	TxID        string        `json:"txid,omitempty"`
	Description string        `json:"description,omitempty"`
	Payer       Owner         `json:"payer"`
}

// The kinds of this version.
const (
	kindArrived  = "payment_arrived"
	kindSettled  = "payment_settled"
	kindRejected = "payment_rejected"
)

// ErrKind is a notice of a kind that this version does not know: it must come
// again, perhaps to a newer one.
var ErrKind = errors.New("unknown kind of notice")

// TellNotice is a notice as it is sent.
func TellNotice(n scheme.Notice) Notice {
	m := Notice{EndToEndID: n.EndToEnd}
	switch n.Kind {
	case scheme.PaymentArrived:
		a := n.Arrived
		m.Kind = kindArrived
		m.Arrived = &Arrived{
			Amount: a.Amount, PixKey: a.Key, TxID: a.TxID, Description: a.Description,
			Payer: Owner{a.PayerName, a.PayerDocument, a.PayerISPB},
		}
		return m
	case scheme.PaymentRejected:
		m.Kind, m.Reason = kindRejected, n.Reason
	case scheme.PaymentSettled:
		m.Kind = kindSettled
	}
	m.TransactionID = n.Tx.String()
	return m
}

// ReadNotice reads a request to PathNotices.
func ReadNotice(body []byte) (scheme.Notice, error) {
	var grown struct {
		Kind string `json:"kind"`
	}
	if err := decode(body, &grown, true); err != nil {
		return scheme.Notice{}, err
	}
	switch grown.Kind {
	case kindArrived, kindSettled, kindRejected:
	case "":
		return scheme.Notice{}, errors.New("kind is required")
	default: // its fields may be as new
		return scheme.Notice{}, fmt.Errorf("%w: %s", ErrKind, strconv.QuoteToASCII(grown.Kind))
	}
	var m Notice
	if err := decode(body, &m, false); err != nil {
		return scheme.Notice{}, err
	}
	if m.Kind == kindArrived {
		return m.arrival()
	}
	return m.outcome()
}

// arrival is money that is here already: only what it cannot be booked without
// is asked for, everything else is kept as sent.
func (m *Notice) arrival() (scheme.Notice, error) {
	a := m.Arrived
	switch {
	case m.TransactionID != "" || m.Reason != "":
		return scheme.Notice{}, fmt.Errorf("transaction_id and reason do not go with %s", m.Kind)
	case a == nil:
		return scheme.Notice{}, errors.New("arrived is required")
	case !ledger.ValidEndToEnd(m.EndToEndID):
		return scheme.Notice{}, errors.New("end_to_end_id must be E, an ISPB, yyyyMMddHHmm and 11 letters or digits")
	case a.Amount < 1 || a.Amount > ledger.MaxAmount:
		return scheme.Notice{}, errAmount
	case a.PixKey == "":
		return scheme.Notice{}, errors.New("arrived.pix_key is required")
	}
	return scheme.Notice{Kind: scheme.PaymentArrived, EndToEnd: m.EndToEndID, Arrived: ledger.ReceivePayment{
		EndToEnd: m.EndToEndID, Amount: a.Amount, Key: a.PixKey, TxID: a.TxID, Description: a.Description,
		PayerName: a.Payer.Name, PayerDocument: a.Payer.Document, PayerISPB: a.Payer.ISPB,
	}}, nil
}

func (m *Notice) outcome() (scheme.Notice, error) {
	tx, err := parseIDs(m.TransactionID, m.EndToEndID)
	switch {
	case err != nil:
		return scheme.Notice{}, err
	case m.Arrived != nil:
		return scheme.Notice{}, fmt.Errorf("arrived does not go with %s", m.Kind)
	case (m.Kind == kindRejected) != (m.Reason != "") || len(m.Reason) > maxReason:
		return scheme.Notice{}, errors.New("reason goes with payment_rejected, in at most 35 characters")
	}
	n := scheme.Notice{Kind: scheme.PaymentSettled, Tx: tx, EndToEnd: m.EndToEndID, Reason: m.Reason}
	if m.Kind == kindRejected {
		n.Kind = scheme.PaymentRejected
	}
	return n, nil
}
