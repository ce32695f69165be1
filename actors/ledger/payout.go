package ledger

import (
	"slices"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// RequestPayout holds amount and fee for a payment to the recipient's PIX key.
type RequestPayout struct {
	Amount        pix.Amount
	Key           pix.Key
	Description   string
	ExternalID    string
	RecipientISPB string
	EndToEnd      string // the id that the merchant chose; empty: the engine computes one
	Purpose       string
	GivenDocument string // recipient_document, if it has 11 or 14 digits; empty: the merchant sent none or another form
	Claim         *Claim
	Trial         bool // decide alone: where it is not refused, nothing changes, and the answer is empty
}

// payoutFacts are what the decision about a payout request needs.
type payoutFacts struct {
	RequestPayout
	chain Chain // state of the end-to-end id that the payout is to use
	ours  bool  // the recipient's key is registered here
}

func (c RequestPayout) traits() Traits { return Traits{Claim: c.Claim, AwaitsScheme: true} }

func (c RequestPayout) gather(g *gathering) (decider, error) {
	chain, err := g.chain(&c)
	return &payoutFacts{c, chain, g.KeyIsOurs(c.Key.Value)}, err
}

// decide checks the balance and holds amount and fee in one step. The caller has checked the raw
// fields. The refusals here are, in order: foreign end-to-end id, same institution, CNPJ control,
// ceiling, balance. The held payout is sent at once, or waits for an operator's approval.
func (c *payoutFacts) decide(d *draft) Decision {
	chain := c.chain
	t := Transaction{
		ID: d.stamp.ID, Kind: pix.TxPayout, Status: pix.StatusHeld, Amount: c.Amount,
		Fee:        d.account.Settings.CashOutFee.Of(c.Amount),
		ExternalID: c.ExternalID, Description: c.Description,
		Payout: PayoutPart{
			Key: c.Key, GivenDocument: c.GivenDocument, RecipientISPB: c.RecipientISPB, Purpose: c.Purpose,
			OwnEndToEnd: c.EndToEnd != "", UnderSuffix: chain.UnderSuffix, Attempt: chain.Attempt,
		},
		Transfer: TransferPart{DueAt: d.stamp.Clock + d.stamp.Terms.OrphanAfter, DueKind: layout.DueTransfer, Claim: c.Claim},
	}
	if chain.Foreign {
		return refuseWith(refuseField(RefuseEndToEnd, "end_to_end_id", "end_to_end_id is used already"))
	}
	if r := d.refusePayout(c, &t); r != nil {
		return refuseWith(r)
	}
	if c.Trial {
		return d.done(nil)
	}
	t.EndToEnd = chain.EndToEnd
	if t.EndToEnd == "" {
		t.EndToEnd = pix.EndToEnd(d.stamp.Terms.OwnISPB, d.stamp.Clock, chain.Suffix)
	}
	b := Body{Tx: &t, Claim: c.Claim, Moved: chain.Moved}
	if shared := chain.Shared; shared != nil {
		t.Payout.Repeat, t.Payout.DuplicateOf = chain.EndToEnd != "", chain.holder()
		row := *shared
		row.Members = append(slices.Clone(row.Members), layout.Member{ID: t.ID, Seq: d.account.Seq + 1})
		b.Row = &row
	}
	if r := d.add(PayoutHeld, b); r != nil {
		return refuseWith(r)
	}
	if threshold := d.account.Settings.ApprovalThreshold; threshold != nil && t.Amount >= *threshold {
		pending := d.awaitApproval(t)
		return d.done(&pending)
	}
	d.launch = []Launch{{&t, GoalPay}}
	out := d.done(&t)
	out.Await = true
	return out
}

// awaitApproval adds the record that shows the payout as pending approval.
func (d *draft) awaitApproval(t Transaction) Transaction {
	claim := t.Transfer.Claim
	t.Status, t.Transfer.Claim = pix.StatusPending, nil
	d.show(&t)
	d.addWaiting(PayoutPending, &t, d.stamp.Terms.ApprovalTTL, Body{Claim: claim})
	return t
}

func (d *draft) refusePayout(c *payoutFacts, t *Transaction) *Refusal {
	s := &d.account.Settings
	if c.ours || c.RecipientISPB == d.stamp.Terms.OwnISPB {
		return refuse(RefuseSameInstitution, "the recipient is held at this institution")
	}
	if r := s.refuseCNPJ(&c.RequestPayout); r != nil {
		return r
	}
	if s.CashOutCeiling > 0 && c.Amount > s.CashOutCeiling {
		r := refuse(RefuseCeiling, "amount is above the account's limit per transaction")
		r.Ceiling = s.CashOutCeiling
		return r
	}
	gross := t.Gross()
	if gross <= d.totals.Available() {
		return nil
	}
	if gross <= d.totals.Balance-d.totals.Held {
		return refuse(RefuseUnderMED, "the balance is held by a special-return case")
	}
	return refuse(RefuseBalance, "available balance is below amount plus fee")
}

// refuseCNPJ applies the optional setting that forbids payouts to companies.
func (s *Settings) refuseCNPJ(c *RequestPayout) *Refusal {
	if !s.BlockCNPJOut {
		return nil
	}
	doc := c.Key.Document()
	if doc == "" {
		doc = c.GivenDocument
	}
	if doc == "" {
		return refuse(RefuseDocumentRequired, "recipient_document is required while payouts to CNPJs are blocked")
	}
	if s.RefusesPayoutTo(doc) {
		return refuse(RefuseCNPJBlocked, "payouts to this CNPJ are not authorized")
	}
	return nil
}

// RefusesPayoutTo tells whether the account's settings forbid a payout to this CPF or CNPJ.
// It is called twice for a payout: with the document that the merchant sent, and with the
// document that the directory returns for the key.
func (s *Settings) RefusesPayoutTo(document string) bool {
	return s.BlockCNPJOut && pix.IsCNPJ(document) && !s.authorized(document)
}
