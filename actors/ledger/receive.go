package ledger

import (
	"pixd/actors/layout"
	"pixd/actors/pix"
)

// ReceivePayment credits a payment of a customer to one of the account's keys. No rule
// refuses a received payment; it fails only where the balance would overflow.
type ReceivePayment struct {
	EndToEnd      string
	Amount        pix.Amount
	Key           string // the account's own key that the customer paid to
	TxID          string // the txid in the payment message; may be the transaction_id of a charge
	PayerName     string
	PayerDocument string // the payer's CPF or CNPJ, as the scheme sent it
	PayerISPB     string
	Description   string
	PaidAt        pix.Millis // when the scheme took the payment; 0: it did not say
}

// arrival is a received payment with what the decision about it needs.
type arrival struct {
	ReceivePayment
	first *Transaction // the transaction that was credited under the same end-to-end id; nil: none
	open  *Transaction // the charge that the payment's txid names; nil: there is none, or first is set
}

func (c ReceivePayment) gather(g *gathering) (decider, error) {
	g.stakes.incoming = c.Amount
	f := &arrival{ReceivePayment: c}
	var err error
	if f.first, err = g.received(c.EndToEnd); err == nil && f.first == nil {
		f.open, err = g.chargeNamed(c.TxID)
	}
	return f, err
}

// decide credits a received payment. Where the payment's txid names an open charge of the
// same amount, the payment completes the charge; otherwise a receipt is made. A second
// payment with the same end-to-end id credits nothing.
func (c *arrival) decide(d *draft) Decision {
	if c.first != nil {
		return d.unchanged(c.first)
	}
	t := Transaction{ID: d.stamp.ID, Kind: pix.TxReceipt, Amount: c.Amount, Description: c.Description}
	events := []pix.EventKind{pix.EventReceived, pix.EventCompleted}
	if o := c.open; o != nil && o.Kind == pix.TxCharge && o.Status == pix.StatusActive && o.Amount == c.Amount {
		t = *o
		if c.Key != o.Charge.Key.Value {
			t.Charge.PaidKey = c.Key
		}
		events = []pix.EventKind{pix.EventReceived, pix.EventChargePaid, pix.EventCompleted}
	} else {
		d.show(&t)
		t.Receipt.Key = c.Key
		if pix.IsTxid(c.TxID) {
			t.Receipt.Txid = c.TxID
		}
	}
	t.EndToEnd = c.EndToEnd
	t.Counterparty = pix.Party{Name: c.PayerName, Document: c.PayerDocument, ISPB: c.PayerISPB}
	t.Fee = min(d.account.Settings.CashInFee.Of(c.Amount), c.Amount)
	d.bookAs(&t, pix.StatusCompleted)
	if c.PaidAt > 0 && c.PaidAt <= t.BookedAt-day {
		t.PaidAt = c.PaidAt
	}
	if r := d.add(PaymentReceived, Body{Tx: &t, Events: events}); r != nil {
		return refuseWith(r)
	}
	return d.done(&t)
}

// originalOf returns the part of a transaction that its refunds repeat; nil where the
// transaction is no received payment.
func originalOf(t *Transaction) *layout.Original {
	if t == nil || !t.ReceivedPayment() {
		return nil
	}
	return &layout.Original{ID: t.ID, EndToEnd: t.EndToEnd, Amount: t.Amount, Counterparty: t.Counterparty}
}
