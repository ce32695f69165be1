package ledger

import "slices"

// requestPayout checks the balance and holds amount and fee in one step. The caller has
// checked the raw fields in PayoutForm.Parse. The refusals here are, in order: same
// institution, CNPJ control, ceiling, balance. The held payout is sent at once, or waits
// for an operator's approval.
func (d *draft) requestPayout(c RequestPayout, f Facts) Decision {
	chain := f.Chain
	t := Transaction{
		ID: d.stamp.ID, Kind: TxPayout, Status: StatusHeld, Amount: c.Amount,
		Fee:        d.account.Settings.CashOutFee.Of(c.Amount),
		ExternalID: c.ExternalID, Description: c.Description,
		Payout: PayoutPart{
			Key: c.Key, GivenDocument: c.GivenDocument, RecipientISPB: c.RecipientISPB, Purpose: c.Purpose,
			OwnEndToEnd: c.EndToEnd != "", UnderSuffix: chain.UnderSuffix, Attempt: chain.Attempt,
		},
		Transfer: TransferPart{DueAt: d.stamp.Clock + d.stamp.Terms.OrphanAfter, DueKind: DueTransfer, Claim: c.Claim},
	}
	if chain.Foreign {
		return Decision{Refusal: refuseField(RefuseEndToEnd, "end_to_end_id", "end_to_end_id is used already")}
	}
	if r := d.refusePayout(&c, &t); r != nil {
		return Decision{Refusal: r}
	}
	t.EndToEnd = chain.EndToEnd
	if t.EndToEnd == "" {
		t.EndToEnd = EndToEnd(d.stamp.Terms.OwnISPB, d.stamp.Clock, chain.Suffix)
	}
	b := Body{Tx: &t, Claim: c.Claim, Moved: chain.Moved}
	if shared := chain.Shared; shared != nil {
		t.Payout.Repeat, t.Payout.DuplicateOf = chain.EndToEnd != "", chain.holder()
		row := *shared
		row.Members = append(slices.Clone(row.Members), Member{t.ID, d.account.Seq + 1})
		b.Row = &row
	}
	if r := d.add(PayoutHeld, b); r != nil {
		return Decision{Refusal: r}
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
	t.Status, t.Transfer.Claim = StatusPending, nil
	d.show(&t)
	d.wait(PayoutPending, &t, d.stamp.Terms.ApprovalTTL, Body{Claim: claim})
	return t
}

// wait adds a record that gives the payout the due time now + long (ms).
func (d *draft) wait(kind RecordKind, t *Transaction, long Millis, b Body) {
	b.DueWas, b.DueWasKind = t.Transfer.DueAt, t.Transfer.DueKind
	t.Transfer.DueAt, t.Transfer.DueKind = d.stamp.Clock+long, t.due()
	b.Tx = t
	d.mustAdd(kind, b)
}

func (d *draft) refusePayout(c *RequestPayout, t *Transaction) *Refusal {
	s := &d.account.Settings
	if c.KeyIsOurs || c.RecipientISPB == d.stamp.Terms.OwnISPB {
		return refuse(RefuseSameInstitution, "the recipient is held at this institution")
	}
	if r := s.refuseCNPJ(c); r != nil {
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
	return s.BlockCNPJOut && IsCNPJ(document) && !s.authorized(document)
}
