package ledger

import (
	"unicode/utf8"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// Credit books money that an operator credits: a TED or an internal credit.
type Credit struct {
	Kind          pix.TxKind // TxTED or TxInternal
	Amount        pix.Amount // base units, positive
	Description   string     // at most 140 characters
	PayerName     string
	PayerDocument string
	Reference     string // unique in the account; empty: none. A second credit with the same reference books nothing.
}

// creditFacts are what the decision about a credit needs.
type creditFacts struct {
	Credit
	first *Transaction // the credit that was booked under the reference; nil: there is none
}

func (c Credit) gather(g *gathering) (decider, error) {
	g.stakes.incoming = c.Amount
	f := &creditFacts{Credit: c}
	var err error
	if c.Reference != "" {
		f.first, err = g.transactionAt(layout.ReferenceKey(g.account.ID, c.Reference))
	}
	return f, err
}

// decide books money that an operator credits. Refusals, in order: type, amount, texts,
// reference.
func (c *creditFacts) decide(d *draft) Decision {
	if r := c.refusal(); r != nil {
		return refuseWith(r)
	}
	if first := c.first; first != nil {
		if first.Kind == c.Kind && first.Amount == c.Amount {
			return d.unchanged(first)
		}
		return refuseWith(refuseField(RefuseReference, "reference", "reference was used with another amount or type"))
	}
	t := Transaction{
		ID: d.stamp.ID, Kind: c.Kind, Amount: c.Amount, Description: c.Description,
		Counterparty: pix.Party{Name: c.PayerName, Document: c.PayerDocument}, Credit: CreditPart{Reference: c.Reference},
	}
	d.show(&t)
	d.bookAs(&t, pix.StatusCompleted)
	if r := d.add(Credited, Body{Tx: &t}); r != nil {
		return refuseWith(r)
	}
	return d.done(&t)
}

const maxReference = 128

func (c *Credit) refusal() *Refusal {
	switch {
	case c.Kind != pix.TxTED && c.Kind != pix.TxInternal:
		return refuseField(RefuseCredit, "type", `type must be "ted" or "internal"`)
	case c.Amount <= 0:
		return refuseField(RefuseCredit, "amount", "amount must be a positive integer in base units")
	case pix.TooLong(c.Description) || !utf8.ValidString(c.Description):
		return refuseField(RefuseCredit, "description", "description takes at most 140 characters")
	case pix.TooLong(c.PayerName) || !utf8.ValidString(c.PayerName):
		return refuseField(RefuseCredit, "payer_name", "payer_name takes at most 140 characters")
	case pix.TooLong(c.PayerDocument) || !utf8.ValidString(c.PayerDocument):
		return refuseField(RefuseCredit, "payer_document", "payer_document takes at most 140 characters")
	case len(c.Reference) > maxReference || !utf8.ValidString(c.Reference):
		return refuseField(RefuseCredit, "reference", "reference takes at most 128 bytes")
	}
	return nil
}
