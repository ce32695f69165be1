package simulation

import (
	"fmt"
	"strings"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// The functions of this file derive the answers that an account must give. They follow the
// contract, not the engine's code.

// verdict is the answer that a payout request must get, given the account's present state.
type verdict struct {
	refusal ledger.RefusalCode // code of the refusal; RefuseNothing: the money is held
	pending bool               // the payout waits for an operator
}

// feeOf computes a fee by its definition: a fixed part plus basis points of the amount,
// rounded half up.
func feeOf(f ledger.Fee, amount pix.Amount) pix.Amount {
	bps := amount * pix.Amount(f.BPS)
	whole, rest := bps/10_000, bps%10_000
	if rest >= 5_000 {
		whole++
	}
	return f.Fixed + whole
}

// company reports whether a document is a CNPJ. The control on companies applies to those.
func company(document string) bool { return len(document) == 14 }

// keepsFrom reports whether the account's control on companies refuses payouts to a document.
func keepsFrom(s *ledger.Settings, document string) bool {
	if !s.BlockCNPJOut || !company(document) {
		return false
	}
	for _, allowed := range s.AuthorizedCNPJs {
		if allowed == document {
			return false
		}
	}
	return true
}

// ourKey is a PIX key that is registered at this institution.
var ourKey = pix.Key{Type: pix.KeyEmail, Value: "own@pixd.example"}

// verdictOn returns the verdict on a payout request: the refusal that comes first in the
// contract's order, if any applies.
func verdictOn(head *ledger.Account, c *ledger.RequestPayout) verdict {
	s := &head.Settings
	document := c.GivenDocument
	if c.Key.Type == pix.KeyCPF || c.Key.Type == pix.KeyCNPJ {
		document = c.Key.Value
	}
	switch available := head.Totals.Balance - head.Totals.Held - head.Totals.MEDHeld; {
	case c.Key == ourKey || c.RecipientISPB == ispb:
		return verdict{refusal: ledger.RefuseSameInstitution}
	case s.BlockCNPJOut && document == "":
		return verdict{refusal: ledger.RefuseDocumentRequired}
	case keepsFrom(s, document):
		return verdict{refusal: ledger.RefuseCNPJBlocked}
	case s.CashOutCeiling != 0 && c.Amount > s.CashOutCeiling:
		return verdict{refusal: ledger.RefuseCeiling}
	case c.Amount+feeOf(s.CashOutFee, c.Amount) > head.Totals.Balance-head.Totals.Held:
		return verdict{refusal: ledger.RefuseBalance}
	case c.Amount+feeOf(s.CashOutFee, c.Amount) > available:
		return verdict{refusal: ledger.RefuseUnderMED}
	}
	return verdict{pending: s.ApprovalThreshold != nil && c.Amount >= *s.ApprovalThreshold}
}

// judged notes in the request the answer that it must get.
func (l *life) judged(r *request, c *ledger.RequestPayout) {
	a := l.account(r.account)
	if a.Broken() != nil || l.unsettled[r.account] {
		return
	}
	head := a.Head()
	v := verdictOn(&head, c)
	r.verdict = &v
}

// inTime reports whether a code is a refusal that is decided before any money is held.
func inTime(c ledger.RefusalCode) bool {
	switch c {
	case ledger.RefuseSameInstitution, ledger.RefuseDocumentRequired, ledger.RefuseCNPJBlocked, ledger.RefuseCeiling,
		ledger.RefuseUnderMED, ledger.RefuseBalance:
		return true
	}
	return false
}

// rightly checks the answer to a payout request against its verdict.
func (l *life) rightly(r *request, c *ledger.RequestPayout, a *ledger.Answer) {
	if a.Replay {
		return
	}
	refused := ledger.RefuseNothing
	if a.Refusal != nil {
		refused = a.Refusal.Code
	}
	if refused == ledger.RefuseEndToEnd && c.EndToEnd != "" {
		return // the end-to-end id belongs to another account, which the verdict does not know
	}
	if v := r.verdict; v != nil {
		switch {
		case a.Refusal != nil && a.Refusal.AfterHold || !inTime(refused) && refused != ledger.RefuseNothing:
			if v.refusal != ledger.RefuseNothing && !r.joins {
				l.fail("%v hears %v after a hold, and its request is to be refused with %v", r.account, refused, v.refusal)
			}
		case refused != v.refusal && !r.joins:
			l.fail("%v hears %q, and its request is to be answered %q", r.account, refused, v.refusal)
		case refused == ledger.RefuseNothing && !r.joins && v.pending != (a.Tx.Payout.Decision != 0 || a.Tx.Status == pix.StatusPending):
			l.fail("%v hears that %v is %v; it is to wait for an operator: %v", r.account, a.Tx.ID, a.Tx.Status, v.pending)
		}
	}
	if r.renewed && a.Refusal == nil && a.Tx.EndToEnd == c.EndToEnd && !a.Tx.Payout.Repeat {
		l.fail("%v goes out under %s, which another payout had before it was renewed", a.Tx.ID, c.EndToEnd)
	}
	if t := a.Tx; a.Refusal == nil && !asAsked(t, c) {
		l.fail("%v asked for %+v, and hears of %+v", r.account, *c, *t)
	}
}

// asAsked reports whether a payout has the data of its request.
func asAsked(t *ledger.Transaction, c *ledger.RequestPayout) bool {
	return t.Kind == pix.TxPayout && t.Amount == c.Amount && t.Payout.Key.Type == c.Key.Type && t.Payout.Key.Value == c.Key.Value &&
		t.ExternalID == c.ExternalID && t.Description == c.Description && t.Payout.GivenDocument == c.GivenDocument &&
		t.Payout.RecipientISPB == c.RecipientISPB && t.Payout.OwnEndToEnd == (c.EndToEnd != "")
}

// otherwise returns a request with the same key and another body: it must not be carried
// out.
func (l *life) otherwise(r *request) *request {
	other := *r
	l.numbers++
	n := l.numbers
	other.make = func() ledger.Command {
		c := r.make()
		for _, claim := range claimsOf(c) {
			claim.BodyHash[0], claim.BodyHash[1], claim.BodyHash[2] = 1, byte(n), byte(n>>8)
		}
		return c
	}
	other.other = true
	l.count("asked: another body under a key")
	return &other
}

func claimsOf(c ledger.Command) []*ledger.Claim {
	switch c := c.(type) {
	case ledger.RequestPayout:
		return []*ledger.Claim{c.Claim}
	case ledger.CreateCharge:
		return []*ledger.Claim{c.Claim}
	case ledger.RequestRefund:
		return []*ledger.Claim{c.Claim}
	case ledger.DefendCase:
		return []*ledger.Claim{c.Claim}
	case ledger.Subscribe:
		return []*ledger.Claim{c.Claim}
	}
	return nil
}

// replay is an answer that was given again to a request with a body.
type replay struct {
	account  pix.AccountID
	answer   string
	body     [16]byte
	mismatch bool
}

// oneBody checks that a request whose body differs from the first under its key is not
// carried out.
func (l *life) oneBody(r *request, a *ledger.Answer) {
	if r.other && !r.atOnce && !a.Replay && a.Refusal == nil {
		l.fail("%v: %s is carried out with another body", r.account, r.key)
	}
	if a.Replay && a.Stored != nil {
		for _, claim := range claimsOf(r.make()) {
			l.replays = append(l.replays, replay{r.account, string(a.Stored.Body), claim.BodyHash, a.Mismatch})
		}
	}
}

// bodies checks each repeated answer: the engine must have reported a differing body if and
// only if the records have the hash of another body.
func (c *chronicle) bodies(l *life) {
	for _, r := range l.replays {
		first, known := c.answers[answerUnder{r.account, r.answer}]
		if known && r.mismatch != (first != r.body) {
			l.fail("%v: %s is given again, to another body: %v", r.account, r.answer, r.mismatch)
		}
	}
}

// answerUnder identifies a kept answer.
type answerUnder struct {
	account pix.AccountID
	answer  string
}

// nobodyWaits checks that every request has been answered.
func (l *life) nobodyWaits() {
	l.hear()
	for _, r := range l.asked {
		if !l.flipped[r.account] {
			l.fail("%v waits for its answer to %T for ever", r.account, r.make())
		}
	}
}

// someKey returns a random PIX key to pay to, from a small set, so that many payouts are
// equal.
func (l *life) someKey() pix.Key {
	switch l.rng.IntN(12) {
	case 0:
		return pix.Key{Type: pix.KeyCPF, Value: "12345678909"}
	case 1:
		return pix.Key{Type: pix.KeyCNPJ, Value: knownCNPJ}
	}
	want := scripts[min(l.rng.IntN(len(scripts)), l.rng.IntN(len(scripts)))]
	raw := want
	if l.odds(4) {
		raw = strings.ToUpper(want[:1]) + want[1:]
	}
	k, ok := pix.ParseKey(pix.KeyEmail, raw)
	if !ok || k.Type != pix.KeyEmail || k.Value != want {
		l.fail("the key %s is taken for %+v", raw, k)
	}
	return k
}

const knownCNPJ = "12345678000195"

// details fills in the optional fields of a payout request.
func (l *life) details(c *ledger.RequestPayout) {
	l.numbers++
	c.ExternalID = fmt.Sprintf("x%d", l.numbers)
	if l.odds(2) {
		c.Description = fmt.Sprintf("order %d", l.numbers)
	}
	c.GivenDocument = [...]string{"12345678909", "12345678909", "12345678909", "", knownCNPJ}[l.rng.IntN(5)]
	switch l.rng.IntN(40) {
	case 0:
		c.RecipientISPB = ispb
	case 1:
		c.Key = ourKey
	case 2, 3:
		c.RecipientISPB = "60701190"
	}
}
