package httpapi

import (
	"fmt"

	"pixd/actors/ledger"
)

// Render is the answer to a charge or a payout, or a payout's refusal, as it is
// sent and, under an idempotency key, kept; with camel its keys are camelCase. It
// is pure.
func (q Queueing) Render(a *ledger.Answer, camel bool) (status int, body []byte) {
	switch {
	case a.Refusal != nil:
		return refusePayout(a.Refusal, camel)
	case a.Tx.Kind == ledger.TxCharge:
		return renderCharge(a.Tx, camel)
	case a.Tx.Kind == ledger.TxPayout:
		return q.renderPayout(a.Tx, camel)
	}
	panic(fmt.Sprintf("httpapi: no answer is made of a %v", a.Tx.Kind))
}
