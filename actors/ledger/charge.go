package ledger

import (
	"pixd/actors/pix"
)

// CreateCharge opens a charge: an amount that a customer is to pay.
type CreateCharge struct {
	Amount      pix.Amount
	Description string
	ExternalID  string
	Key         pix.Key // the account's own key, which the QR code contains
	Claim       *Claim
}

func (c CreateCharge) traits() Traits { return Traits{Claim: c.Claim} }

func (c CreateCharge) gather(g *gathering) (decider, error) { return g.needsNoFacts(c) }

// decide opens a charge. Refusals, in order: amount, description.
func (c CreateCharge) decide(d *draft) Decision {
	if r := c.refusal(); r != nil {
		return refuseWith(r)
	}
	t := Transaction{
		ID: d.stamp.ID, Kind: pix.TxCharge, Status: pix.StatusActive, Amount: c.Amount,
		Description: c.Description, ExternalID: c.ExternalID,
		Charge: ChargePart{Key: c.Key, MerchantName: d.account.Settings.Name, MerchantCity: d.account.Settings.City},
	}
	d.show(&t)
	if r := d.add(ChargeCreated, Body{Tx: &t, Claim: c.Claim}); r != nil {
		return refuseWith(r)
	}
	return d.done(&t)
}

func (c *CreateCharge) refusal() *Refusal {
	if c.Amount <= 0 || c.Amount > pix.MaxAmount {
		return refuseField(RefuseAmount, "amount", "amount must be an integer number of centavos from 1 to 999999999999")
	}
	if pix.TooLong(c.Description) {
		return refuseField(RefuseDescription, "description", "description takes at most 140 characters")
	}
	return nil
}

// chargeNamed reads the charge of this account whose transaction_id is the given txid; nil where
// there is no such charge.
func (g *gathering) chargeNamed(txid string) (*Transaction, error) {
	short, ok := pix.ParsePublic(txid)
	if !ok {
		return nil, nil
	}
	t, err := g.shownByID(short)
	if err != nil || t == nil || t.Kind != pix.TxCharge || t.Public() != txid {
		return nil, err
	}
	return t, nil
}
