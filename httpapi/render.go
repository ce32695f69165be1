package httpapi

import (
	"fmt"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// camelKeys is the style of answers whose keys are camelCase.
const camelKeys ledger.Style = 1

func styleOf(camel bool) ledger.Style {
	if camel {
		return camelKeys
	}
	return 0
}

// Renderer writes the answers to charges, payouts, refunds, defences and webhook subscriptions.
type Renderer struct{ Queueing Queueing }

// Render returns the answer to such a request as it is kept under an idempotency key:
// HTTP status and body. It returns false for a refusal, which is never kept. It has no side
// effects.
func (r Renderer) Render(a *ledger.Answer, s ledger.Style) (ledger.Stored, bool) {
	status, body := r.write(a, s == camelKeys)
	return ledger.Stored{Code: status, Body: body}, status/100 == 2
}

// write returns the answer to such a request, or to a refused payout, as it is sent.
func (r Renderer) write(a *ledger.Answer, camel bool) (status int, body []byte) {
	switch {
	case a.Refusal != nil:
		return refusePayout(a.Refusal, camel)
	case a.Event != nil:
		return renderTested(a.Event, camel)
	case a.Subscription != nil:
		return renderSubscribed(a.Subscription, camel)
	case a.Case != nil:
		return renderCase(a.Case, camel)
	case a.Tx.Kind == pix.TxRefund:
		return renderRefund(a.Tx, camel)
	case a.Tx.Kind == pix.TxCharge:
		return renderCharge(a.Tx, camel)
	case a.Tx.Kind == pix.TxPayout:
		return renderPayout(a.Tx, r.Queueing, camel)
	}
	panic(fmt.Sprintf("httpapi: no answer is made of a %v", a.Tx.Kind))
}
