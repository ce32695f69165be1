package provider

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/redact"
	"pixd/actors/scheme"
)

// Notice is a message of the scheme to the engine. Its kind decides which fields it has.
type Notice struct {
	Kind          string     `json:"kind"`
	TransactionID string     `json:"transaction_id,omitempty"` // our transaction id of a payout or a refund
	EndToEndID    string     `json:"end_to_end_id"`            // of a refund, its D id
	AccountID     string     `json:"account_id,omitempty"`     // our account, as the registration or the payment named it
	ReturnID      string     `json:"return_id,omitempty"`
	InfractionID  string     `json:"infraction_id,omitempty"`
	Amount        pix.Amount `json:"amount,omitempty"` // base units of a return or an infraction
	Reason        string     `json:"reason,omitempty"` // the code of a rejection or a return
	Situation     string     `json:"situation,omitempty"`

	Arrived *Arrived `json:"arrived,omitempty"`
}

// Arrived is a customer's payment to one of the engine's keys.
type Arrived struct {
	Amount      pix.Amount `json:"amount"` // base units
	PixKey      string     `json:"pix_key,omitempty"`
	TxID        string     `json:"txid,omitempty"`
	Description string     `json:"description,omitempty"`
	Payer       Owner      `json:"payer"`
	PaidAt      string     `json:"paid_at,omitempty"` // when the scheme took it
}

// kinds are the kinds of notice that this version knows, by their names in the protocol.
var kinds = func() map[string]scheme.NoticeKind {
	all := map[string]scheme.NoticeKind{}
	for _, k := range scheme.NoticeKinds() {
		all[k.String()] = k
	}
	return all
}()

// RefusedPayee is the code of the Refusal with which an engine refuses a customer's payment for
// good; see scheme.ErrNoPayee.
const RefusedPayee = "unknown_key"

// ErrKind is the error for a notice of an unknown kind. The scheme must send the notice
// again, because a newer version of the engine may know the kind.
var ErrKind = errors.New("unknown kind of notice")

// Situations are the subjects that a report of an infraction may have.
var Situations = []string{"SCAM", "ACCOUNT_TAKEOVER", "COERCION", "FRAUDULENT_ACCESS", "OTHER", "UNKNOWN"}

// TellNotice returns the message that carries a notice.
func TellNotice(n scheme.Notice) Notice {
	m := Notice{
		Kind: n.Kind.String(), EndToEndID: n.EndToEnd, Reason: n.Reason, ReturnID: n.ReturnID, InfractionID: n.Infraction,
		Amount: n.Amount, Situation: n.Situation,
	}
	if n.Account != 0 {
		m.AccountID = n.Account.String()
	}
	switch n.Kind {
	case scheme.PaymentArrived:
		a := n.Arrived
		m.Arrived = &Arrived{
			Amount: a.Amount, PixKey: a.Key, TxID: a.TxID, Description: a.Description,
			Payer: Owner{a.PayerName, a.PayerDocument, a.PayerISPB},
		}
		if a.PaidAt > 0 {
			m.Arrived.PaidAt = a.PaidAt.String()
		}
	}
	if slices.Contains(withTransaction, n.Kind) {
		m.TransactionID = n.Tx.String()
	}
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
	_, known := kinds[grown.Kind]
	switch {
	case grown.Kind == "":
		return scheme.Notice{}, errors.New("kind is required")
	case !known: // a notice of an unknown kind may have unknown fields too, so ErrKind comes first
		return scheme.Notice{}, fmt.Errorf("%w: %s", ErrKind, redact.Code(grown.Kind))
	}
	var m Notice
	if err := decode(body, &m, false); err != nil {
		return scheme.Notice{}, err
	}
	return m.parse()
}

// parse reads a notice of a kind that this version knows.
func (m *Notice) parse() (scheme.Notice, error) {
	kind, known := kinds[m.Kind]
	if !known {
		return scheme.Notice{}, fmt.Errorf("%w: %s", ErrKind, redact.Code(m.Kind))
	}
	if err := m.only(kind); err != nil {
		return scheme.Notice{}, err
	}
	n, err := m.of(kind)
	if err == nil && m.AccountID != "" {
		n.Account, err = parseAccount(m.AccountID)
	}
	return n, err
}

// of reads the fields that a notice of this kind has.
func (m *Notice) of(kind scheme.NoticeKind) (scheme.Notice, error) {
	switch kind {
	case scheme.PaymentArrived:
		return m.arrival()
	case scheme.InfractionOpened, scheme.InfractionCancelled:
		return m.infraction(kind)
	}
	return m.outcome(kind)
}

// The kinds of notice that have a transaction id, and those that have a reason code.
var (
	withTransaction = []scheme.NoticeKind{
		scheme.PaymentSettled, scheme.PaymentRejected, scheme.ReturnReceived, scheme.RefundSettled, scheme.RefundRejected,
	}
	withReason = []scheme.NoticeKind{scheme.PaymentRejected, scheme.ReturnReceived, scheme.RefundRejected}
)

// only returns an error for a field that does not belong to this kind of notice.
func (m *Notice) only(kind scheme.NoticeKind) error {
	for _, f := range []struct {
		name  string
		there bool
		with  []scheme.NoticeKind
	}{
		{"transaction_id", m.TransactionID != "", withTransaction},
		{"reason", m.Reason != "", withReason},
		{"return_id", m.ReturnID != "", []scheme.NoticeKind{scheme.ReturnReceived}},
		{"infraction_id", m.InfractionID != "", []scheme.NoticeKind{scheme.InfractionOpened, scheme.InfractionCancelled}},
		{"amount", m.Amount != 0, []scheme.NoticeKind{scheme.ReturnReceived, scheme.InfractionOpened}},
		{"situation", m.Situation != "", []scheme.NoticeKind{scheme.InfractionOpened}},
		{"arrived", m.Arrived != nil, []scheme.NoticeKind{scheme.PaymentArrived}},
	} {
		if f.there && !slices.Contains(f.with, kind) {
			return fmt.Errorf("%s does not go with %s", f.name, m.Kind)
		}
	}
	return nil
}

var errEndToEnd = errors.New("end_to_end_id must be E, an ISPB, yyyyMMddHHmm and 11 letters or digits")

// checkAmount refuses what is no amount of one payment or return.
func checkAmount(a pix.Amount) error {
	if a < 1 || a > pix.MaxAmount {
		return errAmount
	}
	return nil
}

// arrival reads a customer's payment, whose money the scheme has already booked to us. Only
// the fields needed for booking are checked; all other fields are kept as sent.
func (m *Notice) arrival() (scheme.Notice, error) {
	a := m.Arrived
	switch {
	case a == nil:
		return scheme.Notice{}, errors.New("arrived is required")
	case !pix.ValidEndToEnd(m.EndToEndID):
		return scheme.Notice{}, errEndToEnd
	case checkAmount(a.Amount) != nil:
		return scheme.Notice{}, errAmount
	}
	var paid pix.Millis
	if a.PaidAt != "" {
		var err error
		if paid, err = instant("arrived.paid_at", a.PaidAt); err != nil {
			return scheme.Notice{}, err
		}
	}
	return scheme.Notice{Kind: scheme.PaymentArrived, EndToEnd: m.EndToEndID, Arrived: ledger.ReceivePayment{
		EndToEnd: m.EndToEndID, Amount: a.Amount, Key: a.PixKey, TxID: a.TxID, Description: a.Description,
		PayerName: a.Payer.Name, PayerDocument: a.Payer.Document, PayerISPB: a.Payer.ISPB, PaidAt: paid,
	}}, nil
}

// outcome reads the settlement, rejection or return of one of our payouts, or the settlement
// or rejection of one of our refunds.
func (m *Notice) outcome(kind scheme.NoticeKind) (scheme.Notice, error) {
	tx, err := parseIDs(m.TransactionID, m.EndToEndID)
	switch {
	case err != nil:
		return scheme.Notice{}, err
	case slices.Contains(withReason, kind) != (m.Reason != "") || utf8.RuneCountInString(m.Reason) > maxReason:
		return scheme.Notice{}, errors.New("reason goes with payment_rejected, return_rejected and return_received, in at most 35 characters")
	case kind == scheme.ReturnReceived && !pix.ValidReturnID(m.ReturnID):
		return scheme.Notice{}, errors.New("return_id must be D, an ISPB, yyyyMMddHHmm and 11 letters or digits")
	case kind == scheme.ReturnReceived && checkAmount(m.Amount) != nil:
		return scheme.Notice{}, errAmount
	}
	return scheme.Notice{Kind: kind, Tx: tx, EndToEnd: m.EndToEndID, Reason: m.Reason, ReturnID: m.ReturnID, Amount: m.Amount}, nil
}

// infraction reads a payer's report of a payment that we received, or the withdrawal of such
// a report.
func (m *Notice) infraction(kind scheme.NoticeKind) (scheme.Notice, error) {
	switch {
	case !pix.ValidEndToEnd(m.EndToEndID):
		return scheme.Notice{}, errEndToEnd
	case !messageID(m.InfractionID):
		return scheme.Notice{}, errors.New("infraction_id must be 1 to 64 letters, digits, dots, dashes or underscores")
	case kind == scheme.InfractionOpened && checkAmount(m.Amount) != nil:
		return scheme.Notice{}, errAmount
	case kind == scheme.InfractionOpened && !slices.Contains(Situations, m.Situation):
		return scheme.Notice{}, fmt.Errorf("situation must be one of %v", Situations)
	}
	return scheme.Notice{
		Kind: kind, EndToEnd: m.EndToEndID, Infraction: m.InfractionID, Amount: m.Amount, Situation: m.Situation,
	}, nil
}
