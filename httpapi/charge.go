package httpapi

import (
	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme/brcode"
	"pixd/httpapi/qr"
)

// createCharge is POST /pix/cash-in.
func createCharge(c *call) {
	var centavos int64
	var description, externalID textField
	c.body.fields(func(name, value []byte) {
		switch string(name) {
		case "amount":
			centavos = readCentavos(value)
		case "description":
			description = readText(value)
		case "external_id":
			externalID = readText(value)
		}
	})
	amount, ok := pix.FromCentavos(centavos)
	if !ok {
		c.malformed(refuseField(ledger.RefuseAmount, "amount", "amount must be an integer number of centavos from 1 to 999999999999"), refuseOther)
		return
	}
	if description.Wrong {
		c.malformed(refuseField(ledger.RefuseDescription, "description", "description takes a string of at most 140 characters"), refuseOther)
		return
	}
	c.do(ledger.CreateCharge{
		Amount: amount, Description: description.Value, ExternalID: pix.CleanExternalID(externalID.Value),
		Key: c.ownKey(), Claim: c.claimed(),
	}, refuseOther)
}

// ownKey returns the account's first PIX key, which names the account in QR codes, or the
// zero Key if the account has none.
func (c *call) ownKey() pix.Key {
	for _, name := range c.account.PixKeys {
		if k, ok := c.Registry.PixKey(name); ok && k.Account == c.account.ID { // else it was removed since the account was read
			return pix.Key{Type: k.Type, Value: k.Key}
		}
	}
	return pix.Key{}
}

// renderCharge writes the answer to a charge. The same charge always gives the same bytes.
func renderCharge(t *ledger.Transaction, camel bool) (int, []byte) {
	text, err := chargeCode(t)
	if err != nil {
		return internalBody()
	}
	o := opened(camel, 2048)
	o.flag("worked", true)
	o.text("transaction_id", t.Public())
	o.text("qr_code", text)
	o.name("qr_code_image")
	o.b = append(o.b, '"')
	if o.b, err = qr.AppendImage(o.b, text); err != nil {
		return internalBody()
	}
	o.b = append(o.b, '"')
	o.textOrNull("external_id", t.ExternalID)
	o.number("amount", int64(t.Amount))
	o.text("status", "active")
	return fasthttp.StatusOK, o.closed()
}

func chargeCode(t *ledger.Transaction) (string, error) {
	return brcode.Static{
		Key: t.Charge.Key.Value, Description: t.Description, Name: t.Charge.MerchantName, City: t.Charge.MerchantCity,
		TxID: t.Public(), AmountCentavos: int64(t.Amount / pix.UnitsPerCentavo),
	}.Text()
}
