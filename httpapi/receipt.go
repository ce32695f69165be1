package httpapi

import (
	"context"
	"runtime"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/fair"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/httpapi/receipt"
)

// readReceipt is GET /transactions/:id/receipt.
func readReceipt(c *call) {
	t := c.found("id", c.History.Transaction)
	if t == nil {
		return
	}
	if !t.Status.MovedMoney() {
		answerErrors(c.ctx, fasthttp.StatusUnprocessableEntity, "unprocessable_entity", "only a transaction that has settled has a receipt")
		return
	}
	head := c.head()
	if head == nil {
		return
	}
	f := c.Options.receiptOf(t, &head.Settings)
	c.ctx.Response.Header.Set(fasthttp.HeaderVary, fasthttp.HeaderAccept)
	if prefersPDF(c.ctx.Request.Header.PeekAll(fasthttp.HeaderAccept)) {
		c.drawn(&f)
		return
	}
	o := opened(c.camel, 1024)
	o.flag("worked", true)
	o.inner("receipt")
	o.receipt(t, &f)
	o.end()
	answer(c.ctx, fasthttp.StatusOK, o.closed())
}

// drawn answers with the receipt as a PDF.
func (c *call) drawn(f *receipt.Facts) {
	file, err := c.draw(c.key.Account, f)
	if err != nil {
		c.failed(err)
		return
	}
	c.ctx.SetContentType("application/pdf")
	c.ctx.Response.Header.Set(fasthttp.HeaderContentDisposition, `inline; filename="comprovante-`+f.TransactionID+`.pdf"`)
	c.ctx.Response.SetBodyRaw(file)
}

// The bounds on receipts that are drawn as PDFs. An account's are drawn one after another.
const (
	receiptShare = 1
	receiptQueue = 16
	receiptWait  = 5 * time.Second // the most time for which a request waits for its place
	// receiptRest is how long a place stays taken after a drawing, if another account has sent requests
	// in the last second. It is the time of one drawing, so an account that draws without a pause uses
	// its place half of the time, and leaves the other half of that processor to others' payments.
	receiptRest = 15 * time.Millisecond
)

// NewReceiptPlaces makes the places in which receipts are drawn as PDFs. A drawing takes a
// processor for about 15 ms, and 15 MB; there is a place for every second processor, so that
// payments have the others.
func NewReceiptPlaces() *fair.Pool[pix.AccountID] {
	places := max(1, runtime.GOMAXPROCS(0)/2)
	return fair.New[pix.AccountID](fair.Bounds{Places: places, Share: receiptShare, Queue: receiptQueue})
}

// draw draws a receipt of an account once the account has a place. ledger.ErrBusy: receiptQueue
// of its receipts wait already, or none was free in time.
func (s *service) draw(a pix.AccountID, f *receipt.Facts) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), receiptWait)
	defer cancel()
	if s.Receipts.Take(ctx, a) != nil {
		return nil, ledger.ErrBusy
	}
	defer s.giveReceiptPlace(a)
	return receipt.PDF(*f)
}

// giveReceiptPlace gives back the place of a drawing: at once where no other account sends requests.
func (s *service) giveReceiptPlace(a pix.AccountID) {
	if !s.company.near(s.Now()) {
		s.Receipts.Give(a)
		return
	}
	time.AfterFunc(receiptRest, func() { s.Receipts.Give(a) })
}

// DrawReceipt draws a transaction's receipt as a PDF, as its merchant gets it, in one of the places of all receipts. own
// are the account's settings. Errors: ledger.ErrBusy, as merchants' requests meet it.
func (o *Options) DrawReceipt(a pix.AccountID, t *ledger.Transaction, own *ledger.Settings) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), receiptWait)
	defer cancel()
	if o.Receipts.Take(ctx, a) != nil {
		return nil, ledger.ErrBusy
	}
	defer o.Receipts.Give(a)
	return receipt.PDF(o.receiptOf(t, own))
}

// receiptOf collects what a transaction's receipt says, with documents masked. The account's
// own name and document are those that it has now.
func (o *Options) receiptOf(t *ledger.Transaction, own *ledger.Settings) receipt.Facts {
	us := receipt.Party{
		Name: own.Name, Document: maskedDocument(own.Document), Institution: receipt.Institution{Name: o.Banks.Name(o.ISPB), ISPB: o.ISPB},
	}
	they := receipt.Party{
		Name: t.Counterparty.Name, Document: maskedDocument(t.Counterparty.Document),
		Institution: receipt.Institution{Name: o.Banks.Name(t.Counterparty.ISPB), ISPB: t.Counterparty.ISPB},
	}
	f := receipt.Facts{
		Kind: t.Kind, Amount: t.Amount, Fee: t.Fee, Net: t.Net(), Issuer: us.Institution,
		TransactionID: t.Public(), EndToEnd: t.EndToEnd, Description: t.Description, ReasonCode: t.ReasonCode,
		CompletedAt: completedAt(t), PaidAt: t.PaidAt,
	}
	f.OriginalTransactionID, f.OriginalEndToEnd = original(t)
	if t.Kind.Outbound() {
		they.Key = maskedKey(t.Payout.Key.Value)
		f.Payer, f.Recipient = us, they
		return f
	}
	us.Key = maskedKey(t.ReceivingKey())
	f.Payer, f.Recipient = they, us
	return f
}

// receipt writes the members of a receipt; what is not known is null.
func (o *object) receipt(t *ledger.Transaction, f *receipt.Facts) {
	o.text("id", t.ID.String())
	o.text("transaction_id", f.TransactionID)
	o.textOrNull("end_to_end_id", f.EndToEnd)
	o.textOrNull("external_id", t.ExternalID)
	o.text("type", typeOf(t.Kind))
	if t.Kind.Outbound() {
		o.text("direction", "outbound")
	} else {
		o.text("direction", "inbound")
	}
	o.text("status", shownStatus(t.Status))
	o.number("amount", int64(f.Amount))
	o.number("fee_amount", int64(f.Fee))
	o.number("net_amount", int64(f.Net))
	o.text("currency", "BRL")
	o.text("description", f.Description)
	o.receiptParty("payer", &f.Payer)
	o.receiptParty("recipient", &f.Recipient)
	o.textOrNull("reason_code", f.ReasonCode)
	o.textOrNull("original_transaction_id", f.OriginalTransactionID)
	o.textOrNull("original_end_to_end_id", f.OriginalEndToEnd)
	o.text("created_at", t.CreatedAt.String())
	o.instant("paid_at", f.PaidAt)
	o.instant("completed_at", f.CompletedAt)
}

func (o *object) receiptParty(name string, p *receipt.Party) {
	o.inner(name)
	o.textOrNull("name", p.Name)
	o.textOrNull("document", p.Document)
	o.textOrNull("ispb", p.Institution.ISPB)
	o.textOrNull("bank_name", p.Institution.Name)
	o.textOrNull("pix_key", p.Key)
	o.end()
}
