package ledger

import "unicode/utf8"

// maxDescription is the length of the scheme's free text, in characters.
const maxDescription = 140

func tooLong(s string) bool { return utf8.RuneCountInString(s) > maxDescription }

// credit books money that an operator credits. Refusals, in order: type, amount, texts,
// reference.
func (d *draft) credit(c Credit, f Facts) Decision {
	if r := c.refusal(); r != nil {
		return Decision{Refusal: r}
	}
	if first := f.Tx; first != nil {
		if first.Kind == c.Kind && first.Amount == c.Amount {
			return Decision{Tx: first, Repeat: true}
		}
		return Decision{Refusal: refuseField(RefuseReference, "reference", "reference was used with another amount or type")}
	}
	t := Transaction{
		ID: d.stamp.ID, Kind: c.Kind, Amount: c.Amount, Description: c.Description,
		Counterparty: Party{Name: c.PayerName, Document: c.PayerDocument}, Credit: CreditPart{Reference: c.Reference},
	}
	d.show(&t)
	d.book(&t, StatusCompleted)
	if r := d.add(Credited, Body{Tx: &t}); r != nil {
		return Decision{Refusal: r}
	}
	return d.done(&t)
}

const maxReference = 128

func (c *Credit) refusal() *Refusal {
	switch {
	case c.Kind != TxTED && c.Kind != TxInternal:
		return refuseField(RefuseCredit, "type", `type must be "ted" or "internal"`)
	case c.Amount <= 0:
		return refuseField(RefuseCredit, "amount", "amount must be a positive integer in base units")
	case tooLong(c.Description) || !utf8.ValidString(c.Description):
		return refuseField(RefuseCredit, "description", "description takes at most 140 characters")
	case tooLong(c.PayerName) || !utf8.ValidString(c.PayerName):
		return refuseField(RefuseCredit, "payer_name", "payer_name takes at most 140 characters")
	case tooLong(c.PayerDocument) || !utf8.ValidString(c.PayerDocument):
		return refuseField(RefuseCredit, "payer_document", "payer_document takes at most 140 characters")
	case len(c.Reference) > maxReference || !utf8.ValidString(c.Reference):
		return refuseField(RefuseCredit, "reference", "reference takes at most 128 bytes")
	}
	return nil
}

// charge opens a charge. Refusals, in order: amount, description.
func (d *draft) charge(c CreateCharge) Decision {
	if r := c.refusal(); r != nil {
		return Decision{Refusal: r}
	}
	t := Transaction{
		ID: d.stamp.ID, Kind: TxCharge, Status: StatusActive, Amount: c.Amount,
		Description: c.Description, ExternalID: c.ExternalID,
		Charge: ChargePart{Key: c.Key, MerchantName: d.account.Settings.Name, MerchantCity: d.account.Settings.City},
	}
	d.show(&t)
	if r := d.add(ChargeCreated, Body{Tx: &t, Claim: c.Claim}); r != nil {
		return Decision{Refusal: r}
	}
	return d.done(&t)
}

func (c *CreateCharge) refusal() *Refusal {
	if c.Amount <= 0 || c.Amount > MaxAmount {
		return refuseField(RefuseAmount, "amount", "amount must be an integer number of centavos from 1 to 999999999999")
	}
	if tooLong(c.Description) {
		return refuseField(RefuseDescription, "description", "description takes at most 140 characters")
	}
	return nil
}

// receive credits a received payment. Where the payment's txid names an open charge of the
// same amount, the payment completes the charge; otherwise a receipt is made. A second
// payment with the same end-to-end id credits nothing.
func (d *draft) receive(c ReceivePayment, f Facts) Decision {
	if f.Tx != nil {
		return Decision{Tx: f.Tx, Repeat: true}
	}
	t := Transaction{ID: d.stamp.ID, Kind: TxReceipt, Amount: c.Amount, Description: c.Description}
	events := []EventKind{EventReceived, EventCompleted}
	if o := f.Open; o != nil && o.Kind == TxCharge && o.Status == StatusActive && o.Amount == c.Amount {
		t = *o
		events = []EventKind{EventReceived, EventChargePaid, EventCompleted}
	} else {
		d.show(&t)
		t.Receipt.Key = c.Key
	}
	t.EndToEnd = c.EndToEnd
	t.Counterparty = Party{Name: c.PayerName, Document: c.PayerDocument, ISPB: c.PayerISPB}
	t.Fee = min(d.account.Settings.CashInFee.Of(c.Amount), c.Amount)
	d.book(&t, StatusCompleted)
	if c.PaidAt > 0 && c.PaidAt <= t.BookedAt-day {
		t.PaidAt = c.PaidAt
	}
	if r := d.add(PaymentReceived, Body{Tx: &t, Events: events}); r != nil {
		return Decision{Refusal: r}
	}
	return d.done(&t)
}
