package ledger

import (
	"pixd/actors/layout"
	"pixd/actors/pix"
)

// ReceiveReturn credits money that a payout's recipient sent back.
type ReceiveReturn struct {
	ID       pix.TxID // transaction id of the returned payout
	EndToEnd string
	ReturnID string     // the scheme's id of the return, which begins with D
	Amount   pix.Amount // base units, positive
	Reason   string     // the scheme's reason code of the return
}

// returnFacts are what the decision about a return needs. Only one payout may be returned under one
// id.
type returnFacts struct {
	ReceiveReturn
	tx        *Transaction // the returned payout
	first     *Transaction // the transaction of this account that was credited for the return's id; nil: none
	elsewhere bool         // another account was credited for the return's id
}

func (c ReceiveReturn) gather(g *gathering) (decider, error) {
	t, err := g.existingTransfer(c.ID, c.EndToEnd)
	if err == nil && t.Kind != pix.TxPayout {
		err = ErrUnknownTransfer
	}
	if err != nil {
		return nil, err
	}
	g.stakes.incoming, g.stakes.released = c.Amount, t.Gross()
	f := &returnFacts{ReceiveReturn: c, tx: t}
	lo, hi := layout.ReceivedRange(c.ReturnID)
	err = g.Scan(lo, hi, func(k, _ []byte) (bool, error) {
		a, err := layout.DecodeReceivedKey(k)
		f.elsewhere = f.elsewhere || err == nil && a != g.account.ID
		return !f.elsewhere, err
	})
	if err == nil {
		f.first, err = g.received(c.ReturnID)
	}
	return f, err
}

// decide credits a return of a payout as a transaction of its own. A payout that is
// still in flight is settled first, because only a payment that arrived can be returned.
func (c *returnFacts) decide(d *draft) Decision {
	switch {
	case c.first != nil && c.first.Return.Original != c.ID, c.elsewhere:
		d.contradicts(c.tx, "the scheme says that "+c.ReturnID+" returns it, which has returned another payout")
		return d.unchanged(c.tx)
	case d.namesAnother(c.tx, c.EndToEnd):
		return d.unchanged(c.tx)
	case c.first != nil:
		return d.unchanged(c.first)
	}
	t := *c.tx
	switch {
	case t.Status.InFlight():
		t = *d.settle(t)
	case t.Voided():
		var r *Refusal
		if t, r = d.settleLate(t); r != nil {
			return refuseWith(r)
		}
	case t.Status != pix.StatusSettled:
		d.contradicts(&t, "the scheme says that it was returned")
		return d.unchanged(&t)
	}
	if c.Amount > t.Amount-t.Payout.Returned {
		d.contradicts(&t, "the scheme returns more than was paid")
		out := d.done(&t)
		if len(out.Records) > 0 {
			out.Ended = &t
		}
		return out
	}
	t.Payout.Returned += c.Amount
	back := d.back(&c.ReceiveReturn, &t)
	d.show(&back)
	d.bookAs(&back, pix.StatusCompleted)
	if r := d.add(ReturnReceived, Body{Tx: &back, Events: []pix.EventKind{pix.EventReturnReceived}}); r != nil {
		return refuseWith(r)
	}
	d.mustAdd(PayoutReturned, Body{Tx: &t, Events: []pix.EventKind{pix.EventPayoutReturned}})
	out := d.done(&back)
	out.Ended = &t
	return out
}

// back makes the transaction of a return.
func (d *draft) back(c *ReceiveReturn, t *Transaction) Transaction {
	return Transaction{
		ID: d.stamp.ID, Kind: pix.TxReturn, Amount: c.Amount, EndToEnd: c.ReturnID, ReasonCode: c.Reason, Description: returnText(c.Reason),
		Counterparty: pix.Party{Name: t.Counterparty.Name, ISPB: t.Counterparty.ISPB},
		Return:       ReturnPart{Original: t.ID, OriginalEndToEnd: t.EndToEnd, OriginalAmount: t.Amount, Returned: t.Payout.Returned},
	}
}

// returnText describes a return's reason code in words.
func returnText(code string) string {
	switch code {
	case "MD06":
		return "Returned by agreement between the parties"
	case "BE08":
		return "Returned because of fraud"
	case "FR01":
		return "Returned because fraud was reported at the receiving side"
	case "SL02":
		return "Returned because of a settlement error"
	}
	return "Return from counterparty (" + code + ")"
}
