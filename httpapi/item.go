package httpapi

import (
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// Item returns a transaction as JSON, as every list, lookup and event shows it.
func Item(t *ledger.Transaction, banks Banks) []byte {
	o := opened(false, itemLength)
	o.item(t, banks)
	return o.closed()
}

// itemLength is about the length of an item, in bytes.
const itemLength = 1280

// item writes all members of a transaction; a member that does not apply to the transaction
// is null.
func (o *object) item(t *ledger.Transaction, banks Banks) {
	o.text("id", t.ID.String())
	o.text("transaction_id", t.Public())
	o.textOrNull("end_to_end_id", t.EndToEnd)
	o.textOrNull("external_id", t.ExternalID)
	o.textOrNull("txid", t.Txid())
	o.text("type", typeOf(t.Kind))
	o.text("status", shownStatus(t.Status))
	o.textOrNull("payment_status", paymentStatus(t))
	o.number("amount", int64(t.Amount))
	o.number("fee_amount", int64(t.Fee))
	o.number("net_amount", int64(t.Net()))
	o.text("description", t.Description)
	o.parties(t, banks)
	o.outcome(t)
	o.text("created_at", t.CreatedAt.String())
	o.instant("booked_at", t.BookedAt)
	o.instant("completed_at", completedAt(t))
}

// completedAt returns when the transaction moved money; 0: it did not.
func completedAt(t *ledger.Transaction) pix.Millis {
	switch {
	case !t.Status.MovedMoney():
		return 0
	case t.Transfer.LateAt != 0:
		return t.Transfer.LateAt
	}
	return t.BookedAt
}

// parties writes the direction and the counterparty of a transaction.
func (o *object) parties(t *ledger.Transaction, banks Banks) {
	if t.Kind.Outbound() {
		o.text("direction", "outbound")
		o.textOrNull("counterparty_name", t.Counterparty.Name)
		o.textOrNull("recipient_key", t.Payout.Key.Value)
		o.textOrNull("recipient_document", RecipientDocument(t))
		o.null("payer_document")
		o.null("payer_ispb")
		o.null("payer_bank_name")
		o.null("receiving_key")
		return
	}
	o.text("direction", "inbound")
	o.textOrNull("counterparty_name", t.Counterparty.Name)
	o.null("recipient_key")
	o.null("recipient_document")
	o.textOrNull("payer_document", t.Counterparty.Document)
	o.textOrNull("payer_ispb", t.Counterparty.ISPB)
	o.textOrNull("payer_bank_name", banks.Name(t.Counterparty.ISPB))
	o.textOrNull("receiving_key", t.ReceivingKey())
}

// outcome writes the reason code, the payout that a payout rejected with DUPL repeats, what was given
// back of the transaction, and of a return or a refund, what it gives back and why.
func (o *object) outcome(t *ledger.Transaction) {
	o.textOrNull("reason_code", t.ReasonCode)
	o.textOrNull("failure_reason", t.ReasonCode)
	if t.ReasonCode == "DUPL" && t.Payout.DuplicateOf != nil {
		o.text("duplicate_of", t.Payout.DuplicateOf.Public(t.Kind))
	} else {
		o.null("duplicate_of")
	}
	if t.Kind == pix.TxPayout {
		o.number("returned_amount", int64(t.Payout.Returned))
	} else {
		o.null("returned_amount")
	}
	if t.ReceivedPayment() {
		o.number("refunded_amount", int64(t.Refunded))
	} else {
		o.null("refunded_amount")
	}
	o.textOrNull("return_reason", returnReason(t))
	if t.Refund.Case != nil {
		o.text("case_id", t.Refund.Case.String())
	} else {
		o.null("case_id")
	}
	id, endToEnd := original(t)
	o.textOrNull("original_transaction_id", id)
	o.textOrNull("original_end_to_end_id", endToEnd)
}

// returnReason returns the scheme's code for which a refund or a received return gives money back.
func returnReason(t *ledger.Transaction) string {
	switch t.Kind {
	case pix.TxReturn:
		return t.ReasonCode
	case pix.TxRefund:
		return t.Refund.Code
	}
	return ""
}

// original returns the transaction_id and the end-to-end id of the transaction that a return
// or a refund gives back; of any other transaction, nothing.
func original(t *ledger.Transaction) (id, endToEnd string) {
	switch t.Kind {
	case pix.TxReturn:
		return t.Return.Original.Public(pix.TxPayout), t.Return.OriginalEndToEnd
	case pix.TxRefund:
		return t.Refund.Original.Public(pix.TxReceipt), t.Refund.OriginalEndToEnd // a charge's id has the same prefix
	}
	return "", ""
}

func (o *object) instant(name string, at pix.Millis) {
	if at == 0 {
		o.null(name)
		return
	}
	o.text(name, at.String())
}

func typeOf(k pix.TxKind) string {
	switch k {
	case pix.TxTED:
		return "ted"
	case pix.TxInternal:
		return "internal"
	}
	return "pix"
}

func shownStatus(s pix.TxStatus) string {
	switch s {
	case pix.StatusActive:
		return "active"
	case pix.StatusCompleted:
		return "completed"
	case pix.StatusSettled:
		return "settled"
	case pix.StatusRejected:
		return "rejected"
	case pix.StatusFailed, pix.StatusRefused:
		return "failed"
	}
	return "pending"
}

// paymentStatus returns a transaction's payment_status, or "" if the transaction is no
// outbound PIX.
func paymentStatus(t *ledger.Transaction) string {
	if !t.Kind.Outbound() {
		return ""
	}
	if t.Status.InFlight() {
		return "processing"
	}
	return shownStatus(t.Status)
}

// RecipientDocument returns the recipient's document: of a refund the payer's, whole; of a
// payout as the directory stated it. A CPF is then masked unless the merchant itself sent that CPF, as the key or as recipient_document.
func RecipientDocument(t *ledger.Transaction) string {
	doc := t.Counterparty.Document
	if t.Kind == pix.TxRefund || len(doc) != 11 || t.Payout.Key.Type == pix.KeyCPF && t.Payout.Key.Value == doc || t.Payout.GivenDocument == doc {
		return doc
	}
	return "***." + doc[3:6] + "." + doc[6:9] + "-**"
}
