package recordjson

import (
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/httpapi"
)

func (l *line) transaction(t *ledger.Transaction) {
	if int(t.Kind) < len(txKinds) && t.Kind != 0 { // a kind without a name has no prefix either
		l.add("transaction_id", t.Public())
	}
	l.add("id", t.ID)
	word(l, "kind", t.Kind, txKinds[:])
	said(l, "status", t.Status, lastStatus)
	l.add("amount", t.Amount)
	l.add("fee", t.Fee)
	l.add("end_to_end_id", t.EndToEnd)
	l.add("external_id", t.ExternalID)
	l.add("description", t.Description)
	l.object("counterparty", func() {
		l.add("name", t.Counterparty.Name)
		l.add("document", document(t))
		l.add("ispb", t.Counterparty.ISPB)
	})
	l.add("created_at", t.CreatedAt)
	l.add("booked_at", t.BookedAt)
	l.add("reason_code", t.ReasonCode)
	l.add("ordinal", t.Ordinal)
	l.add("booking", t.Booking)
	l.add("doubted", t.Doubted)
	l.parts(t)
	l.add("paid_at", t.PaidAt)
}

// document returns the counterparty's document as the merchant sees it: the directory's CPF of
// a recipient is masked.
func document(t *ledger.Transaction) string {
	if t.Kind == pix.TxPayout {
		return httpapi.RecipientDocument(t)
	}
	return t.Counterparty.Document
}

// parts writes the parts for the transaction's kind.
func (l *line) parts(t *ledger.Transaction) {
	l.object("charge", func() {
		l.key(t.Charge.Key)
		l.add("merchant_name", t.Charge.MerchantName)
		l.add("merchant_city", t.Charge.MerchantCity)
	})
	l.object("receipt", func() { l.add("key", t.Receipt.Key) })
	l.object("credit", func() { l.add("reference", t.Credit.Reference) })
	l.object("return", func() {
		l.original(t.Return.Original, pix.TxPayout)
		l.add("original_end_to_end_id", t.Return.OriginalEndToEnd)
		l.add("original_amount", t.Return.OriginalAmount)
		l.add("returned", t.Return.Returned)
	})
	l.object("payout", func() { l.payout(&t.Payout) })
	l.object("transfer", func() { l.transfer(&t.Transfer) })
	l.object("refund", func() { l.refund(&t.Refund) })
}

// original writes the transaction_id and the id of an earlier transaction.
func (l *line) original(id pix.TxID, kind pix.TxKind) {
	if id != (pix.TxID{}) {
		l.add("original_transaction_id", id.Public(kind))
		l.add("original_id", id)
	}
}

func (l *line) key(k pix.Key) {
	l.object("key", func() {
		said(l, "type", k.Type, lastKeyType)
		l.add("value", k.Value)
	})
}

func (l *line) payout(p *ledger.PayoutPart) {
	l.key(p.Key)
	l.add("given_document", p.GivenDocument)
	l.add("recipient_ispb", p.RecipientISPB)
	l.add("purpose", p.Purpose)
	l.add("attempt", p.Attempt)
	l.add("own_end_to_end_id", p.OwnEndToEnd)
	l.add("under_suffix", p.UnderSuffix)
	l.texts("former_end_to_end_ids", p.Former)
	l.add("repeat", p.Repeat)
	if p.DuplicateOf != nil {
		l.add("duplicate_of", *p.DuplicateOf)
	}
	word(l, "directory_limit", p.Bucket, buckets[:])
	l.add("queue_ends_at", p.QueueEnds)
	word(l, "decision", p.Decision, approvals[:])
	l.add("operator", p.Operator)
	l.add("returned", p.Returned)
}

func (l *line) transfer(t *ledger.TransferPart) {
	l.add("due_at", t.DueAt)
	word(l, "due_kind", t.DueKind, dueKinds[:])
	l.claim(t.Claim)
	l.add("doubt", t.Doubt)
	l.add("accepted_at", t.AcceptedAt)
	l.add("overdue", t.Overdue)
	l.add("unsure", t.Unsure)
	l.add("settled_late_at", t.LateAt)
	l.add("rejected_after_void", t.RejectedAfterVoid)
	l.add("refused_for_now", t.Limited)
}

func (l *line) refund(r *ledger.RefundPart) {
	l.original(r.Original, pix.TxReceipt)
	l.add("original_end_to_end_id", r.OriginalEndToEnd)
	l.add("original_amount", r.OriginalAmount)
	l.add("return_code", r.Code)
	if r.Case != nil {
		l.add("case_id", r.Case.String())
	}
	l.add("refunded", r.Refunded)
	l.objects("counts_towards", len(r.Counts), func(i int) {
		l.add("case_id", r.Counts[i].Case.String())
		l.add("amount", r.Counts[i].Amount)
	})
}

func (l *line) sums(s *layout.RefundSums) {
	l.original(s.Original, pix.TxReceipt)
	l.add("amount", s.Amount)
	l.add("settled", s.Settled)
	l.add("in_flight", s.InFlight)
	l.add("held", s.Held)
	l.add("excess", s.Excess)
}
