package recordjson

import (
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/httpapi"
)

func (l *line) transaction(t *ledger.Transaction) {
	if int(t.Kind) < len(txKinds) && t.Kind != 0 { // a kind without a name has no prefix either
		l.text("transaction_id", t.Public())
	}
	l.txID("id", t.ID)
	word(l, "kind", t.Kind, txKinds[:])
	said(l, "status", t.Status, lastStatus)
	l.amount("amount", t.Amount)
	l.amount("fee", t.Fee)
	l.text("end_to_end_id", t.EndToEnd)
	l.text("external_id", t.ExternalID)
	l.text("description", t.Description)
	l.object("counterparty", func() {
		l.text("name", t.Counterparty.Name)
		l.text("document", document(t))
		l.text("ispb", t.Counterparty.ISPB)
	})
	l.instant("created_at", t.CreatedAt)
	l.instant("booked_at", t.BookedAt)
	l.text("reason_code", t.ReasonCode)
	l.count("ordinal", t.Ordinal)
	l.count("booking", t.Booking)
	l.flag("doubted", t.Doubted)
	l.parts(t)
	l.instant("paid_at", t.PaidAt)
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
		l.text("merchant_name", t.Charge.MerchantName)
		l.text("merchant_city", t.Charge.MerchantCity)
	})
	l.object("receipt", func() { l.text("key", t.Receipt.Key) })
	l.object("credit", func() { l.text("reference", t.Credit.Reference) })
	l.object("return", func() {
		l.original(t.Return.Original, pix.TxPayout)
		l.text("original_end_to_end_id", t.Return.OriginalEndToEnd)
		l.amount("original_amount", t.Return.OriginalAmount)
		l.amount("returned", t.Return.Returned)
	})
	l.object("payout", func() { l.payout(&t.Payout) })
	l.object("transfer", func() { l.transfer(&t.Transfer) })
	l.object("refund", func() { l.refund(&t.Refund) })
}

// original writes the transaction_id and the id of an earlier transaction.
func (l *line) original(id pix.TxID, kind pix.TxKind) {
	if id != (pix.TxID{}) {
		l.text("original_transaction_id", id.Public(kind))
		l.txID("original_id", id)
	}
}

func (l *line) key(k pix.Key) {
	l.object("key", func() {
		said(l, "type", k.Type, lastKeyType)
		l.text("value", k.Value)
	})
}

func (l *line) payout(p *ledger.PayoutPart) {
	l.key(p.Key)
	l.text("given_document", p.GivenDocument)
	l.text("recipient_ispb", p.RecipientISPB)
	l.text("purpose", p.Purpose)
	l.count("attempt", p.Attempt)
	l.flag("own_end_to_end_id", p.OwnEndToEnd)
	l.flag("under_suffix", p.UnderSuffix)
	l.texts("former_end_to_end_ids", p.Former)
	l.flag("repeat", p.Repeat)
	if p.DuplicateOf != nil {
		l.txID("duplicate_of", *p.DuplicateOf)
	}
	word(l, "directory_limit", p.Bucket, buckets[:])
	l.instant("queue_ends_at", p.QueueEnds)
	word(l, "decision", p.Decision, approvals[:])
	l.text("operator", p.Operator)
	l.amount("returned", p.Returned)
}

func (l *line) transfer(t *ledger.TransferPart) {
	l.instant("due_at", t.DueAt)
	word(l, "due_kind", t.DueKind, dueKinds[:])
	l.claim(t.Claim)
	l.flag("doubt", t.Doubt)
	l.instant("accepted_at", t.AcceptedAt)
	l.flag("overdue", t.Overdue)
	l.flag("unsure", t.Unsure)
	l.instant("settled_late_at", t.LateAt)
	l.flag("rejected_after_void", t.RejectedAfterVoid)
	l.flag("refused_for_now", t.Limited)
}

func (l *line) refund(r *ledger.RefundPart) {
	l.original(r.Original, pix.TxReceipt)
	l.text("original_end_to_end_id", r.OriginalEndToEnd)
	l.amount("original_amount", r.OriginalAmount)
	l.text("return_code", r.Code)
	if r.Case != nil {
		l.text("case_id", r.Case.String())
	}
	l.amount("refunded", r.Refunded)
	l.objects("counts_towards", len(r.Counts), func(i int) {
		l.text("case_id", r.Counts[i].Case.String())
		l.amount("amount", r.Counts[i].Amount)
	})
}

func (l *line) sums(s *layout.RefundSums) {
	l.original(s.Original, pix.TxReceipt)
	l.amount("amount", s.Amount)
	l.amount("settled", s.Settled)
	l.amount("in_flight", s.InFlight)
	l.amount("held", s.Held)
	l.amount("excess", s.Excess)
}
