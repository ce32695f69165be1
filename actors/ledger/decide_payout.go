package ledger

import "slices"

// requestPayout holds amount and fee in one step with the check. The refusals
// are those of PayoutForm (which the caller asked already, on the raw fields)
// and then, in order: same institution, CNPJ control, ceiling, balance.
func (d *draft) requestPayout(c RequestPayout, f Facts) Decision {
	t := Transaction{
		ID: d.stamp.ID, Kind: TxPayout, Status: StatusHeld, Amount: c.Amount,
		Fee:        d.account.Settings.CashOutFee.Of(c.Amount),
		ExternalID: c.ExternalID, Description: c.Description, Purpose: c.Purpose,
		KeyType: c.Key.Type, Key: c.Key.Value,
		GivenDocument: c.GivenDocument, RecipientISPB: c.RecipientISPB,
		DueAt: d.stamp.Time + c.OrphanAfter, Claim: c.Claim,
		OwnEndToEnd: c.EndToEnd != "", UnderSuffix: f.Chain.UnderSuffix, Attempt: f.Chain.Attempt,
	}
	if f.Chain.Foreign {
		return Decision{Refusal: refuseField(RefuseEndToEnd, "end_to_end_id", "end_to_end_id is used already")}
	}
	if r := d.refusePayout(&c, &t); r != nil {
		return Decision{Refusal: r}
	}
	t.EndToEnd = f.Chain.EndToEnd
	if t.EndToEnd == "" {
		t.EndToEnd = EndToEnd(c.OwnISPB, d.stamp.Time, f.Chain.Suffix)
	}
	b := Body{Tx: &t, Claim: c.Claim, Moved: f.Chain.Moved}
	if shared := f.Chain.Shared; shared != nil {
		t.Repeat, t.DuplicateOf = true, &f.Chain.Holder
		row := *shared
		row.Members = append(slices.Clone(row.Members), Member{t.ID, d.account.Seq + 1})
		b.Row = &row
	}
	if r := d.add(PayoutHeld, b); r != nil {
		return Decision{Refusal: r}
	}
	return d.done(&t)
}

func (d *draft) refusePayout(c *RequestPayout, t *Transaction) *Refusal {
	s := &d.account.Settings
	if c.KeyIsOurs || c.RecipientISPB == c.OwnISPB {
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
	if gross <= d.totals.Balance-d.totals.Pending {
		return refuse(RefuseUnderMED, "the balance is held by a special-return case")
	}
	return refuse(RefuseBalance, "available balance is below amount plus fee")
}

// refuseCNPJ is the opt-in control on payouts to companies.
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

// RefusesPayoutTo tells whether the control keeps money from a document. It is
// asked twice: of what the merchant says, and of what the directory answers.
func (s *Settings) RefusesPayoutTo(document string) bool {
	return s.BlockCNPJOut && IsCNPJ(document) && !s.authorized(document)
}

// resolvePayout brings an outcome home. What contradicts a final state, or
// repeats what is known, changes nothing.
func (d *draft) resolvePayout(c ResolvePayout, f Facts) Decision {
	if f.Tx == nil || !f.Tx.Status.InFlight() {
		return Decision{Tx: f.Tx, Repeat: true}
	}
	t := *f.Tx
	if c.Owner != (Owner{}) {
		t.CounterpartyName, t.OwnerDocument, t.OwnerISPB = c.Owner.Name, c.Owner.Document, c.Owner.ISPB
	}
	if c.Result == PayoutIsRefused && t.Status == StatusHeld {
		return d.refusedInCall(&t, c.Refusal, f.Row)
	}
	if t.Status == StatusHeld {
		t = d.acceptPayout(t)
	}
	switch c.Result {
	case PayoutIsAccepted:
	case PayoutIsSettled:
		t = d.finish(t, PayoutSettled, StatusSettled, "", EventCompleted, EventPayoutConfirmed)
	case PayoutIsRejected:
		t = d.finish(t, PayoutRejected, StatusRejected, c.Reason, EventPayoutRejected)
	case PayoutIsRefused:
		t = d.finish(t, PayoutFailed, StatusFailed, c.Refusal.String(), EventPayoutFailed)
	default:
		panic("ledger: a payout result that does not exist")
	}
	return d.done(&t)
}

// acceptPayout is the first record that shows the payout.
func (d *draft) acceptPayout(t Transaction) Transaction {
	claim := t.Claim
	t.Status, t.Claim = StatusAccepted, nil
	d.show(&t)
	d.mustAdd(PayoutAccepted, Body{Tx: &t, Claim: claim})
	return t
}

// refusedInCall releases the hold and gives up the claim; nothing is shown.
func (d *draft) refusedInCall(t *Transaction, code RefusalCode, row *EndToEndRow) Decision {
	if row == nil {
		panic("ledger: a held payout without an end-to-end row")
	}
	claim, after := t.Claim, row.refused(t.ID, d.account.Seq+1)
	t.Status, t.Claim, t.ReasonCode, t.DuplicateOf = StatusRefused, nil, code.String(), nil
	d.mustAdd(PayoutRefused, Body{Tx: t, Claim: claim, Row: &after})
	return Decision{
		Records: d.records, Tx: t,
		Refusal: &Refusal{Code: code, Message: "the payment was refused", AfterHold: true},
	}
}

func (d *draft) finish(t Transaction, kind RecordKind, s TxStatus, reason string, events ...EventKind) Transaction {
	d.book(&t, s)
	t.ReasonCode = reason
	if reason != "DUPL" {
		t.DuplicateOf = nil
	}
	d.mustAdd(kind, Body{Tx: &t, Events: events})
	return t
}

// mustAdd is add for records that only release or debit what is held: their
// sums always fit.
func (d *draft) mustAdd(kind RecordKind, b Body) {
	if r := d.add(kind, b); r != nil {
		panic("ledger: " + r.Message)
	}
}
